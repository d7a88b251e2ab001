//! What Python asks for: the attributes of `chiton._request.Request`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::limits::ViewLimits;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{CommandInput, CommandRequest, EnvironmentChange, Lifetime, PreviewMode, TaskLifetime};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::failure::Failure;

/// One command to run.
#[derive(FromPyObject)]
pub(crate) struct Request {
    command: PyBackedBytes,
    timeout: Option<f64>,
    silence: Option<f64>,
    grace: Option<f64>,
    directory: Option<PathBuf>,
    environment: BTreeMap<String, PyBackedBytes>,
    stdin: Option<PyBackedBytes>,
    open_stdin: bool,
    terminal: Option<(u64, u64)>,
    preview: bool,
    durable: bool,
    max_output: Option<usize>,
    description: Option<String>,
}

impl Request {
    pub(crate) fn into_command(self) -> Result<CommandRequest, Failure> {
        let environment = self.environment.into_iter().map(|(name, value)| (name, value.to_vec().into())).collect();
        let mut request = CommandRequest::new(self.command.to_vec());
        request.timeout = seconds("timeout", self.timeout)?;
        request.silence = seconds("silence", self.silence)?;
        request.grace = seconds("grace", self.grace)?;
        request.directory = self.directory;
        request.environment = EnvironmentChange::Merge(environment);
        request.input = match self.stdin {
            Some(bytes) => CommandInput::Text(bytes.to_vec().into()),
            None if self.open_stdin => CommandInput::Open,
            None => CommandInput::Nothing,
        };
        let size =
            |(columns, rows)| TerminalSize::new(columns, rows).map_err(|error| Failure::request(error.to_string()));
        request.terminal = self.terminal.map(size).transpose()?;
        request.preview = if self.preview { PreviewMode::On } else { PreviewMode::Off };
        request.view = self.max_output.map(ViewLimits::split);
        request.description = self.description;
        // What a command leaves running ends with its shell, also where this process is killed.
        request.lifetime = Lifetime::Session;
        request.task_lifetime = if self.durable { TaskLifetime::Durable } else { TaskLifetime::Session };
        Ok(request)
    }
}

/// A time as Python has it.
pub(crate) fn seconds(what: &str, given: Option<f64>) -> Result<Option<Duration>, Failure> {
    let read = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| Failure::request(format!("{what} is {seconds} seconds; it has to be positive and finite")))
    };
    given.map(read).transpose()
}
