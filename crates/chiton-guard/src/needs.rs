//! What has to be within reach for something to happen.

/// What a command would have to reach for a finding to come true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A file or a folder that it changes or makes.
    Change {
        /// Absolute; may be a pattern.
        path: String,
        /// Whether what is below it counts, too.
        below: bool,
    },
    /// Files and folders that it removes or overwrites, all of them. Nothing else is wrong with it: where they are put back,
    /// it has done no harm.
    Lose(Vec<Loss>),
    /// Files whose content it reads, every one of them.
    Read(Vec<String>),
    /// Rights over the whole machine, or the services that have them.
    Machine,
}

/// Something that a command destroys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Absolute; may be a pattern.
    pub path: String,
    /// Whether what is below it counts, too.
    pub below: bool,
    /// How it goes.
    pub by: LossBy,
}

/// How something is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossBy {
    /// Its name goes; who has another name for it has all of it.
    Removing,
    /// Its content is overwritten, so it has to be copied before.
    Writing,
}

impl Loss {
    /// A file that goes, or a folder with everything in it.
    pub(crate) fn removed(path: String, below: bool) -> Self {
        Self { path, below, by: LossBy::Removing }
    }
}
