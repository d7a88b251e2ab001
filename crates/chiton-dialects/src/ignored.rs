//! Parameters of a call that its tool does not have.

use std::fmt;

use crate::arguments::short;

/// A parameter that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Its name.
    pub name: String,
    /// The tool that does not have it.
    pub tool: &'static str,
    /// The parameter that may have been meant.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for Ignored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ignored '{}', which {} does not have", short(&self.name), self.tool)?;
        self.nearest.map_or(Ok(()), |name| write!(formatter, "; did you mean '{name}'?"))
    }
}
