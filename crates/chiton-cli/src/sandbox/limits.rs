//! Limits: their names, and how much is meant by what a person writes.

use anyhow::{Context, Result, bail, ensure};
use chiton_engine::sandbox::policy::SandboxLimits;

use super::nearest;
use crate::duration::duration;
use crate::sandbox_settings::{LimitSettings, Word};

/// What can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LimitName {
    Memory,
    Processes,
    Cpu,
    File,
    OpenFiles,
    Free,
}

/// In what a limit is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Bytes, or a share of what the machine has.
    Share,
    Bytes,
    Count,
    Seconds,
}

/// How much is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// As much as the user may anyway.
    Unlimited,
    Exactly(u64),
    /// So many hundredths of what the machine has.
    Share(u64),
    /// The lesser of both.
    Lesser(u64, u64),
}

/// How much the machine has, where it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capacity {
    /// Bytes of memory.
    pub(crate) memory: Option<u64>,
    /// Bytes of the disk of the workspace.
    pub(crate) disk: Option<u64>,
}

impl LimitName {
    pub(crate) const ALL: [Self; 6] =
        [Self::Memory, Self::Processes, Self::Cpu, Self::File, Self::OpenFiles, Self::Free];

    /// In the settings.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu",
            Self::File => "file",
            Self::OpenFiles => "open_files",
            Self::Free => "free",
        }
    }

    /// On the command line, where both spellings are known.
    fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.key() == name.replace('-', "_"))
    }

    pub(crate) fn of(self, settings: &LimitSettings) -> Option<&Word> {
        match self {
            Self::Memory => settings.memory.as_ref(),
            Self::Processes => settings.processes.as_ref(),
            Self::Cpu => settings.cpu.as_ref(),
            Self::File => settings.file.as_ref(),
            Self::OpenFiles => settings.open_files.as_ref(),
            Self::Free => settings.free.as_ref(),
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::Memory | Self::Free => Unit::Share,
            Self::File => Unit::Bytes,
            Self::Processes | Self::OpenFiles => Unit::Count,
            Self::Cpu => Unit::Seconds,
        }
    }

    /// What can be written, for a message.
    fn example(self) -> &'static str {
        match self.unit() {
            Unit::Share => "write a size, such as 512M or 8G, a share, such as 80%, or none",
            Unit::Bytes => "write a size, such as 512M or 8G, or none",
            Unit::Count => "write a number above 0, or none",
            Unit::Seconds => "write a time, such as 30s or 10m, or none",
        }
    }

    pub(crate) fn parse(self, text: &str) -> Result<Amount> {
        let wrong = || format!("'{text}' is not a limit: {}", self.example());
        let text = text.trim();
        if text == "none" {
            return Ok(Amount::Unlimited);
        }
        let amount = match self.unit() {
            Unit::Share => share(text),
            Unit::Bytes => size(text).map(Amount::Exactly),
            Unit::Count => text.parse().ok().map(Amount::Exactly),
            // The kernel counts whole seconds, and a limit of none would stop everything.
            Unit::Seconds => duration(text).ok().map(|time| Amount::Exactly(time.as_secs().max(1))),
        };
        let amount = amount.with_context(wrong)?;
        ensure!(amount != Amount::Exactly(0) && amount != Amount::Share(0), wrong());
        Ok(amount)
    }

    pub(crate) fn put(self, limits: &mut SandboxLimits, amount: Amount, capacity: Capacity) {
        let whole = if self == Self::Memory { capacity.memory } else { capacity.disk };
        let part = |share: u64| whole.map(|whole| whole / 100 * share);
        let value = match amount {
            Amount::Unlimited => None,
            Amount::Exactly(value) => Some(value),
            Amount::Share(share) => part(share),
            Amount::Lesser(value, share) => Some(part(share).map_or(value, |part| part.min(value))),
        };
        *self.field(limits) = value;
    }

    fn field(self, limits: &mut SandboxLimits) -> &mut Option<u64> {
        match self {
            Self::Memory => &mut limits.memory,
            Self::Processes => &mut limits.processes,
            Self::Cpu => &mut limits.cpu_seconds,
            Self::File => &mut limits.file,
            Self::OpenFiles => &mut limits.open_files,
            Self::Free => &mut limits.free,
        }
    }

    pub(crate) fn get(self, limits: &SandboxLimits) -> Option<u64> {
        *self.field(&mut { *limits })
    }

    /// For a person.
    pub(crate) fn shown(self, value: u64) -> String {
        match self.unit() {
            Unit::Share | Unit::Bytes => shown_size(value),
            Unit::Count => value.to_string(),
            Unit::Seconds => format!("{value}s"),
        }
    }
}

/// `NAME=VALUE` of `--limit`.
pub(crate) fn argument(text: &str) -> Result<(LimitName, Amount)> {
    let names = || LimitName::ALL.map(|limit| limit.key().replace('_', "-"));
    let Some((name, value)) = text.split_once('=') else {
        bail!("write NAME=VALUE, as in memory=512M; there are: {}", names().join(", "));
    };
    let Some(limit) = LimitName::find(name) else {
        let names = names();
        let near = nearest(name, names.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        bail!("there is no limit '{name}'; {near}There are: {}", names.join(", "));
    };
    Ok((limit, limit.parse(value)?))
}

/// A size, a share, or the lesser of both: `1G or 5%`.
fn share(text: &str) -> Option<Amount> {
    if let Some((one, other)) = text.split_once(" or ") {
        return match (share(one.trim())?, share(other.trim())?) {
            (Amount::Exactly(value), Amount::Share(share)) | (Amount::Share(share), Amount::Exactly(value)) => {
                Some(Amount::Lesser(value, share))
            }
            _ => None,
        };
    }
    match text.strip_suffix('%') {
        Some(number) => number.trim().parse().ok().filter(|share| *share <= 100).map(Amount::Share),
        None => size(text).map(Amount::Exactly),
    }
}

const UNITS: [(&str, u64); 4] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

/// Bytes: `8G`, `8GiB`, `1.5G`, `4096`. A K is 1024 of them, as `ulimit` and `dd` have it.
fn size(text: &str) -> Option<u64> {
    let upper = text.to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let unit = UNITS.iter().find(|(letter, _)| upper.ends_with(letter));
    let (number, factor) = match unit {
        Some((letter, factor)) => (upper.trim_end_matches(letter).trim(), *factor),
        None => (upper, 1),
    };
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(factor);
    }
    let (whole, part) = number.split_once('.').filter(|(_, part)| (1..=3).contains(&part.len()))?;
    let digits = u32::try_from(part.len()).ok()?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let part = part.parse::<u64>().ok()?.checked_mul(factor)? / 10u64.pow(digits);
    (factor > 1).then(|| whole.checked_add(part)).flatten()
}

fn shown_size(bytes: u64) -> String {
    let unit = UNITS.iter().rev().find(|(_, factor)| bytes >= *factor);
    match unit {
        Some((letter, factor)) if bytes.is_multiple_of(*factor) => format!("{}{letter}", bytes / factor),
        Some((letter, factor)) => format!("{}.{}{letter}", bytes / factor, bytes % factor * 10 / factor),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_what_a_person_means() {
        use Amount::{Exactly, Lesser, Share, Unlimited};
        for (text, expected) in [
            ("memory=512M", (LimitName::Memory, Exactly(512 << 20))),
            ("memory=8GiB", (LimitName::Memory, Exactly(8 << 30))),
            ("memory=1.5g", (LimitName::Memory, Exactly(3 << 29))),
            ("memory=80%", (LimitName::Memory, Share(80))),
            ("free=1G or 5%", (LimitName::Free, Lesser(1 << 30, 5))),
            ("processes=2000", (LimitName::Processes, Exactly(2000))),
            ("cpu=10m", (LimitName::Cpu, Exactly(600))),
            ("cpu=200ms", (LimitName::Cpu, Exactly(1))),
            ("open-files=4096", (LimitName::OpenFiles, Exactly(4096))),
            ("open_files=none", (LimitName::OpenFiles, Unlimited)),
            ("file=4096", (LimitName::File, Exactly(4096))),
        ] {
            assert_eq!(argument(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_limit_that_cannot_be_is_refused_with_what_can_be() {
        for (text, words) in [
            ("memory", &["NAME=VALUE", "open-files"][..]),
            ("memroy=8G", &["memroy", "did you mean memory?"]),
            ("memory=lots", &["'lots'", "512M"]),
            ("memory=0", &["'0'", "512M"]),
            ("memory=120%", &["'120%'"]),
            ("memory=99999999999G", &["not a limit"]),
            ("memory=-1", &["not a limit"]),
            ("processes=1.5", &["a number above 0"]),
            ("file=10%", &["write a size"]),
            ("cpu=10", &["30s or 10m"]),
        ] {
            let said = format!("{:#}", argument(text).unwrap_err());
            assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        }
    }

    #[test]
    fn a_size_reads_as_it_is_written() {
        for (bytes, shown) in [(512, "512"), (1 << 20, "1M"), (8 << 30, "8G"), (3 << 29, "1.5G"), (1500, "1.4K")] {
            assert_eq!(shown_size(bytes), shown);
        }
    }
}
