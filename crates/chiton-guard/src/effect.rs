//! What a command would do, before anybody has said whether that matters.
//!
//! Programs and the machine report effects. [`crate::protected`] alone objects to them.

use crate::needs::Needs;
use crate::value::Text;

/// Something that a command would do.
#[derive(Clone, Debug)]
pub(crate) enum Effect<'a> {
    /// A file or directory goes.
    Delete {
        /// What goes.
        what: &'a Text,
        /// How much of it.
        depth: Depth,
        /// Whether that is certain.
        certainty: Certainty,
        /// How the objection begins: "This would delete".
        doing: &'a str,
    },
    /// A file or directory goes to another place, where it can be found again.
    Move {
        /// What goes.
        what: &'a Text,
        /// How the objection begins: "This would move away".
        doing: &'a str,
    },
    /// A file is written.
    Write {
        /// Which file.
        what: &'a Text,
        /// Whether anything of it stays.
        writing: Writing,
        /// Whether that is certain.
        certainty: Certainty,
        /// How the objection begins: "This would write to".
        doing: &'a str,
    },
    /// Permissions or the owner change.
    Rights {
        /// Of what.
        what: &'a Text,
        /// How much of it.
        depth: Depth,
        /// How the objection begins: "This would change the rights of".
        doing: &'a str,
    },
    /// Everybody may write to it and to everything in it.
    OpenTree {
        /// Of what.
        what: &'a Text,
        /// How the objection begins: "This would change the rights of".
        doing: &'a str,
    },
    /// A disk or partition is changed or wiped. A file that stands for one is not a disk.
    Device {
        /// Which.
        what: &'a Text,
        /// How the objection begins: "This would wipe".
        doing: &'a str,
    },
    /// A file is printed, and may prove who somebody is.
    Print {
        /// Which file.
        what: &'a Text,
        /// The program that prints it.
        program: &'a str,
    },
    /// A file is opened to be read, whatever becomes of what is in it.
    Read {
        /// Which file.
        what: &'a Text,
    },
    /// Something that needs no target to be judged.
    Of {
        /// What kind of thing.
        kind: Kind,
        /// In one sentence.
        reason: String,
        /// What it is about, where that can be named.
        target: Option<String>,
        /// What would have to be reached for it, where that is known.
        needs: Option<Needs>,
    },
}

impl<'a> Effect<'a> {
    /// The same effect on something else.
    pub(crate) fn on(self, other: &'a Text) -> Self {
        match self {
            Self::Delete { depth, certainty, doing, .. } => Self::Delete { what: other, depth, certainty, doing },
            Self::Write { writing, certainty, doing, .. } => Self::Write { what: other, writing, certainty, doing },
            Self::Rights { depth, doing, .. } => Self::Rights { what: other, depth, doing },
            Self::OpenTree { doing, .. } => Self::OpenTree { what: other, doing },
            Self::Move { doing, .. } => Self::Move { what: other, doing },
            Self::Device { doing, .. } => Self::Device { what: other, doing },
            Self::Print { program, .. } => Self::Print { what: other, program },
            Self::Read { .. } => Self::Read { what: other },
            Self::Of { .. } => self,
        }
    }
}

/// Whether an effect is certain. What is not is asked about at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The command would do it.
    Would,
    /// The command may do it: nobody knows its program, or what it lists.
    May,
}

/// How much of a place an effect is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// One entry: a file, or a directory that has to be empty.
    Entry,
    /// It and everything in it.
    Tree,
    /// Everything in it.
    Contents,
    /// Some of what is below it.
    SomeBelow,
}

impl Depth {
    /// The whole tree where that was asked for.
    pub(crate) fn tree_if(asked: bool) -> Self {
        if asked { Self::Tree } else { Self::Entry }
    }
}

/// What writing does to what was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// It is gone.
    Replaces,
    /// It stays.
    Adds,
}

impl Writing {
    /// Adding where that was asked for.
    pub(crate) fn adding_if(asked: bool) -> Self {
        if asked { Self::Adds } else { Self::Replaces }
    }
}

/// Kinds of effects that are judged by what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The machine stops or restarts.
    Power,
    /// Another kernel is made ready to start.
    OtherKernel,
    /// The kernel, its settings or the way the machine boots change.
    Kernel,
    /// The firewall or the network of the machine changes.
    Firewall,
    /// Users, groups, passwords or their rights change.
    Accounts,
    /// Something will run later, by itself.
    Persist,
    /// What protects the machine is switched off.
    Unprotect,
    /// A log or a history is emptied, deleted or switched off.
    EraseLog,
    /// A setting of the system changes.
    ChangeSystem,
    /// A part of the system is removed.
    RemoveSystem,
    /// All processes end, or process 1 does.
    KillAll,
    /// The server that runs this command ends.
    KillOwn,
    /// Data on a server, in a cluster or a database goes.
    DropRemote,
    /// Something that others use is published, taken back or rewritten.
    Publish,
    /// Work that git does not keep is thrown away.
    Discard,
    /// A container gets the machine.
    Escape,
    /// The machine is opened to others.
    OpenMachine,
    /// A shell takes its commands from another machine.
    RemoteShell,
    /// Volumes, mounts or swap of the machine change.
    Volumes,
    /// Something that never ends is written to a file.
    FillDisk,
    /// A volume or a file system is destroyed.
    DestroyVolume,
    /// An option or a setting makes a program run another one.
    RunHidden,
    /// What runs cannot be known from the text.
    RunUnknown,
    /// What runs was decoded or put together.
    RunDecoded,
    /// What runs came over the network.
    RunDownloaded,
    /// Code for an interpreter does what cannot be known, or should not be done.
    Code,
    /// A variable makes programs run code.
    Environment,
    /// Credentials are printed.
    Reveal,
    /// Credentials leave the machine.
    Exfiltrate,
    /// Processes multiply without end.
    ForkBomb,
    /// Processes may multiply without end.
    MayFork,
    /// A program gets the rights of its owner, or of root.
    SetUserId,
    /// Something that the text does not decide is deleted.
    DeleteUnknown,
    /// A file or device that the text does not decide is overwritten.
    WriteUnknown,
    /// Chiton is switched off or weakened, or gives away what it keeps.
    Weaken,
    /// Chiton's tasks, records, secrets or clients change.
    Meddle,
    /// The text cannot be examined.
    Unexamined,
}
