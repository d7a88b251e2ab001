//! What has to be within reach for something to happen.

/// What a command would have to reach for a finding to come true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A file or a folder that it changes, makes or removes.
    Change {
        /// Absolute; may be a pattern.
        path: String,
        /// Whether what is below it counts, too.
        below: bool,
    },
    /// Files whose content it reads, every one of them.
    Read(Vec<String>),
    /// Rights over the whole machine, or the services that have them.
    Machine,
}
