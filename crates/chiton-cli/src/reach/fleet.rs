//! One command on many machines: at most so many at once, a line for each, a table at the end.

use std::future::poll_fn;
use std::pin::Pin;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use chiton_reach::target::{Wanted, wanted};
use chiton_reach::{Ending, Near, NearOptions, Out, Stream, Target};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use super::facts::Facts;
use super::forward::Streams;
use super::judge::Judge;
use super::run::Job;
use super::{There, options};
use crate::messages::{put, remark, say};
use crate::settings::Settings;
use crate::table::{lay_out, span};

/// On so many machines at once, where nobody says otherwise.
const AT_ONCE: usize = 32;
/// How much output of each machine is looked at here; the rest stays there.
const OUTPUT: &str = "65536";

/// What `--on` stands for.
pub(super) enum Expanded {
    One(Box<Target>),
    Many(Vec<Target>),
}

/// Finds the machines.
pub(super) async fn expand(there: &There, settings: &Settings) -> Result<Expanded> {
    let mut found = Vec::new();
    let mut several = there.names.len() > 1;
    for name in &there.names {
        match wanted(name, there.each, &settings.target)? {
            Wanted::One(target) => found.push(*target),
            Wanted::Pods(words) => {
                several = true;
                found.extend(pods(name, &words).await?);
            }
            Wanted::Nodes(job) => {
                several = true;
                found.extend(nodes(&job).await?);
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|target: &Target| seen.insert(target.name.clone()));
    match found.pop() {
        Some(target) if !several && found.is_empty() => Ok(Expanded::One(Box::new(target))),
        Some(target) => {
            found.push(target);
            Ok(Expanded::Many(found))
        }
        None => bail!("--on {} stands for no machine at all", there.names.join(" --on ")),
    }
}

/// The pods that kubectl finds.
async fn pods(name: &str, words: &[String]) -> Result<Vec<Target>> {
    let (mut to_find, mut to_reach) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (option, value) =
            word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
        let mut with_value = || -> Result<Vec<String>> {
            let value = value.map(str::to_owned).or_else(|| rest.next().cloned());
            Ok(vec![option.to_owned(), value.with_context(|| format!("{name}: {option} wants a value"))?])
        };
        match option {
            "-A" | "--all-namespaces" => to_find.push(word.clone()),
            "-l" | "--selector" | "-n" | "--namespace" | "--field-selector" => to_find.extend(with_value()?),
            "-c" | "--container" => to_reach.extend(with_value()?),
            "--context" | "--kubeconfig" | "--cluster" | "--user" | "--server" => {
                let words = with_value()?;
                to_find.extend(words.clone());
                to_reach.extend(words);
            }
            other => bail!(
                "{name}: {other} is not known here; there are -l, -n, -A, --field-selector, -c, --context, --kubeconfig, \
                 --cluster, --user and --server"
            ),
        }
    }
    ensure!(!to_find.is_empty(), "{name}: say which pods, as in 'kube:-l app=web'");
    let mut command = vec!["get".to_owned(), "pods".to_owned()];
    command.extend(to_find);
    command.extend(["-o".to_owned(), "json".to_owned()]);
    let listed: Value = serde_json::from_str(&answer("kubectl", &command).await?)
        .with_context(|| format!("{name}: kubectl lists pods in a way that nobody understands"))?;
    let mut found = Vec::new();
    for pod in listed["items"].as_array().into_iter().flatten() {
        let (Some(namespace), Some(pod_name)) =
            (pod["metadata"]["namespace"].as_str(), pod["metadata"]["name"].as_str())
        else {
            continue;
        };
        let phase = pod["status"]["phase"].as_str().unwrap_or("Running");
        if phase == "Running" {
            found.push(Target::pod(namespace, pod_name, &to_reach));
        } else {
            remark(&format!("{namespace}/{pod_name} is {phase}, and left out"));
        }
    }
    Ok(found)
}

/// The nodes of a Slurm job.
async fn nodes(job: &str) -> Result<Vec<Target>> {
    let list = answer("squeue", &["-h", "-o", "%N", "-j", job].map(str::to_owned)).await?;
    ensure!(!list.trim().is_empty(), "slurm:{job}: the job has no nodes: does it run? `squeue -j {job}` shows it");
    let names = answer("scontrol", &["show", "hostnames", list.trim()].map(str::to_owned)).await?;
    Ok(names.lines().map(str::trim).filter(|node| !node.is_empty()).map(|node| Target::node(job, node)).collect())
}

#[expect(clippy::disallowed_methods, reason = "the user's own client is asked, as the user would")]
async fn answer(program: &str, arguments: &[String]) -> Result<String> {
    let asked = Command::new(program).args(arguments).stdin(Stdio::null()).kill_on_drop(true).output().await;
    let asked = asked.with_context(|| format!("{program} does not start"))?;
    let said = String::from_utf8_lossy(&asked.stderr).trim().to_owned();
    ensure!(asked.status.success(), "{program} {}: {said}", arguments.join(" "));
    Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
}

/// What came of one machine.
struct Outcome {
    target: String,
    /// What became of the command, in a word or two.
    status: String,
    took: Duration,
    /// The last line that it printed.
    last: String,
    run: Option<String>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Succeeded,
    Failed,
    NotReached,
}

/// Runs the command everywhere.
pub(super) async fn run(
    targets: Vec<Target>,
    there: &There,
    job: &Job<'_>,
    judge: &Judge,
    settings: &Settings,
) -> Result<ExitCode> {
    ensure!(!job.arguments.wants_terminal(), "--pty is for one machine; there are {} here", targets.len());
    ensure!(!job.arguments.has_input(), "--stdin is for one machine; there are {} here", targets.len());
    let at_once = there.at_most.unwrap_or(AT_ONCE);
    ensure!(at_once > 0, "--at-most 0 would run it nowhere");
    let options = NearOptions { attended: false, ..options(settings, Arc::new(|_| {}))? };
    let (room, done, all) = (Semaphore::new(at_once), AtomicUsize::new(0), targets.len());
    let (stop, stopped) = watch::channel(0);
    let mut signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let as_json = job.arguments.is_json();
    if !as_json {
        let often = if all > at_once { format!(", {at_once} at a time") } else { String::new() };
        remark(&format!("on {all} machines{often}"));
    }

    let each = targets.into_iter().map(|target| {
        let (options, stopped, room, done) = (options.clone(), stopped.clone(), &room, &done);
        async move {
            let _turn = room.acquire().await;
            let (name, began) = (target.name.clone(), Instant::now());
            let outcome = if *stopped.borrow() > 0 {
                Outcome::not_reached(&name, "was not tried: interrupted", began)
            } else {
                on_one(target, options, job, judge, stopped, began).await
            };
            let number = done.fetch_add(1, Ordering::Relaxed) + 1;
            outcome.tell(as_json, number, all);
            outcome
        }
    });
    let mut each = join(each);
    let outcomes = loop {
        tokio::select! {
            outcomes = &mut each => break outcomes,
            _ = signals.0.recv() => { let _ = stop.send(SignalKind::interrupt().as_raw_value()); }
            _ = signals.1.recv() => { let _ = stop.send(SignalKind::terminate().as_raw_value()); }
        }
    };
    Ok(conclude(&outcomes, as_json))
}

/// Waits for all of them at the same time; the results are in their order.
fn join<F: Future>(futures: impl Iterator<Item = F>) -> Pin<Box<impl Future<Output = Vec<F::Output>>>> {
    let mut waiting: Vec<Joined<F>> = futures.map(|future| Joined::Waiting(Box::pin(future))).collect();
    Box::pin(poll_fn(move |context| {
        let mut all_done = true;
        for one in &mut waiting {
            if let Joined::Waiting(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *one = Joined::Done(Some(value)),
                    Poll::Pending => all_done = false,
                }
            }
        }
        if !all_done {
            return Poll::Pending;
        }
        let taken =
            waiting.iter_mut().filter_map(|one| if let Joined::Done(value) = one { value.take() } else { None });
        Poll::Ready(taken.collect())
    }))
}

enum Joined<F: Future> {
    Waiting(Pin<Box<F>>),
    Done(Option<F::Output>),
}

async fn on_one(
    target: Target,
    options: NearOptions,
    job: &Job<'_>,
    judge: &Judge,
    mut stopped: watch::Receiver<i32>,
    began: Instant,
) -> Outcome {
    let name = target.name.clone();
    let near = match Near::connect(target, options).await {
        Ok(near) => near,
        Err(error) => return Outcome::not_reached(&name, &error.to_string(), began),
    };
    let outcome = match attempt(&near, job, judge, &mut stopped, began).await {
        Ok(outcome) => outcome,
        Err(error) => Outcome::not_reached(&name, &format!("{error:#}"), began),
    };
    near.close().await;
    outcome
}

async fn attempt(
    near: &Near,
    job: &Job<'_>,
    judge: &Judge,
    stopped: &mut watch::Receiver<i32>,
    began: Instant,
) -> Result<Outcome> {
    let facts = Facts::read(near)?;
    let name = near.target().name.clone();
    let Ok(decided) = judge.clear(&job.request, &name, &facts).await? else {
        return Ok(Outcome { kind: Kind::Failed, ..Outcome::not_reached(&name, "refused", began) });
    };
    let mut more = Vec::new();
    if !job.arguments.is_json() {
        more.push("--json");
    }
    if !job.arguments.limits_output() {
        more.extend(["--max-output", OUTPUT]);
    }
    loop {
        let mut channel = near.open(job.verb(near, &facts, &decided, &more, Streams::Output)?);
        channel.input.end();
        let (mut text, mut complaint) = (Vec::new(), Vec::new());
        let ending = loop {
            tokio::select! {
                out = channel.output.next() => match out {
                    Out::Bytes(Stream::Errors, bytes) => {
                        complaint.extend_from_slice(&bytes);
                        let surplus = complaint.len().saturating_sub(4096);
                        complaint.drain(..surplus);
                    }
                    Out::Bytes(_, bytes) => text.extend_from_slice(&bytes),
                    Out::Ended(ending) => break Ok(ending),
                    Out::Gone(gone) => break Err(gone),
                },
                Ok(()) = stopped.changed() => channel.input.signal(*stopped.borrow()),
            }
        };
        match ending {
            Err(chiton_reach::Gone::HostEnded { .. }) => {}
            Err(gone) => bail!("{gone}"),
            Ok(Ending::NotStarted(why)) => bail!("{why}"),
            Ok(_) => {
                let report: Value = serde_json::from_slice(&text).with_context(|| {
                    let said = String::from_utf8_lossy(&complaint);
                    said.trim().trim_start_matches("chiton: ").to_owned()
                })?;
                let code = report["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
                judge.note_end(&name, &decided, code);
                return Ok(Outcome::of(&name, &report, began.elapsed()));
            }
        }
    }
}

impl Outcome {
    fn not_reached(target: &str, why: &str, began: Instant) -> Self {
        let (target, status) = (target.to_owned(), why.to_owned());
        Self { target, status, took: began.elapsed(), last: String::new(), run: None, kind: Kind::NotReached }
    }

    /// What the report of `chiton run --json` says.
    fn of(target: &str, report: &Value, took: Duration) -> Self {
        let code = report["exit_code"].as_i64();
        let status = match (report["outcome"].as_str().or(report["status"].as_str()), code) {
            (_, Some(0)) => "completed".to_owned(),
            (Some("exited") | None, Some(code)) => format!("failed ({code})"),
            (Some(word), _) => word.replace('_', " "),
            (None, None) => "unknown".to_owned(),
        };
        let lines = |stream: &str| {
            report[stream]
                .as_str()
                .and_then(|text| text.lines().rev().find(|line| !line.trim().is_empty()))
                .map(str::to_owned)
        };
        let last = if code == Some(0) { lines("stdout") } else { lines("stderr").or_else(|| lines("stdout")) };
        let run = ["run_id", "id"].iter().find_map(|name| report[name].as_str()).map(str::to_owned);
        let kind = if code == Some(0) || status == "running" { Kind::Succeeded } else { Kind::Failed };
        Self { target: target.to_owned(), status, took, last: last.unwrap_or_default(), run, kind }
    }

    fn tell(&self, as_json: bool, number: usize, all: usize) {
        if as_json {
            let reached = self.kind != Kind::NotReached;
            let took = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
            say!(
                "{}",
                json!({
                    "target": self.target, "reached": reached, "succeeded": self.kind == Kind::Succeeded,
                    "status": self.status, "run_id": self.run, "last_line": self.last, "ms": took,
                })
            );
        } else {
            let first = self.status.lines().next().unwrap_or_default();
            remark(&format!("[{number}/{all}] {}: {first} after {}", self.target, span(self.took)));
        }
    }
}

/// The table, who failed, and the exit code.
fn conclude(outcomes: &[Outcome], as_json: bool) -> ExitCode {
    let named = |kind: Kind| -> Vec<&str> {
        outcomes.iter().filter(|one| one.kind == kind).map(|one| one.target.as_str()).collect()
    };
    let (failed, not_reached) = (named(Kind::Failed), named(Kind::NotReached));
    if as_json {
        let succeeded = outcomes.len() - failed.len() - not_reached.len();
        say!("{}", json!({"done": true, "succeeded": succeeded, "failed": failed, "not_reached": not_reached}));
    } else {
        let rows: Vec<Vec<String>> = outcomes
            .iter()
            .map(|one| {
                let (status, last) = match one.kind {
                    Kind::NotReached => ("not reached".to_owned(), one.status.lines().next().unwrap_or_default()),
                    _ => (one.status.clone(), one.last.as_str()),
                };
                let run = one.run.clone().unwrap_or_else(|| "-".to_owned());
                vec![one.target.clone(), status, span(one.took), run, last.to_owned()]
            })
            .collect();
        put(format_args!("{}", lay_out(&["TARGET", "STATUS", "TIME", "ID", "LAST LINE"], &rows)));
        let mut words = Vec::new();
        if !failed.is_empty() {
            words.push(format!("{} failed: {}", failed.len(), failed.join(", ")));
        }
        if !not_reached.is_empty() {
            words.push(format!("{} not reached: {}", not_reached.len(), not_reached.join(", ")));
        }
        if words.is_empty() {
            remark(&format!("all {} succeeded", outcomes.len()));
        } else {
            remark(&format!(
                "of {}, {}; `chiton logs --on TARGET ID` shows the output",
                outcomes.len(),
                words.join("; ")
            ));
        }
    }
    match (failed.is_empty(), not_reached.is_empty()) {
        (true, true) => ExitCode::SUCCESS,
        (_, false) => ExitCode::from(crate::OWN_FAILURE),
        (false, true) => ExitCode::FAILURE,
    }
}
