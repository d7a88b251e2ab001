//! Parts of the engine by themselves: files of a run, verdicts, screens, plain text, a terminal with much output.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use chiton_engine::guard::{Context, judge};
use chiton_engine::terminal::text::PlainText;
use chiton_engine::terminal::{Screen, TerminalSize};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::bench::Bench;
use crate::measure::{Samples, Turns, percentile, timed};
use crate::server::Program;
use crate::table::{Row, mebibytes, millis};
use crate::throughput::text_of;

/// Times each command is judged; the quickest counts, so that the machine's other work does not.
const ROUNDS: usize = 20;
/// Commands as people and agents write them: the guard's own corpus.
const CORPUS: [&str; 4] = [
    include_str!("../../chiton-guard/tests/cases/guard/everyday.tsv"),
    include_str!("../../chiton-guard/tests/cases/guard/safe_deletes.tsv"),
    include_str!("../../chiton-guard/tests/cases/guard/text_traps.tsv"),
    include_str!("../../chiton-guard/tests/cases/guard/agents.tsv"),
];
const FLOOD: usize = 100_000_000;
/// How long that may take in a terminal.
const FLOOD_SECONDS: f64 = 100.0 / 150.0;

/// What the file system takes for as many files as a run has: a folder, four files of which three are moved into
/// place, a socket. It says how much of a call is the file system's.
pub(crate) fn folders(bench: &Bench) -> Result<Vec<Row>> {
    let place = bench.folder("folders");
    fs::create_dir_all(&place)?;
    let mut times = Samples::default();
    for number in 0..300 {
        let folder = place.join(number.to_string());
        times.push(timed(|| Ok(like_a_run(&folder)?))?.0);
    }
    let (middle, late) = (millis(times.middle()), millis(times.percentile(99.0)));
    let row = Row::plain("a folder with as many files as a run has, made by hand", format!("{middle} / {late} ms"));
    Ok(vec![row.details(times.to_json())])
}

fn like_a_run(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for name in ["request.json", "start.json", "ending.json"] {
        let beside = folder.join(format!("{name}.new"));
        fs::write(&beside, [b'x'; 400])?;
        fs::rename(beside, folder.join(name))?;
    }
    fs::write(folder.join("stdout.0"), "some text\n")?;
    // By its descriptor: the path of a socket has to be short.
    let handle = fs::File::open(folder)?;
    let door = format!("/proc/self/fd/{}/door", handle.as_raw_fd());
    drop(UnixListener::bind(door)?);
    fs::remove_file(folder.join("door"))
}

/// How long a verdict takes.
pub(crate) fn verdicts() -> Result<Vec<Row>> {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let mut times = Vec::new();
    for line in CORPUS.iter().flat_map(|table| table.lines().skip(1)) {
        let Some(command) = line.split('\t').nth(2).filter(|command| command.len() < 500) else { continue };
        let command = command.replace("\\n", "\n");
        let mut quickest = f64::INFINITY;
        for _ in 0..ROUNDS {
            quickest = quickest.min(timed(|| Ok(black_box(judge(&command, &context))))?.0);
        }
        times.push(quickest * 1e6);
    }
    let [middle, late, latest] = [50.0, 99.0, 99.9].map(|percent| percentile(&times, percent));
    let said = format!("{middle:.1} / {late:.1} / {latest:.1} µs");
    Ok(vec![Row::plain(format!("verdict of the guard, p50 / p99 / p99.9 of {} commands", times.len()), said)])
}

/// How fast a screen takes output, and plain text is made of it.
pub(crate) fn screens() -> Result<Vec<Row>> {
    let (mut coloured, mut bar) = (String::new(), String::new());
    for step in 0..100_000 {
        let _ =
            write!(coloured, "\x1b[2m{step:08}\x1b[0m \x1b[32mINFO\x1b[0m module::path id=\x1b[1m{step}\x1b[0m\r\n");
        let _ = write!(bar, "\r\x1b[K{step:>7} [{:<40}]", "#".repeat(step % 40));
    }
    let log = text_of(8_000_000).replace('\n', "\r\n");
    let unicode = "\u{4e16}\u{754c} gr\u{fc}n \u{2500}\u{2500}\u{2500} caf\u{e9} text\r\n".repeat(100_000);
    let mut rows = Vec::new();
    for (name, text) in [("a log", log), ("a coloured log", coloured), ("unicode", unicode), ("a progress bar", bar)] {
        let bytes = text.as_bytes();
        let mut screen = Screen::new(TerminalSize::USUAL);
        let (shown, ()) = timed(|| {
            bytes.chunks(4096).for_each(|part| screen.feed(part));
            black_box(screen.snapshot());
            Ok(())
        })?;
        let (mut plain, mut out) = (PlainText::new(), Vec::new());
        let (stripped, ()) = timed(|| {
            for part in bytes.chunks(65536) {
                out.clear();
                plain.push(part, &mut out);
            }
            Ok(())
        })?;
        let said = format!("screen {}, plain text {}", rate(bytes.len(), shown), rate(bytes.len(), stripped));
        rows.push(Row::plain(format!("{name} into a screen and into plain text"), said));
    }
    Ok(rows)
}

/// A terminal with much output, and the size of the program.
pub(crate) fn program(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("terminal"))?;
    let folder = bench.folder("terminal-files");
    fs::create_dir_all(&folder)?;
    let lines = folder.join("lines");
    fs::write(&lines, text_of(FLOOD))?;
    let command = format!("cat {}", fs::canonicalize(&lines)?.display());
    let in_terminal = || Ok(timed(|| program.run(&["run", "--json", "--max-output", "100", "--pty", &command]))?.0);
    let by_hand = || Ok(timed(|| bare_terminal(&command))?.0);
    let (ours, beside) = Turns::new(3, 1).measure(in_terminal, by_hand)?;
    let pipe = timed(|| program.run(&["run", "--json", "--max-output", "100", &command]))?.0;
    let _ = fs::remove_dir_all(&folder);
    let size = fs::metadata(&bench.program)?.len();
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let value = size as f64 / f64::from(1 << 20);
    let shown = format!("{}, {} by a pipe", rate(FLOOD, ours.middle()), rate(FLOOD, pipe));
    let beside = format!("{} read and dropped", rate(FLOOD, beside.middle()));
    let seconds = FLOOD_SECONDS;
    Ok(vec![
        Row::plain("`cat` of 100 MB in a terminal", shown).beside(beside).within("≥ 150 MB/s", ours.middle(), seconds),
        Row::plain("size of the binary", mebibytes(size)).value(mebibytes(size)).within("≤ 11 MiB", value, 11.0),
    ])
}

/// Runs a command in a terminal of which somebody reads and does nothing else: no program can be faster in one.
#[expect(clippy::disallowed_methods, reason = "it is what ours is compared with")]
fn bare_terminal(command: &str) -> Result<()> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(OsStr::from_bytes(ptsname(&ours, Vec::new())?.to_bytes()))?;
    let mut child = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(theirs).spawn()?;
    let (mut ours, mut buffer) = (fs::File::from(ours), vec![0; 64 << 10]);
    // It reads as broken once nobody has the other end.
    while ours.read(&mut buffer).is_ok_and(|count| count > 0) {}
    child.wait()?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(bytes: usize, seconds: f64) -> String {
    format!("{:.0} MB/s", bytes as f64 / 1e6 / seconds)
}
