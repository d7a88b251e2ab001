//! The machine that was measured on, without its name and without paths.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A machine of which more than this many percent are in use is not idle.
const BUSY: u64 = 10;
/// How long that is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// What a reader has to know to compare.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// This machine, with state on the file system of `folder`.
    pub(crate) fn here(folder: &Path) -> Self {
        let facts = [
            ("processor", processor()),
            ("cores", thread::available_parallelism().ok().map(|cores| cores.to_string())),
            ("governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            ("memory", memory()),
            ("kernel", read("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"))),
            ("bash", first_line("bash", &["--version"])),
            ("file system of the state", file_system(folder)),
            ("processors in use before", busy()),
        ];
        Self { facts: facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect() }
    }

    /// One line for each fact.
    pub(crate) fn markdown(&self) -> String {
        let line = |(name, fact): &(&str, String)| format!("- {name}: {fact}\n");
        self.facts.iter().map(line).collect()
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        self.facts.iter().map(|(name, fact)| ((*name).to_owned(), json!(fact))).collect()
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The value of the first line with this name in a file of `/proc`.
fn entry(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

fn processor() -> Option<String> {
    let named = entry("/proc/cpuinfo", "model name");
    named.or_else(|| Some(std::env::consts::ARCH.to_owned()))
}

fn memory() -> Option<String> {
    let kilobytes: u64 = entry("/proc/meminfo", "MemTotal")?.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{} GiB", (kilobytes + (1 << 19)) >> 20))
}

/// How much of the processors was in use while this waited. On a busy machine times say little.
fn busy() -> Option<String> {
    let before = processor_times()?;
    thread::sleep(LOOK);
    let after = processor_times()?;
    let (all, idle) = (after.0.saturating_sub(before.0).max(1), after.1.saturating_sub(before.1));
    let used = 100 - (100 * idle / all).min(100);
    Some(if used > BUSY { format!("{used} % (**busy**: times are larger and scatter)") } else { format!("{used} %") })
}

/// Ticks of all processors so far, and how many of them were idle.
fn processor_times() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> =
        text.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|tick| tick.parse().ok()).collect();
    Some((ticks.iter().take(8).sum(), ticks.get(3)? + ticks.get(4)?))
}

/// The type of the file system that holds `folder`: the last mount of the longest path above it.
fn file_system(folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(folder).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields = mounts.lines().map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>());
    let above = fields.filter(|fields| fields.len() == 2 && folder.starts_with(fields[0].replace("\\040", " ")));
    above.max_by_key(|fields| fields[0].len()).map(|fields| fields[1].to_owned())
}

/// The first line that a program prints.
#[expect(clippy::disallowed_methods, reason = "a program is asked for its version")]
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_described_without_its_name() {
        let text = Machine::here(Path::new("/tmp")).markdown();
        assert!(text.contains("- cores: ") && text.contains("- kernel: Linux "), "{text}");
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        assert!(name.trim().len() < 4 || !text.contains(name.trim()));
        assert!(!text.contains("/tmp"));
    }
}
