//! Lines of the journal as log records of OpenTelemetry, in the JSON of OTLP over HTTP.

use chiton_engine::audit::{AuditEvent, AuditLine};
use serde_json::{Value, json};

use crate::audit::outcome;

/// Numbers of severities, as OTLP has them.
const INFO: (u8, &str) = (9, "INFO");
const WARN: (u8, &str) = (13, "WARN");

/// A request with these lines, and before them a record that says how many were lost, where any were.
pub(super) fn request(resource: &Value, lost: u64, now_ms: u64, lines: &[AuditLine]) -> Vec<u8> {
    let lost = (lost > 0).then(|| lost_record(lost, now_ms));
    let records: Vec<Value> = lost.into_iter().chain(lines.iter().map(record)).collect();
    let scope = json!({"name": "chiton.audit", "version": env!("CARGO_PKG_VERSION")});
    let logs = json!({"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]});
    json!({"resourceLogs": [logs]}).to_string().into_bytes()
}

/// A request without records, which every receiver takes.
pub(super) fn empty_request() -> Vec<u8> {
    json!({"resourceLogs": []}).to_string().into_bytes()
}

/// What is true of everything that this process sends.
pub(super) fn resource() -> Value {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut attributes = Attributes::default();
    attributes.text("service.name", Some("chiton"));
    attributes.text("service.version", Some(env!("CARGO_PKG_VERSION")));
    attributes.text("host.name", Some(host.trim()).filter(|name| !name.is_empty()));
    attributes.number("process.pid", Some(std::process::id()));
    attributes.text("enduser.id", Some(&rustix::process::geteuid().as_raw().to_string()));
    json!({"attributes": attributes.0})
}

fn record(line: &AuditLine) -> Value {
    let entry = &line.entry;
    let (severity, word) = severity(line);
    let body = entry.command.as_ref().or(entry.text.as_ref());
    let body = body.cloned().unwrap_or_else(|| match &entry.run {
        Some(run) => format!("{} {run}", outcome(line)),
        None => outcome(line).to_owned(),
    });
    json!({
        "timeUnixNano": nanoseconds(line.at_ms),
        "observedTimeUnixNano": nanoseconds(line.at_ms),
        "severityNumber": severity,
        "severityText": word,
        "body": {"stringValue": body},
        "attributes": attributes(line).0,
    })
}

fn attributes(line: &AuditLine) -> Attributes {
    let entry = &line.entry;
    let event = serde_json::to_value(entry.event).ok();
    let (client, user, process) = caller(&entry.who);
    let mut attributes = Attributes::default();
    attributes.text("chiton.event", event.as_ref().and_then(Value::as_str));
    attributes.text("chiton.run_id", entry.run.as_deref());
    attributes.text("chiton.session", entry.session.as_deref());
    attributes.text("chiton.target", entry.on.as_deref());
    attributes.text("chiton.client", Some(client).filter(|client| !client.is_empty()));
    attributes.text("enduser.id", user);
    attributes.number("process.pid", process);
    attributes.text("chiton.outcome", Some(outcome(line)));
    attributes.number("process.exit_code", entry.exit_code);
    attributes.number("chiton.duration_ms", entry.duration_ms);
    attributes.text("chiton.verdict", entry.verdict.as_deref());
    attributes.text("chiton.rule", entry.rule.as_deref());
    attributes.text("chiton.protection", entry.protection.as_deref());
    attributes.text("process.working_directory", entry.directory.as_deref());
    attributes.flag("chiton.background", entry.background);
    attributes.texts("chiton.secrets", &entry.secrets);
    attributes.number("chiton.output_bytes", entry.output_bytes);
    attributes.number("chiton.reply_bytes", entry.reply_bytes);
    attributes.number("chiton.command_cut_bytes", Some(entry.command_cut).filter(|bytes| *bytes > 0));
    attributes.number("chiton.text_cut_bytes", Some(entry.text_cut).filter(|bytes| *bytes > 0));
    // With these, the receiver can find out whether it has the whole chain.
    attributes.number("chiton.journal.number", Some(line.number));
    attributes.text("chiton.journal.previous", Some(&line.previous));
    attributes
}

fn lost_record(lost: u64, now_ms: u64) -> Value {
    let (severity, word) = WARN;
    let mut attributes = Attributes::default();
    attributes.text("chiton.event", Some("lost"));
    attributes.number("chiton.lost_records", Some(lost));
    json!({
        "timeUnixNano": nanoseconds(now_ms),
        "observedTimeUnixNano": nanoseconds(now_ms),
        "severityNumber": severity,
        "severityText": word,
        "body": {"stringValue": super::lost_in_words(lost)},
        "attributes": attributes.0,
    })
}

/// A command that did not run, or did not end by itself, is worth a look. An exit code is the command's own business.
fn severity(line: &AuditLine) -> (u8, &'static str) {
    match (line.entry.event, outcome(line)) {
        (AuditEvent::Refused | AuditEvent::Failed, _)
        | (AuditEvent::Input, "refused")
        | (AuditEvent::End, "signaled" | "timed_out" | "cancelled" | "killed" | "lost" | "failed") => WARN,
        _ => INFO,
    }
}

/// The program and its surface, its user and its process, of `mcp native (uid 1000, pid 42)`.
fn caller(who: &str) -> (&str, Option<&str>, Option<u32>) {
    let split = || {
        let (client, rest) = who.rsplit_once(" (uid ")?;
        let (user, process) = rest.strip_suffix(')')?.split_once(", pid ")?;
        Some((client, Some(user), Some(process.parse().ok()?)))
    };
    split().unwrap_or((who, None, None))
}

fn nanoseconds(ms: u64) -> String {
    (u128::from(ms) * 1_000_000).to_string()
}

/// A list of names with values. What does not apply is left out.
#[derive(Default)]
struct Attributes(Vec<Value>);

impl Attributes {
    fn text(&mut self, key: &str, value: Option<&str>) {
        self.0.extend(value.map(|value| json!({"key": key, "value": {"stringValue": value}})));
    }

    /// Whole numbers are texts in this JSON, because they may have 64 bits.
    fn number(&mut self, key: &str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| json!({"key": key, "value": {"intValue": value.to_string()}})));
    }

    fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.0.push(json!({"key": key, "value": {"boolValue": true}}));
        }
    }

    fn texts(&mut self, key: &str, values: &[String]) {
        if !values.is_empty() {
            let values: Vec<Value> = values.iter().map(|value| json!({"stringValue": value})).collect();
            self.0.push(json!({"key": key, "value": {"arrayValue": {"values": values}}}));
        }
    }
}

#[cfg(test)]
mod tests {
    use chiton_engine::audit::AuditEntry;

    use super::*;

    #[test]
    fn who_asked_is_taken_apart_where_it_can_be() {
        assert_eq!(caller("mcp native (uid 1000, pid 42)"), ("mcp native", Some("1000"), Some(42)));
        assert_eq!(caller("a library"), ("a library", None, None));
        assert_eq!(caller(""), ("", None, None));
    }

    #[test]
    fn what_did_not_run_is_a_warning_and_an_exit_code_is_not() {
        for (event, outcome, word) in [
            (AuditEvent::Run, None, "INFO"),
            (AuditEvent::End, Some("exited"), "INFO"),
            (AuditEvent::End, Some("timed_out"), "WARN"),
            (AuditEvent::Refused, None, "WARN"),
            (AuditEvent::Failed, None, "WARN"),
            (AuditEvent::Input, Some("written_to"), "INFO"),
            (AuditEvent::Input, Some("refused"), "WARN"),
        ] {
            let mut entry = AuditEntry::new(event);
            (entry.outcome, entry.exit_code) = (outcome.map(str::to_owned), Some(1));
            let line = AuditLine { number: 1, at_ms: 1_700_000_000_123, previous: String::new(), entry };
            let record = record(&line);
            assert_eq!(record["severityText"], word, "{event:?} {outcome:?}");
            assert_eq!(record["timeUnixNano"], "1700000000123000000");
        }
    }
}
