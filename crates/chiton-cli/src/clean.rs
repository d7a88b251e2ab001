//! `chiton clean`: removes what finished commands left on disk.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use chiton_engine::changes::{ChangeLogs, CleanLogs};
use chiton_engine::checkpoints::Checkpoints;
use chiton_engine::limits::RetentionLimits;
use chiton_engine::tasks::{CleanEffect, CleanUp, Swept, UnreadRuns};
use chiton_engine::{Engine, EngineConfig};
use clap::Args;
use serde_json::json;

use crate::audit::{self, JournalNeed};
use crate::duration::duration;
use crate::messages::say;
use crate::settings::Settings;

/// Remove the output and records of commands that have ended
#[derive(Args)]
#[command(after_help = "\
Commands that run are never removed. Those with output that nobody has read, tasks that were not read to their end and
commands whose reply was cut, are removed only with --all, or if they are older than --older-than says.

What commands changed in files stays, so that it can be undone; with --all, --older-than or --keep it goes by the same
rule. Checkpoints of `chiton session` go with --all and --older-than.

Examples:
  chiton clean --dry-run                what would go
  chiton clean --older-than 2h          all of what is older, also what could be undone
  chiton clean --all                    everything that does not run")]
pub(crate) struct CleanArguments {
    /// Only those that ended longer ago than this
    #[arg(long, value_name = "TIME", value_parser = duration)]
    older_than: Option<Duration>,
    /// Only as many as it takes until no more than this many are left
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// Also those with output that nobody has read
    #[arg(long)]
    all: bool,
    /// Remove nothing, only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn clean(arguments: &CleanArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let mut config = EngineConfig::new(state)?;
    config.audit = (!settings.audit.off).then(|| audit::journal(state, "clean", JournalNeed::Wanted));
    let engine = Engine::new(config)?;
    let finished = match (arguments.keep, arguments.older_than) {
        (Some(keep), _) => keep,
        (None, Some(_)) => usize::MAX,
        (None, None) => 0,
    };
    let wanted = CleanUp {
        retention: RetentionLimits { age: arguments.older_than.unwrap_or(Duration::MAX), finished },
        in_all: u64::MAX,
        unread: if arguments.all { UnreadRuns::LikeOthers } else { UnreadRuns::Kept },
        effect: if arguments.dry_run { CleanEffect::Counts } else { CleanEffect::Removes },
    };

    let swept = engine.clean(&wanted);
    if !arguments.json {
        say!("{}", summary(&swept, &wanted));
    }
    let undo = clean_undo(arguments, wanted.effect, state);
    if arguments.json {
        let removed = json!({"shown": swept.shown, "read": swept.read, "unread": swept.unread});
        say!(
            "{}",
            json!({
                "dry_run": arguments.dry_run,
                "removed": removed,
                "unread_left": swept.unread_left,
                "bytes_left": swept.used,
                "undo": {"removed": undo.removed, "bytes": undo.bytes, "left": undo.left},
                "checkpoints_removed": undo.checkpoints,
            })
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// What could be undone goes only where somebody says how much of it.
fn clean_undo(arguments: &CleanArguments, effect: CleanEffect, state: &Path) -> CleanedUndo {
    let in_words = !arguments.json;
    let is_meant = arguments.all || arguments.older_than.is_some() || arguments.keep.is_some();
    let newest = match (arguments.keep, arguments.all && arguments.older_than.is_none()) {
        (Some(keep), _) => keep,
        (None, true) => 0,
        (None, false) => usize::MAX,
    };
    let age = arguments.older_than.unwrap_or(Duration::MAX);
    let logs = ChangeLogs::new(state);
    if !is_meant {
        let left = logs.clean(CleanLogs { age: Duration::MAX, newest: usize::MAX, effect: CleanEffect::Counts }).left;
        if left > 0 && in_words {
            say!("what {left} commands changed can still be undone; `chiton clean --all` removes that as well");
        }
        return CleanedUndo { left, ..CleanedUndo::default() };
    }
    let swept = logs.clean(CleanLogs { age, newest, effect });
    let mut cleaned = CleanedUndo { removed: swept.removed, bytes: swept.bytes, left: swept.left, checkpoints: 0 };
    if swept.removed > 0 && in_words {
        let (removed, bytes) = (swept.removed, swept.bytes);
        let cannot = if effect == CleanEffect::Counts { "could no longer" } else { "can no longer" };
        say!("what {removed} commands changed {cannot} be undone, {bytes} bytes; {} left", swept.left);
    }
    let checkpoints = Checkpoints::new(state);
    let age = match (arguments.older_than, arguments.all) {
        (Some(age), _) => age,
        (None, true) => Duration::ZERO,
        (None, false) => return cleaned,
    };
    if effect == CleanEffect::Removes {
        cleaned.checkpoints = checkpoints.sweep(age);
        if cleaned.checkpoints > 0 && in_words {
            say!("{} checkpoints removed", cleaned.checkpoints);
        }
    }
    cleaned
}

/// What went of what could be undone.
#[derive(Default)]
struct CleanedUndo {
    removed: usize,
    bytes: u64,
    left: usize,
    checkpoints: usize,
}

/// What was removed, of which kind, and what is left for somebody to read.
fn summary(swept: &Swept, wanted: &CleanUp) -> String {
    let removed = if wanted.effect == CleanEffect::Counts { "would be removed" } else { "removed" };
    let kinds = [
        (swept.shown, "shown whole in the reply"),
        (swept.read, "read later"),
        (swept.unread, "with output that nobody has read"),
    ];
    let kinds: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let mut text = format!("{} {removed}{kinds}, {} bytes left", swept.removed(), swept.used);
    if swept.unread_left > 0 && wanted.unread == UnreadRuns::Kept {
        let count = swept.unread_left;
        text += &format!("\n{count} kept with output that nobody has read; `chiton clean --all` removes them as well");
    }
    text
}
