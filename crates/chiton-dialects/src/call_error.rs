//! Why a call cannot be read, in words that a model can repair it from.

/// A call that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The dialect has no such tool.
    #[error("there is no tool '{name}' here; there are: {}", known.join(", "))]
    UnknownTool {
        /// The tool asked for.
        name: String,
        /// The tools there are.
        known: Vec<String>,
    },
    /// A required argument is missing.
    #[error("Missing required parameter: {0}")]
    Missing(&'static str),
    /// A required argument is missing, and there is one that the tool does not have.
    #[error("Missing required parameter: {missing}; unknown parameter '{given}'{}", meant(*nearest))]
    MissingBeside {
        /// The argument that is missing.
        missing: &'static str,
        /// The one that nobody knows.
        given: String,
        /// The one that may have been meant by it.
        nearest: Option<&'static str>,
    },
    /// An argument is of another type.
    #[error("Invalid type for '{name}': expected {expected}, got {got}")]
    WrongType {
        /// The argument.
        name: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        got: String,
    },
    /// An argument that the tool does not have.
    #[error("unknown parameter '{name}'{}; the parameters are: {}", perhaps(*nearest), known.join(", "))]
    Unknown {
        /// The argument.
        name: String,
        /// Those there are.
        known: Vec<String>,
        /// The one that may have been meant.
        nearest: Option<&'static str>,
    },
    /// A command that this surface does not run.
    #[error("Blocked: {0}")]
    Blocked(String),
    /// An argument with a value it cannot have.
    #[error("'{name}' {problem}")]
    BadValue {
        /// The argument.
        name: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

fn perhaps(nearest: Option<&'static str>) -> String {
    nearest.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

fn meant(nearest: Option<&'static str>) -> String {
    nearest.map(|name| format!(", did you mean '{name}'?")).unwrap_or_default()
}
