//! What `chiton run` says once the command has ended, or goes on without it.

use std::process::ExitCode;
use std::time::Duration;

use chiton_engine::render::TextView;
use chiton_engine::{Outcome, Response, RunReport, StateReport, TimeLimit};
use serde_json::json;

use super::arguments::{LifetimeArgument, RunArguments};
use crate::duration::written;
use crate::messages::{complain, remark};

/// On standard error, and only what the output itself does not say.
pub(super) fn report(response: &Response, arguments: &RunArguments) {
    if let Response::Described(dry_run) = response {
        // Nobody has seen this yet.
        crate::messages::put(format_args!("{}", dry_run.description.to_text()));
    }
    for notice in response.notices() {
        remark(notice);
    }
    match response {
        Response::Ran(report) => report_run(report, arguments),
        Response::Refused(refused) => {
            complain(&format!("the command {}", Outcome::Refused(refused.refusal.reason.clone())));
        }
        Response::Described(_) => {}
    }
    if let (Some(_), StateReport::Discarded(why)) = (&arguments.session, response.state()) {
        remark(&format!("the session is as it was before: {why}"));
    }
    let removed = response.ran().map_or(&[][..], |report| &report.removed_variables);
    for removed in removed.iter().filter(|removed| arguments.gives(&removed.name)) {
        let (name, why) = (&removed.name, &removed.why);
        remark(&format!("{name} was kept from the command: it {why} (--keep-env {name} lets it pass)"));
    }
}

fn report_run(report: &RunReport, arguments: &RunArguments) {
    report_outcome(report, arguments);
    let task = report.leftover_task.as_deref().map(|id| format!(" (task {id})")).unwrap_or_default();
    let ends_too = arguments.lifetime == LifetimeArgument::Session;
    let what = if ends_too { "left running, and stopped by --lifetime session" } else { "left running" };
    for leftover in &report.leftovers {
        remark(&format!("{what}{task}: {} {}", leftover.pid, leftover.command));
    }
    for survivor in &report.survivors {
        complain(&format!("could not be killed: {} {}", survivor.pid, survivor.command));
    }
    if report.lost_bytes > 0 {
        remark(&format!("{} bytes of output are not kept in run {}", report.lost_bytes, report.run_id));
    }
}

fn report_outcome(report: &RunReport, arguments: &RunArguments) {
    match &report.outcome {
        Outcome::TimedOut => {
            let after = |limit: Option<Duration>| written(limit.unwrap_or_default());
            let why = match report.limit {
                Some(TimeLimit::Silence) => format!("printed nothing for {}", after(arguments.silence)),
                _ => format!("timed out after {}", after(arguments.timeout)),
            };
            complain(&format!("the command {why} and was stopped, with everything it started"));
        }
        Outcome::Cancelled | Outcome::Killed | Outcome::Lost | Outcome::Refused(_) => {
            complain(&format!("the command {}", report.outcome));
        }
        Outcome::Running => {
            let id = &report.run_id;
            remark(&format!(
                "still running as {id}; `chiton logs -f {id}` goes on showing it, `chiton kill {id}` ends it"
            ));
        }
        Outcome::Exited(_) | Outcome::Signaled(_) => {}
    }
}

pub(super) fn as_json(response: &Response) -> serde_json::Value {
    let (report, outcome, state) = (response.ran(), response.outcome(), response.state());
    let output = response.output().map(TextView::to_text).unwrap_or_default();
    let stdout = report.map_or_else(|| output.clone(), |report| report.stdout.to_text());
    json!({
        "run_id": report.map(|report| &report.run_id),
        "pid": report.map(|report| report.pid),
        "outcome": response.word(),
        "limit": report.map(RunReport::limit_word),
        "exit_code": outcome.as_ref().and_then(Outcome::exit_code),
        "signal": outcome.as_ref().and_then(Outcome::signal).map(|signal| signal.to_string()),
        "refused": refused(response),
        "changed": report.and_then(|report| report.changed.as_ref()),
        "pipe_status": report.map_or(&[][..], |report| &report.pipe_status),
        "stdout": stdout,
        "stderr": report.map(|report| report.stderr.to_text()).unwrap_or_default(),
        "output": output,
        "truncated": report.is_some_and(RunReport::is_truncated),
        "omitted_bytes": report.map_or(0, RunReport::omitted_bytes),
        "lost_bytes": report.map_or(0, |report| report.lost_bytes),
        "cwd": response.cwd().to_string_lossy(),
        "state": { "result": state.word(), "why": state.why() },
        "leftovers": report.map_or(&[][..], |report| &report.leftovers),
        "leftover_task": report.and_then(|report| report.leftover_task.as_deref()),
        "survivors": report.map_or(&[][..], |report| &report.survivors),
        "usage": report.and_then(|report| report.usage.as_ref()),
        "duration_ms": report.map_or(0, |report| u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX)),
        "removed_variables": report.map_or(&[][..], |report| &report.removed_variables),
        "notices": response.notices(),
        "protection": response.protection(),
    })
}

/// Why the guard refused the command, or what the sandbox refused to it while it ran.
fn refused(response: &Response) -> serde_json::Value {
    match response.refusal() {
        Some(refusal) => json!(refusal.facts()),
        None => json!(response.ran().map(|report| &report.refused)),
    }
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
