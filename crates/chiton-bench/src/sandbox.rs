//! What the sandbox costs: a call, a start, a build, an installation of packages; and what others take for the same.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy, UndoPolicy};
use chiton_engine::{EngineConfig, Session, WarmLimits};
use serde_json::json;

use crate::bench::Bench;
use crate::measure::{Samples, Turns, timed};
use crate::subject::{Answer, Protection, Subject};
use crate::table::{Row, Which, millis};

/// Long enough for the next shell to be ready: agents take longer than that.
const PAUSE: Duration = Duration::from_millis(20);
const TURNS: Turns = Turns::new(9, 60);
/// Builds and installations take seconds each.
const WORK: usize = 3;

/// What the profile `work` comes to: the folder, temporary folders and caches can be changed, logins are hidden.
pub(crate) fn work(folder: &Path) -> SandboxPolicy {
    let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let below = |names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| home.join(name)).filter(|path| path.exists()).collect()
    };
    let mut write = vec![folder.to_owned(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    write.extend(below(&[".cache", ".npm", ".cargo/registry", ".cargo/git"]));
    let hidden =
        [".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc", ".config/gh", ".git-credentials", ".bash_history"];
    SandboxPolicy {
        profile: "work".to_owned(),
        workspace: vec![folder.to_owned()],
        write,
        made: Vec::new(),
        hide: below(&hidden).into_iter().chain([folder.join("state"), PathBuf::from("/etc/shadow")]).collect(),
        keep: vec![folder.join(".git/hooks"), folder.join(".vscode/tasks.json")],
        network: NetworkPolicy::Open,
        sockets: Vec::new(),
        expose: Vec::new(),
        limits: SandboxLimits { memory: Some(16 << 30), processes: Some(4096), ..SandboxLimits::default() },
        missing: MissingLayer::Refuse,
        undo: UndoPolicy::Keep,
    }
}

/// An engine with a sandbox and one without, or with another one, and a session of each.
pub(crate) struct Pair {
    pub(crate) inside: (Subject, Session),
    pub(crate) outside: (Subject, Session),
}

impl Pair {
    fn new(bench: &Bench, name: &str, adjust: impl Fn(&mut EngineConfig)) -> Result<Self> {
        Self::with(bench, name, |_| None, adjust)
    }

    /// The one that ours stands beside has the sandbox that `other` makes of ours.
    pub(crate) fn with(
        bench: &Bench,
        name: &str,
        other: impl Fn(SandboxPolicy) -> Option<SandboxPolicy>,
        adjust: impl Fn(&mut EngineConfig),
    ) -> Result<Self> {
        let make = |name: String, is_ours: bool| -> Result<(Subject, Session)> {
            let folder = bench.folder(&name);
            fs::create_dir_all(&folder)?;
            let policy = work(&folder.canonicalize()?);
            let subject = Subject::with(&folder, Protection::Usual, |config| {
                config.sandbox = if is_ours { Some(policy) } else { other(policy) };
                adjust(config);
            })?;
            let session = subject.session()?;
            Ok((subject, session))
        };
        Ok(Self { inside: make(format!("{name}-inside"), true)?, outside: make(format!("{name}-outside"), false)? })
    }

    /// The times of a command in both, in turns.
    fn measure(&self, command: &str, answer: Answer) -> Result<(Samples, Samples)> {
        let time = |(subject, session): &(Subject, Session)| subject.time(session, command, answer, PAUSE);
        TURNS.measure(|| time(&self.inside), || time(&self.outside))
    }

    /// The processor time of a command in both, in turns, with that of their keepers.
    fn cost(&self, prepare: &str, command: &str) -> Result<(Samples, Samples)> {
        let cost = |one: &(Subject, Session)| Ok(cost(one, prepare, command)?.processor);
        Turns::new(WORK, 1).measure(|| cost(&self.inside), || cost(&self.outside))
    }
}

/// What a command took, in seconds.
pub(crate) struct Cost {
    /// With its keeper's.
    pub(crate) processor: f64,
    pub(crate) wall: f64,
    /// The id of its run.
    pub(crate) id: String,
}

/// What a command takes after another one.
pub(crate) fn cost((subject, session): &(Subject, Session), prepare: &str, command: &str) -> Result<Cost> {
    subject.run(session, prepare, Answer::WithState)?;
    let before = "set -- $(cat /proc/$PPID/stat)";
    let text =
        format!("{before}; ( {command} ) >log 2>&1 || {{ tail -3 log; exit 1; }}; echo $*; cat /proc/$PPID/stat");
    let (wall, report) = timed(|| subject.run(session, &text, Answer::WithState))?;
    let usage = report.usage.context("what it used is not known")?;
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let own = (usage.user_us + usage.system_us) as f64 / 1e6;
    let said = report.stdout.to_text();
    let (first, last) = said.split_once('\n').context("what its keeper used is not known")?;
    let keeper = keeper_seconds(last)? - keeper_seconds(first)?;
    Ok(Cost { processor: own + keeper, wall, id: report.run_id })
}

/// The processor time that a line of `/proc/PID/stat` says.
fn keeper_seconds(line: &str) -> Result<f64> {
    let behind = line.rsplit_once(')').context("no line of a process")?.1;
    let ticks: f64 = behind.split_ascii_whitespace().skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// A call in a shell that waited inside, and one for which a shell is started.
pub(crate) fn calls(bench: &Bench) -> Result<Vec<Row>> {
    let warm = Pair::new(bench, "sandbox-warm", |_| {})?;
    let (inside, outside) = warm.measure("true", Answer::First)?;
    let what = "`true` in a session, 20 ms between calls, in the sandbox, against without, p50";
    let mut rows = vec![Row::times_within(what, &inside, &outside, (Which::Middle, 1.05))];
    drop(warm);
    let cold = Pair::new(bench, "sandbox-cold", |config| config.limits.warm = WarmLimits::none())?;
    let (inside, outside) = cold.measure("true", Answer::WithState)?;
    let more = (inside.middle() - outside.middle()) * 1e3;
    let row = Row::times("the same, cold: a shell is started for each call", &inside, &outside, Which::Middle);
    rows.push(row.value(format!("{more:+.2} ms")).within("≤ +0.5 ms", more, 0.5));
    Ok(rows)
}

/// A crate that is built, and packages that are installed.
pub(crate) fn projects(bench: &Bench) -> Result<Vec<Row>> {
    let pair = Pair::new(bench, "sandbox-projects", |_| {})?;
    let mut rows = Vec::new();
    let what = "`cargo build` of regex-syntax, processor time with the keeper's";
    rows.push(match source_of("regex-syntax") {
        Some(source) => {
            // What only its tests need may not have been fetched.
            let alone = "printf '\\n[workspace]\\n' >>crate/Cargo.toml; sed -i '/^.dev-dependencies/,/^$/d' crate/Cargo.toml && rm -f crate/Cargo.lock";
            let copy = format!("rm -rf crate && cp -r {} crate && chmod -R u+w crate", source.display());
            let prepare = format!("{copy} && {alone}");
            let build = "cd crate && CARGO_TARGET_DIR=$PWD/target cargo build";
            match pair.cost(&prepare, build) {
                Ok((inside, outside)) => Row::times_within(what, &inside, &outside, (Which::Middle, 1.03)),
                Err(why) => Row::plain(what, format!("not measured: {why:#}")),
            }
        }
        None => Row::plain(what, "not measured: its source is not in the registry's folder"),
    });
    let what = "`npm install` of express from the cache, processor time with the keeper's";
    let warm_cache =
        "rm -rf package && mkdir package && cd package && npm init -y && npm install express --no-audit --no-fund";
    let is_there = pair.outside.0.run(&pair.outside.1, &format!("({warm_cache}) >/dev/null 2>&1"), Answer::WithState);
    rows.push(if is_there.is_ok() {
        let prepare = "rm -rf package && mkdir package && cd package && npm init -y >/dev/null && cd ..";
        let install = "cd package && npm install express --prefer-offline --no-audit --no-fund";
        let (inside, outside) = pair.cost(prepare, install)?;
        Row::times_within(what, &inside, &outside, (Which::Middle, 1.08))
    } else {
        Row::plain(what, "not measured: npm or its registry is not here")
    });
    Ok(rows)
}

/// The source of a crate among those that cargo has fetched.
pub(crate) fn source_of(name: &str) -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry/src")).ok()?.flatten();
    let crates = registries.filter_map(|registry| fs::read_dir(registry.path()).ok()).flatten().flatten();
    let is_it = |path: &PathBuf| {
        let found = path.file_name().and_then(|found| found.to_str()).unwrap_or_default();
        found
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()))
    };
    crates.map(|entry| entry.path()).filter(is_it).max()
}

/// Others that hold a command, as people call them; `{}` is the folder that can be changed.
const OTHERS: [(&str, &[&str]); 3] = [
    (
        "bwrap",
        &[
            "--ro-bind", "/", "/", "--bind", "{}", "{}", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
            "--share-net", "--",
        ],
    ),
    ("srt", &[]),
    ("codex", &["sandbox", "--"]),
];

/// `true` in a sandbox, from nothing to its end, beside others.
pub(crate) fn others(bench: &Bench) -> Result<Vec<Row>> {
    let (subject, session) = Pair::new(bench, "sandbox-others", |_| {})?.inside;
    let folder = subject.folder().to_owned();
    let mut rows = Vec::new();
    for (program, arguments) in OTHERS {
        let what = format!("`true` in our sandbox, against `{program}`");
        let other = || -> Result<f64> {
            thread::sleep(PAUSE);
            let arguments = arguments.iter().map(|argument| argument.replace("{}", &folder.display().to_string()));
            #[expect(clippy::disallowed_methods, reason = "another program stands beside ours")]
            let mut command = Command::new(program);
            command.args(arguments).arg("true").current_dir(&folder);
            let run = || Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?);
            let (took, status) = timed(run)?;
            ensure!(status.success(), "{program}: {status}");
            Ok(took)
        };
        if let Err(why) = other() {
            rows.push(Row::plain(what, format!("not measured: {why:#}")));
            continue;
        }
        let ours = || subject.time(&session, "true", Answer::First, PAUSE);
        let (ours, beside) = Turns::new(3, 20).measure(ours, other)?;
        let more = millis(beside.middle());
        rows.push(Row::times(what, &ours, &beside, Which::Middle).details(json!({"beside_ms": more})));
    }
    Ok(rows)
}
