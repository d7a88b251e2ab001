//! How a client reaches Chiton: it starts the program, or it connects to a server that runs.

use std::fmt;
use std::path::Path;

/// The variable that holds the token where settings only refer to it. It does not begin with `CHITON_`: those are
/// settings of the program itself.
pub(crate) const TOKEN_VARIABLE: &str = "MCP_CHITON_TOKEN";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    Program(Launch),
    Server(HttpServer),
}

/// How this program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
}

/// A server that is reached over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) token: Token,
}

/// Where the client has the token from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// From [`TOKEN_VARIABLE`].
    Variable,
    /// It stands in the settings.
    Copied(String),
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Variable => "Variable",
            Self::Copied(_) => "Copied",
        })
    }
}

impl Connection {
    /// In a few words, for people.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Program(launch) => format!("chiton {}", launch.arguments.join(" ")),
            Self::Server(server) => format!("over HTTP, {}", server.url),
        }
    }

    /// Whether this is Chiton, here or somewhere else.
    pub(crate) fn is_chiton(&self, own: &str) -> bool {
        match self {
            Self::Program(launch) => {
                launch.command == own || Path::new(&launch.command).file_name().is_some_and(|name| name == "chiton")
            }
            // It carries our token; nothing else would.
            Self::Server(_) => true,
        }
    }
}
