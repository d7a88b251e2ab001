//! Output of runs as resources: `chiton://runs/ID/output`.

use std::time::Duration;

use chiton_dialects::action::{FailureKind, TaskRef};
use chiton_engine::tasks::{Cursor, Part, ReadRequest, WaitFor, WaitReason};
use chiton_engine::{Task, Tasks};
use chiton_operator::Operator;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

const TEMPLATE: &str = "chiton://runs/{id}/output{?tail}";
const MIME: &str = "text/plain";
/// Resources on one page of the list.
const PAGE: usize = 100;
/// Output that is longer than this was cut in the reply to its call, in most dialects.
const SHOWN_BYTES: u64 = 30_000;
/// What one read gives at most.
const READ_BYTES: u64 = 1 << 20;
/// The least time between two notifications of a change.
const PACE: Duration = Duration::from_millis(250);

/// What a resource names.
struct Name<'a> {
    id: &'a str,
    /// Only the last lines.
    tail: Option<u64>,
}

fn parse(uri: &str) -> Option<Name<'_>> {
    let (id, rest) = uri.strip_prefix("chiton://runs/")?.split_once("/output")?;
    let tail = match rest.strip_prefix("?tail=") {
        Some(lines) => Some(lines.parse().ok()?),
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(Name { id, tail }).filter(|name| !name.id.is_empty())
}

fn unknown(uri: &str) -> ErrorData {
    let problem = format!("there is no such resource; output of a run is at {TEMPLATE}");
    ErrorData::resource_not_found(problem, Some(json!({"uri": uri})))
}

/// The run that a resource belongs to.
pub(crate) fn find(operator: &Operator, uri: &str) -> Result<Task, ErrorData> {
    let name = parse(uri).ok_or_else(|| unknown(uri))?;
    operator.known(&TaskRef::Id(name.id.to_owned())).map_err(|failure| match failure.kind {
        FailureKind::Removed => ErrorData::resource_not_found(failure.message, Some(json!({"uri": uri}))),
        _ => unknown(uri),
    })
}

/// One page of those that are worth a look, the newest first; `cursor` is where the page before ended. Any other run can
/// still be read by its id.
pub(crate) fn list(operator: &Operator, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let mut runs = operator.runs().map_err(|failure| ErrorData::internal_error(failure.message, None))?;
    runs.retain(is_worth_listing);
    let start = match cursor {
        None => 0,
        Some(last) => {
            let place = runs.iter().position(|run| run.id == last);
            place
                .ok_or_else(|| ErrorData::invalid_params(format!("the list has no page that follows '{last}'"), None))?
                + 1
        }
    };
    let page = &runs[start..runs.len().min(start + PAGE)];
    let mut result = ListResourcesResult::with_all_items(page.iter().map(resource).collect());
    if start + page.len() < runs.len() {
        result.next_cursor = page.last().map(|run| run.id.clone());
    }
    Ok(result)
}

/// Whether a client may not have seen all of its output: its call did not wait for it, it still runs, or it printed more
/// than a reply shows.
fn is_worth_listing(run: &Task) -> bool {
    let printed = run.totals.map_or(0, |(stdout, stderr)| stdout.written + stderr.written);
    run.background || run.status.is_running() || run.leftover_of.is_some() || printed > SHOWN_BYTES
}

fn resource(run: &Task) -> Resource {
    let command: String = run.command.lines().next().unwrap_or_default().chars().take(80).collect();
    let resource = Resource::new(format!("chiton://runs/{}/output", run.id), run.id.clone())
        .with_title(command)
        .with_description(format!("Output of a command that is {}", run.status))
        .with_mime_type(MIME);
    match run.totals {
        Some((stdout, stderr)) => resource.with_size(stdout.written + stderr.written),
        None => resource,
    }
}

pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "output")
        .with_description("Output of a run by its id; tail: only this many lines from the end")
        .with_mime_type(MIME);
    ListResourceTemplatesResult::with_all_items(vec![template])
}

pub(crate) fn read(operator: &Operator, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let task = find(operator, uri)?;
    let part = parse(uri).and_then(|name| name.tail).map_or(Part::All, Part::Tail);
    let request = ReadRequest { part, limit: READ_BYTES, ..ReadRequest::default() };
    let output = task.read(&mut Cursor::default(), &request);
    let output = output.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut text = output.to_text();
    if output.left_out > 0 {
        text += &format!("\n[{} more bytes; {uri}?tail=1000 has the last 1000 lines]", output.left_out);
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MIME)]))
}

/// Waits for output of `id` beyond `seen`, which moves on; false when nothing will follow.
pub(crate) async fn changed(tasks: &Tasks, id: &str, seen: &mut Cursor) -> bool {
    let wanted = WaitFor { bytes: Some(1), from: *seen, ..WaitFor::default() };
    let Ok(waited) = tasks.wait(id, wanted).await else { return false };
    let _ = waited.task.read(seen, &ReadRequest { part: Part::New, limit: u64::MAX, ..ReadRequest::default() });
    if waited.reason == WaitReason::Ended {
        return false;
    }
    tokio::time::sleep(PACE).await;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_names_a_run() {
        let name = |uri| parse(uri).map(|name| (name.id.to_owned(), name.tail));
        assert_eq!(name("chiton://runs/shell_1/output"), Some(("shell_1".to_owned(), None)));
        assert_eq!(name("chiton://runs/shell_1/output?tail=5"), Some(("shell_1".to_owned(), Some(5))));
        for other in [
            "", "file:///etc/passwd", "chiton://runs//output", "chiton://runs/a/output?tail=x",
            "chiton://runs/a/outputs",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
