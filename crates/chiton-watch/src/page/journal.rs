//! The journal: searched, and counted over time.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use chiton_engine::audit::read::newest;
use chiton_engine::audit::{AuditEvent, AuditLine};
use chiton_engine::clock::now_ms;
use serde::Serialize;

use crate::shown::{cut, harmless};

/// Lines of one answer.
const MOST_LINES: usize = 200;
/// Lines that one search goes through at most.
const MOST_SEARCHED: usize = 200_000;
/// Characters of a text that are shown.
const TEXT: usize = 2_000;
/// Bars of a chart.
const BARS: usize = 48;

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Words that all have to be there, in any letters.
    pub(super) words: Vec<String>,
    /// Only lines before this one.
    pub(super) before: Option<u64>,
    /// Only what went wrong.
    pub(super) failures: bool,
}

#[derive(Serialize)]
pub(super) struct Found {
    lines: Vec<FoundLine>,
    /// The line to go on from, where there may be more.
    next: Option<u64>,
}

/// A line, safe to show.
#[derive(Serialize)]
struct FoundLine {
    number: u64,
    at_ms: u64,
    event: AuditEvent,
    who: String,
    session: Option<String>,
    run: Option<String>,
    /// What it is about: a command, or a text for one.
    what: Option<String>,
    directory: Option<String>,
    verdict: Option<String>,
    rule: Option<String>,
    outcome: Option<String>,
    exit_code: Option<i32>,
    output_bytes: Option<u64>,
    duration_ms: Option<u64>,
}

impl FoundLine {
    fn of(line: &AuditLine) -> Self {
        let entry = &line.entry;
        let shown = |text: &Option<String>| text.as_ref().map(|text| cut(&harmless(text.trim()), TEXT));
        Self {
            number: line.number,
            at_ms: line.at_ms,
            event: entry.event,
            who: cut(&harmless(&entry.who), TEXT),
            session: shown(&entry.session),
            run: shown(&entry.run),
            what: shown(&entry.command).or_else(|| shown(&entry.text)),
            directory: shown(&entry.directory),
            verdict: shown(&entry.verdict),
            rule: shown(&entry.rule),
            outcome: shown(&entry.outcome),
            exit_code: entry.exit_code,
            output_bytes: entry.output_bytes,
            duration_ms: entry.duration_ms,
        }
    }
}

impl Search {
    fn fits(&self, line: &AuditLine) -> bool {
        let entry = &line.entry;
        if entry.event == AuditEvent::Reply || self.before.is_some_and(|before| line.number >= before) {
            return false;
        }
        if self.failures && !is_failure(line) {
            return false;
        }
        let texts = [
            Some(&entry.who),
            entry.session.as_ref(),
            entry.run.as_ref(),
            entry.command.as_ref(),
            entry.text.as_ref(),
            entry.directory.as_ref(),
            entry.verdict.as_ref(),
            entry.rule.as_ref(),
            entry.outcome.as_ref(),
        ];
        let has = |word: &String| texts.iter().flatten().any(|text| text.to_lowercase().contains(word.as_str()));
        self.words.iter().all(has)
    }
}

fn is_failure(line: &AuditLine) -> bool {
    let entry = &line.entry;
    match entry.event {
        AuditEvent::Refused | AuditEvent::Failed => true,
        AuditEvent::End => {
            entry.exit_code != Some(0) && !matches!(entry.outcome.as_deref(), Some("running" | "described"))
        }
        AuditEvent::Input => entry.outcome.as_deref() == Some("refused"),
        AuditEvent::Run | AuditEvent::Task | AuditEvent::Reply => false,
    }
}

/// The newest lines that fit.
pub(super) fn search(state_directory: &Path, wanted: &Search) -> io::Result<Found> {
    let (mut lines, mut searched, mut next) = (Vec::new(), 0, None);
    newest(&state_directory.join("audit"), |_, line| {
        searched += 1;
        if wanted.fits(line) {
            lines.push(FoundLine::of(line));
        }
        if lines.len() == MOST_LINES || searched == MOST_SEARCHED {
            next = Some(line.number).filter(|number| *number > 1);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(Found { lines, next })
}

/// What happened over some hours, in equal spans of time.
#[derive(Serialize)]
pub(super) struct Counts {
    from_ms: u64,
    span_ms: u64,
    /// Whether older lines of that time were not counted.
    is_cut: bool,
    bars: Vec<Bar>,
    /// The programs that ran most often, and how often.
    programs: Vec<(String, u64)>,
}

#[derive(Clone, Default, Serialize)]
struct Bar {
    /// Commands that ended well, and those that did not.
    well: u64,
    badly: u64,
    /// Verdicts on commands: allowed, allowed since the sandbox holds them, refused.
    allowed: u64,
    held: u64,
    refused: u64,
    /// Bytes that were printed.
    output: u64,
    /// How long commands took, in milliseconds: half of them at most this long, and nineteen of twenty.
    half_ms: Option<u64>,
    most_ms: Option<u64>,
    #[serde(skip)]
    durations: Vec<u64>,
}

impl Bar {
    fn add(&mut self, line: &AuditLine) {
        let entry = &line.entry;
        match entry.event {
            AuditEvent::Run => match entry.verdict.as_deref() {
                Some(verdict) if verdict.starts_with("allowed: ") => self.held += 1,
                _ => self.allowed += 1,
            },
            AuditEvent::Refused => self.refused += 1,
            AuditEvent::End if !matches!(entry.outcome.as_deref(), Some("running" | "described")) => {
                if is_failure(line) {
                    self.badly += 1;
                } else {
                    self.well += 1;
                }
                self.output += entry.output_bytes.unwrap_or(0);
                self.durations.extend(entry.duration_ms);
            }
            _ => {}
        }
    }

    fn finish(&mut self) {
        self.durations.sort_unstable();
        let at = |place: usize| self.durations.get(place).copied();
        let count = self.durations.len();
        (self.half_ms, self.most_ms) = (at(count / 2), at((count * 19 / 20).min(count.saturating_sub(1))));
    }
}

pub(super) fn count(state_directory: &Path, hours: u64) -> io::Result<Counts> {
    let now = now_ms();
    let span_ms = hours.clamp(1, 24 * 90) * 3_600_000 / BARS as u64;
    let from_ms = now - now % span_ms + span_ms - span_ms * BARS as u64;
    let (mut bars, mut programs) = (vec![Bar::default(); BARS], HashMap::new());
    let (mut counted, mut is_cut) = (0, false);
    newest(&state_directory.join("audit"), |_, line| {
        counted += 1;
        is_cut = counted > MOST_SEARCHED;
        if line.at_ms < from_ms || is_cut {
            return ControlFlow::Break(());
        }
        let place = usize::try_from((line.at_ms - from_ms) / span_ms).unwrap_or(usize::MAX);
        if let Some(bar) = bars.get_mut(place) {
            bar.add(line);
        }
        if line.entry.event == AuditEvent::Run {
            *programs.entry(program(line.entry.command.as_deref().unwrap_or_default())).or_insert(0) += 1;
        }
        ControlFlow::Continue(())
    })?;
    bars.iter_mut().for_each(Bar::finish);
    let mut programs: Vec<(String, u64)> = programs.into_iter().filter(|(name, _)| !name.is_empty()).collect();
    programs.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    programs.truncate(12);
    Ok(Counts { from_ms, span_ms, is_cut, bars, programs })
}

/// The first word of a command that names a program, for a list of the most frequent ones.
fn program(command: &str) -> String {
    let is_setting = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '"', '\'']));
    let word = command.split_ascii_whitespace().find(|word| !is_setting(word)).unwrap_or_default();
    let name = word.rsplit('/').next().unwrap_or_default().trim_matches(|letter| "()'\"{;&|".contains(letter));
    cut(&harmless(name), 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_command_is_its_first_word() {
        let cases =
            [("cargo test", "cargo"), ("RUST_LOG=debug /usr/bin/env x", "env"), ("(cd x; make)", "cd"), ("  ", "")];
        for (command, expected) in cases {
            assert_eq!(program(command), expected, "{command}");
        }
    }

    #[test]
    fn half_and_most_of_the_durations_are_found() {
        let mut bar = Bar { durations: (1..=100).rev().collect(), ..Bar::default() };
        bar.finish();
        assert_eq!((bar.half_ms, bar.most_ms), (Some(51), Some(96)));
        let mut empty = Bar::default();
        empty.finish();
        assert_eq!((empty.half_ms, empty.most_ms), (None, None));
    }
}
