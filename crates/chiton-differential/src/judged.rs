//! What the guard says about a text.

use std::sync::Arc;

use chiton_guard::{Context, Decision, Held, Scope, judge};

/// A set of markers: `zza` is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Markers(u32);

impl Markers {
    /// The letter of a marker's name, where `name` is one.
    pub fn letter(name: &str) -> Option<char> {
        let mut letters = name.strip_prefix("zz")?.chars();
        letters.next().filter(|letter| letter.is_ascii_lowercase() && letters.next().is_none())
    }

    /// Adds a marker.
    pub fn add(&mut self, letter: char) {
        self.0 |= Self::bit(letter);
    }

    /// Whether a marker is in it.
    pub fn has(self, letter: char) -> bool {
        self.0 & Self::bit(letter) != 0
    }

    /// Whether no marker is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn bit(letter: char) -> u32 {
        1 << (u32::from(letter).saturating_sub(u32::from('a')) % 26)
    }
}

impl FromIterator<char> for Markers {
    fn from_iter<I: IntoIterator<Item = char>>(letters: I) -> Self {
        let mut markers = Self::default();
        letters.into_iter().for_each(|letter| markers.add(letter));
        markers
    }
}

/// A verdict, as far as it matters here.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The markers among the commands that the guard lists.
    pub listed: Markers,
    /// The rule by which it asks or denies; none where it allows.
    pub stopped: Option<String>,
}

/// A shell in which nothing is set.
#[derive(Debug)]
struct Bare;

impl Scope for Bare {
    fn variable(&self, _: &str) -> Option<Held<'_>> {
        None
    }

    fn function(&self, _: &str) -> Option<std::borrow::Cow<'_, str>> {
        None
    }

    fn alias(&self, _: &str) -> Option<std::borrow::Cow<'_, str>> {
        None
    }
}

/// Asks the guard, for a shell in which nothing is set, as it is in the empty root.
pub fn judged(text: &str) -> Judged {
    let context = Context::new("/d", "nobody", "/d").within(Arc::new(Bare));
    let verdict = judge(text, &context);

    let mut listed = Markers::default();
    let names = verdict.commands.iter().filter_map(|command| command.words.first());
    names.filter_map(|name| Markers::letter(name)).for_each(|letter| listed.add(letter));
    let stopped = (verdict.decision != Decision::Allow).then(|| {
        let uncertain = verdict.reason.strip_prefix("The command cannot be read for certain: ");
        uncertain.map_or_else(|| verdict.rule.unwrap_or_default(), |why| format!("syntax, uncertain: {why}"))
    });
    Judged { listed, stopped }
}
