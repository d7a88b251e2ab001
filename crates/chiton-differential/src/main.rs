//! The fuzzer as a program: `cargo xtask fuzz` and `cargo xtask agree` build it and run it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use chiton_differential::agreement::{Agreement, agreement, installed_scripts};
use chiton_differential::empty_root::EmptyRoot;
use chiton_differential::hunt::{Bounds, Counts, Hunt, Missed, ran};
use chiton_differential::judged::judged;

const HELP: &str = "\
Compares what bash does with a text with what the guard reads in it.

  cargo xtask fuzz     random texts: whatever bash runs must be listed by the guard, or asked about
                       --texts N     stop after this many texts (without a bound: until Ctrl-C)
                       --seconds S   stop after this many seconds
                       --seed X      the same texts as in a run that printed this seed
                       --workers W   so many at once; as many as there are processors otherwise
                       --allowed     bash gets only the texts that the guard allows: the others cannot be missed
                       --results FILE  keep what bash runs in FILE.0, FILE.1, … for each worker; a second run with the
                                     same seed and as many workers only asks the guard
                       --try FILE    judge and run the text in FILE alone, and say what each of them sees
  cargo xtask agree    whether texts parse, here and for `bash -n`
                       FILE…         each file is one script
                       --lines FILE  each line of the file is one command
                       --installed   all scripts for bash and sh that are installed on this machine

Bash runs the random texts in an empty root, as a user of its own, without programs, files or a network: they can do no
harm. A text in which something ran that the guard did not list is made small and printed, and the exit code is 1.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("fuzz") if !arguments.iter().any(|it| it == "--help" || it == "-h") => fuzz(&arguments[1..]),
        Some("agree") if !arguments.iter().any(|it| it == "--help" || it == "-h") => agree(&arguments[1..]),
        _ => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error:#}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    texts: u64,
    time: Duration,
    seed: u64,
    workers: u64,
    only_allowed: bool,
    results: Option<String>,
    single: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self {
            texts: u64::MAX,
            time: Duration::from_secs(u64::from(u32::MAX)),
            seed: clock.as_secs() ^ u64::from(clock.subsec_nanos()),
            workers: u64::try_from(workers)?,
            only_allowed: false,
            results: None,
            single: None,
        };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            if name == "--allowed" {
                options.only_allowed = true;
                continue;
            }
            let value = rest.next().with_context(|| format!("{name} takes a value; see --help"))?;
            let number = || value.parse::<u64>().with_context(|| format!("{name} takes a number, not '{value}'"));
            match name.as_str() {
                "--texts" => options.texts = number()?,
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--seed" => options.seed = number()?,
                "--workers" => options.workers = number()?.max(1),
                "--results" => options.results = Some(value.clone()),
                "--try" => options.single = Some(value.clone()),
                other => bail!("there is no option '{other}'; see --help"),
            }
        }
        Ok(options)
    }
}

/// Whether nothing was missed.
fn fuzz(arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    if let Some(path) = &options.single {
        return single(path);
    }
    println!("seed {}", options.seed);
    let start = Instant::now();
    let (send, reports) = channel::<(u64, Counts)>();
    let mut threads = Vec::new();
    for worker in 0..options.workers {
        let share = options.texts / options.workers + u64::from(worker < options.texts % options.workers);
        let bounds = Bounds { texts: share, time: options.time };
        let hunt = Hunt::new(options.seed.wrapping_add(worker.wrapping_mul(0x1000_0000_0001)))?;
        let mut hunt = hunt.only_allowed(options.only_allowed);
        if let Some(path) = &options.results {
            hunt = hunt.with_results(format!("{path}.{worker}").as_ref())?;
        }
        if worker == 0 {
            println!("bash runs {}", hunt.confinement());
        }
        let send = send.clone();
        threads.push(std::thread::spawn(move || {
            hunt.run(bounds, |counts| {
                let _ = send.send((worker, counts.clone()));
            })
        }));
    }
    drop(send);
    show_progress(&reports, start);

    let mut counts = Counts::default();
    let mut missed: Vec<Missed> = Vec::new();
    for thread in threads {
        let (own, found) = thread.join().ok().context("a worker panicked")??;
        counts.add(&own);
        missed.extend(found);
    }
    for (rule, count) in &counts.asked {
        println!("asked by {rule}: {count}");
    }
    for one in &missed {
        println!("\nmissed: {}\n  small: {}", one.text.escape_debug(), one.small.escape_debug());
    }
    println!("{counts}; {:.0} texts a second", rate(&counts, start));
    Ok(counts.missed == 0 && missed.is_empty())
}

#[expect(clippy::cast_precision_loss, reason = "it is shown without decimals")]
fn rate(counts: &Counts, start: Instant) -> f64 {
    counts.texts as f64 / start.elapsed().as_secs_f64().max(0.001)
}

fn show_progress(reports: &std::sync::mpsc::Receiver<(u64, Counts)>, start: Instant) {
    let mut latest: BTreeMap<u64, Counts> = BTreeMap::new();
    let mut shown = Instant::now();
    let mut told = BTreeSet::new();
    let interval = Duration::from_secs(if std::io::stderr().is_terminal() { 1 } else { 30 });
    for (worker, counts) in reports {
        latest.insert(worker, counts);
        if shown.elapsed() < interval {
            continue;
        }
        shown = Instant::now();
        let mut all = Counts::default();
        for counts in latest.values() {
            all.add(counts);
        }
        // Making them small takes a while; whoever watches may look at them as they are.
        for text in std::mem::take(&mut all.examples) {
            if told.insert(text.clone()) {
                eprintln!("missed: {}", text.escape_debug());
            }
        }
        let end = if std::io::stderr().is_terminal() { "\r" } else { "\n" };
        eprint!("{all}; {:.0} a second{end}", rate(&all, start));
        let _ = std::io::stderr().flush();
    }
}

/// One text, which both are asked about.
fn single(path: &str) -> Result<bool> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let verdict = judged(&text);
    let ran = ran(&mut EmptyRoot::start()?, &text)?;
    let unlisted: Vec<char> = ran.iter().copied().filter(|letter| !verdict.listed.has(*letter)).collect();
    println!("bash runs {}", ran.iter().map(|letter| format!("zz{letter}")).collect::<Vec<_>>().join(" "));
    println!(
        "the guard {}",
        verdict.stopped.as_deref().map_or("allows it".to_owned(), |rule| format!("stops it: {rule}"))
    );
    println!("unlisted: {}", unlisted.iter().map(|letter| format!("zz{letter}")).collect::<Vec<_>>().join(" "));
    Ok(unlisted.is_empty() || verdict.stopped.is_some())
}

/// Whether every text is read alike.
fn agree(arguments: &[String]) -> Result<bool> {
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--lines" => {
                let path = rest.next().context("--lines takes a file")?;
                let content = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
                let lines = content.split(|byte| *byte == b'\n').enumerate();
                texts.extend(lines.map(|(at, line)| (format!("{path}:{}", at + 1), line.to_vec())));
            }
            "--installed" => {
                for path in installed_scripts() {
                    texts.push((path.display().to_string(), std::fs::read(&path)?));
                }
            }
            path => texts.push((path.to_owned(), std::fs::read(path).with_context(|| format!("cannot read {path}"))?)),
        }
    }
    ensure!(!texts.is_empty(), "name files, or --lines FILE, or --installed; see --help");

    let (mut take, mut reject, mut large, mut only_bash, mut only_here) = (0, 0, 0, 0, 0);
    for (name, text) in &texts {
        match agreement(text)? {
            Agreement::BothTake => take += 1,
            Agreement::BothReject => reject += 1,
            Agreement::TooLarge => {
                large += 1;
                println!("{name}: more than is examined");
            }
            Agreement::OnlyBash(reason) => {
                only_bash += 1;
                println!("{name}: bash takes it; here: {reason}");
            }
            Agreement::OnlyHere(reason) => {
                only_here += 1;
                println!("{name}: taken here; {reason}");
            }
        }
    }
    println!(
        "{} texts: {take} taken by both, {reject} rejected by both, {only_bash} taken by bash alone, {only_here} taken \
         here alone, {large} too large",
        texts.len()
    );
    Ok(only_bash == 0 && only_here == 0)
}
