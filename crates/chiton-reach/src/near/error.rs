//! Why a target is not reached, or not any more.

use std::fmt;

/// Why a target is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Something is wrong on this side.
    #[error("{0}")]
    Here(String),
    /// The program that reaches it does not start.
    #[error("{target} cannot be reached: {program} does not start here: {error}")]
    NoTransport {
        /// The target.
        target: String,
        /// The program.
        program: String,
        /// Why.
        error: String,
    },
    /// The program that reaches it ended before anything was heard of the far side.
    #[error("{target} cannot be reached: {program} {said}")]
    Unreachable {
        /// The target.
        target: String,
        /// The program.
        program: String,
        /// What it said.
        said: String,
    },
    /// Somebody has to log in first.
    #[error(
        "{target} wants somebody to log in: {program} said: {said}. Run `{try_it}` once in a terminal, then try again"
    )]
    NeedsLogin {
        /// The target.
        target: String,
        /// The program.
        program: String,
        /// What it said.
        said: String,
        /// What shows the question.
        try_it: String,
    },
    /// Nothing was heard of it.
    #[error("{target} cannot be reached: nothing was heard of it for {seconds} s")]
    Silent {
        /// The target.
        target: String,
        /// For how long.
        seconds: u64,
    },
    /// What answers there is no shell.
    #[error(
        "{target} does not answer like a shell{}. The program that reaches it has to give standard input and output of \
         one, without a terminal in between", Noise(.noise)
    )]
    NotAShell {
        /// The target.
        target: String,
        /// What it said instead.
        noise: String,
    },
    /// There is no program for its kind of machine.
    #[error(
        "{target} is a machine of the kind '{machine}', and there is no program for that here. There are programs for: \
         {known}. Put one for Linux on {target} beside this one as chiton-MACHINE (`cargo xtask dist` makes those for x86_64 and aarch64)"
    )]
    Machine {
        /// The target.
        target: String,
        /// Its kind.
        machine: String,
        /// Which ones there are.
        known: String,
    },
    /// There is no place for the program.
    #[error(
        "there is no place on {target} to run chiton from. Tried:\n{}\nWhat would help: a directory that this user may \
         write to and run programs from, named by XDG_CACHE_HOME there; for a container a volume or a tmpfs with exec \
         (docker run --tmpfs /tmp:exec), or chiton in the image", Tried(.tried)
    )]
    Nowhere {
        /// The target.
        target: String,
        /// What was tried, and why it is of no use.
        tried: Vec<(String, String)>,
    },
    /// The program did not arrive whole.
    #[error(
        "chiton did not arrive whole on {target}: {arrived} of {bytes} bytes are in {place}; is the disk full there?"
    )]
    NotCarried {
        /// The target.
        target: String,
        /// Where it was put.
        place: String,
        /// How many bytes arrived.
        arrived: u64,
        /// Of how many.
        bytes: u64,
    },
    /// The program does not run there.
    #[error("chiton does not run on {target}: {why}{advice}")]
    Unfit {
        /// The target.
        target: String,
        /// Why not.
        why: String,
        /// What helps.
        advice: &'static str,
    },
    /// There is no host there.
    #[error("{target} was reached, but {why}")]
    NoHost {
        /// The target.
        target: String,
        /// Why.
        why: String,
    },
    /// The connection broke before the link was there.
    #[error("the connection to {target} broke: {why}")]
    Broken {
        /// The target.
        target: String,
        /// Why.
        why: String,
    },
}

impl ConnectError {
    /// Whether another attempt would end in the same way until somebody does something about it.
    pub fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::NeedsLogin { .. } | Self::Machine { .. } | Self::Nowhere { .. } | Self::Unfit { .. } | Self::Here(_)
        )
    }
}

/// Why a link is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// It was closed.
    #[error("the connection was closed")]
    Closed,
    /// The host over there is another one than before.
    #[error(
        "the host on {target} has ended, or has given this connection up meanwhile; what it was asked for last may have run"
    )]
    HostEnded {
        /// The target.
        target: String,
    },
    /// Nobody could be reached for too long.
    #[error("the connection to {target} was lost and did not come back in {minutes} min: {why}")]
    GaveUp {
        /// The target.
        target: String,
        /// How long it was tried.
        minutes: u64,
        /// What went wrong last.
        why: String,
    },
    /// It would be of no use to try again.
    #[error("the connection to {target} was lost: {why}")]
    Lost {
        /// The target.
        target: String,
        /// Why it cannot come back.
        why: String,
    },
}

struct Noise<'a>(&'a str);

impl fmt::Display for Noise<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, ", but with: {}", self.0) }
    }
}

struct Tried<'a>(&'a [(String, String)]);

impl fmt::Display for Tried<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (path, why)) in self.0.iter().enumerate() {
            let end = if place + 1 < self.0.len() { "\n" } else { "" };
            write!(formatter, "  {path}: {why}{end}")?;
        }
        Ok(())
    }
}
