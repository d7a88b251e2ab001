//! What `chiton run` says once the command has ended, or goes on without it.

use std::process::ExitCode;
use std::time::Duration;

use chiton_engine::{CommandResponse, Outcome, StateReport, TimeLimit};
use serde_json::json;

use super::arguments::RunArguments;
use crate::messages::{complain, remark};

/// On standard error, and only what the output itself does not say.
pub(super) fn report(response: &CommandResponse, arguments: &RunArguments) {
    if response.run_id.is_empty() {
        // A dry run: nobody has seen this yet.
        print!("{}", response.stdout.to_text());
    }
    for notice in &response.notices {
        remark(notice);
    }
    report_outcome(response, arguments);
    let task = response.leftover_task.as_deref().map(|id| format!(" (task {id})")).unwrap_or_default();
    for leftover in &response.leftovers {
        remark(&format!("left running{task}: {} {}", leftover.pid, leftover.command));
    }
    for survivor in &response.survivors {
        complain(&format!("could not be killed: {} {}", survivor.pid, survivor.command));
    }
    if response.lost_bytes > 0 {
        remark(&format!("{} bytes of output are not kept in run {}", response.lost_bytes, response.run_id));
    }
    if let (Some(_), StateReport::Discarded(why)) = (&arguments.session, &response.state) {
        remark(&format!("the session is as it was before: {why}"));
    }
    for removed in response.removed_variables.iter().filter(|removed| arguments.gives(&removed.name)) {
        let (name, why) = (&removed.name, &removed.why);
        remark(&format!("{name} was kept from the command: it {why} (--keep-env {name} lets it pass)"));
    }
}

fn report_outcome(response: &CommandResponse, arguments: &RunArguments) {
    match &response.outcome {
        Outcome::TimedOut => {
            let millis = |limit: Option<Duration>| limit.map_or(0, |limit| limit.as_millis());
            let why = match response.limit {
                Some(TimeLimit::Silence) => format!("printed nothing for {}ms", millis(arguments.silence)),
                _ => format!("timed out after {}ms", millis(arguments.timeout)),
            };
            complain(&format!("the command {why} and was stopped, with everything it started"));
        }
        Outcome::Cancelled | Outcome::Killed | Outcome::Lost | Outcome::Refused(_) => {
            complain(&format!("the command {}", response.outcome));
        }
        Outcome::Running => {
            let id = &response.run_id;
            remark(&format!(
                "still running as {id}; `chiton logs -f {id}` goes on showing it, `chiton kill {id}` ends it"
            ));
        }
        Outcome::Exited(_) | Outcome::Signaled(_) => {}
    }
}

pub(super) fn as_json(response: &CommandResponse) -> serde_json::Value {
    json!({
        "run_id": response.run_id,
        "pid": response.pid,
        "outcome": response.outcome.word(),
        "limit": response.limit,
        "exit_code": response.outcome.exit_code(),
        "signal": response.outcome.signal().map(|signal| signal.to_string()),
        "pipe_status": response.pipe_status,
        "stdout": response.stdout.to_text(),
        "stderr": response.stderr.to_text(),
        "output": response.output.to_text(),
        "truncated": response.is_truncated(),
        "omitted_bytes": response.omitted_bytes(),
        "lost_bytes": response.lost_bytes,
        "cwd": response.cwd.to_string_lossy(),
        "state": { "result": response.state.word(), "why": response.state.why() },
        "leftovers": response.leftovers,
        "leftover_task": response.leftover_task,
        "survivors": response.survivors,
        "usage": response.usage,
        "duration_ms": u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
        "removed_variables": response.removed_variables,
        "notices": response.notices,
        "protection": response.protection,
    })
}

pub(crate) fn exit_code(outcome: &Outcome, stopped_by: i32) -> ExitCode {
    let code = match outcome {
        Outcome::Exited(code) => *code,
        Outcome::Signaled(signal) => 128 + signal.number(),
        Outcome::TimedOut => 124,
        Outcome::Cancelled if stopped_by > 0 => 128 + stopped_by,
        // Nobody read our output any more.
        Outcome::Cancelled => 128 + rustix::process::Signal::PIPE.as_raw(),
        Outcome::Killed => 128 + rustix::process::Signal::KILL.as_raw(),
        Outcome::Running => 0,
        Outcome::Lost | Outcome::Refused(_) => 125,
    };
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(crate::OWN_FAILURE))
}
