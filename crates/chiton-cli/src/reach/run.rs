//! `chiton run --on`: a command on one other machine, or on many.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use chiton_engine::{CommandInput, CommandRequest, FromNear};
use chiton_reach::{Gone, Near, Target, Verb};

use super::facts::Facts;
use super::forward::{self, Passed, Passing, Streams};
use super::judge::Judge;
use super::{There, connect, fleet, forwarded_of, tell_loss};
use crate::messages::remark;
use crate::run::RunArguments;
use crate::settings::Settings;

/// A command on its way.
pub(super) struct Job<'a> {
    pub(super) arguments: &'a RunArguments,
    pub(super) request: CommandRequest,
    /// The options of the command line, as far as they mean something over there.
    options: Vec<Vec<u8>>,
}

impl<'a> Job<'a> {
    fn new(arguments: &'a RunArguments) -> Result<Self> {
        let request = crate::run::request(arguments)?;
        Ok(Self { arguments, request, options: options(arguments) })
    }

    /// What the command reads, on this machine.
    fn source(&self) -> Result<Option<File>> {
        let CommandInput::Descriptor(descriptor) = &self.request.input else { return Ok(None) };
        Ok(Some(descriptor.try_clone()?.into()))
    }

    /// The verb over there. The command does not stand in its arguments, which everybody over there can read.
    pub(super) fn verb(
        &self,
        near: &Near,
        facts: &Facts,
        decided: &FromNear,
        more: &[&str],
        streams: Streams,
    ) -> Result<Verb> {
        let mut words = forwarded_of(self.options.iter().cloned(), facts);
        if self.arguments.has_input() {
            words.extend([b"--stdin".to_vec(), b"-".to_vec()]);
        }
        words.extend(more.iter().map(|word| word.as_bytes().to_vec()));
        words.extend([b"--near".to_vec(), b"{given}".to_vec()]);
        let target = Some(near.target().name.clone());
        let given = FromNear { command: Some(self.request.command.clone()), target, ..decided.clone() };
        Ok(Verb { given: Some(serde_json::to_vec(&given)?), ..forward::verb_with(words, streams, near) })
    }
}

pub(super) fn run(there: &There, arguments: &RunArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let job = Job::new(arguments)?;
    let judge = Judge::new(&arguments.protection, settings, state)?;
    let runtime = crate::runtime::build(tokio::runtime::Builder::new_multi_thread().worker_threads(1))?;
    let code = runtime.block_on(async {
        match fleet::expand(there, settings).await? {
            fleet::Expanded::One(target) => one(*target, &job, &judge, settings).await,
            fleet::Expanded::Many(targets) => fleet::run(targets, there, &job, &judge, settings).await,
        }
    });
    runtime.shutdown_background();
    code
}

async fn one(target: Target, job: &Job<'_>, judge: &Judge, settings: &Settings) -> Result<ExitCode> {
    let (near, facts) = connect(target, settings).await?;
    if let Some(warning) = &facts.warning {
        remark(warning);
    }
    let decided = match judge.clear(&job.request, &near.target().name, &facts).await? {
        Ok(decided) => decided,
        Err(code) => {
            near.close().await;
            return Ok(code);
        }
    };
    let streams = if job.arguments.wants_terminal() {
        Streams::Terminal
    } else if job.arguments.has_input() {
        Streams::WithInput
    } else {
        Streams::Output
    };
    let mut passed = Passed::default();
    let ended = loop {
        let channel = near.open(job.verb(&near, &facts, &decided, &[], streams)?);
        match forward::pass(channel, streams, job.source()?, None, &mut passed).await {
            // The run has its id from here, so that this starts nothing twice.
            Ok(Passing::Gone(Gone::HostEnded { target })) => {
                remark(&format!("the host on {target} has ended; another one takes its place"));
            }
            ended => break ended,
        }
    };
    tell_loss(&near);
    near.close().await;
    if let Ok(Passing::Gone(_)) = &ended
        && let Some(run) = &decided.run_id
    {
        let name = &near.target().name;
        remark(&format!("the command may still run there: `chiton logs --on {name} {run}` shows its output"));
    }
    let ended = ended?;
    judge.ended(&near.target().name, &decided, &ended);
    forward::exit_code(ended, &near)
}

/// The options of this process's command line: the command itself is left out.
fn options(arguments: &RunArguments) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = env::args_os().skip(1).map(OsString::into_vec).collect();
    words.truncate(words.len() - arguments.command_words());
    if words.last().is_some_and(|word| word == b"--") {
        words.pop();
    }
    words
}
