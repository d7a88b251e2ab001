//! Marks by which readers say what they have seen of a run.

/// What a reader leaves in the folder of a run, as an empty file. The sweep goes by them: what it finds anyway when it
/// adds up the folder costs it nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMark {
    /// Its whole output was in the reply of the call that waited for it, although it was long.
    Shown,
    /// The reply of the call that waited for it left something out, although it was short.
    Cut,
    /// It was read to its end after it had ended.
    Read,
}

impl RunMark {
    pub(crate) const ALL: [Self; 3] = [Self::Shown, Self::Cut, Self::Read];

    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Cut => "cut",
            Self::Read => "read",
        }
    }
}
