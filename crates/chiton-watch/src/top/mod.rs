//! `chiton top`: the overview in a terminal.
//!
//! 1. [`Top`] is what is on the screen, as a value: which row is chosen, what is filtered, what is looked into.
//! 2. A key changes it, and may ask for something to be done ([`Deed`]). Whoever runs the loop does it, and reports back.
//! 3. [`Top::draw`] draws it, at any size, on a [`Canvas`]: all cells of a screen. The [`Terminal`] writes those that changed.

mod canvas;
mod draw;
mod keys;
mod terminal;
mod words;

use std::collections::HashSet;

use chiton_engine::consent::Answer;

use crate::approvals::Waiting;
use crate::near::Near;
use crate::overview::{Overview, SeenRun};

pub use canvas::{Canvas, Cell};
pub use keys::Key;
pub use terminal::Terminal;

/// What somebody wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Leave.
    Quit,
    /// End a run with everything it started.
    Kill(String),
    /// Let the call return that waits for a run.
    Release(String),
    /// Take over the terminal of a run.
    Attach(String),
    /// Answer a question.
    Answer(String, Answer),
}

/// What is on the screen.
#[derive(Debug, Default)]
pub struct Top {
    rows: Vec<Row>,
    /// By what the chosen row is known, also while others come and go above it.
    chosen: Option<String>,
    filter: String,
    view: View,
    near: Option<Near>,
    /// What was done last, or why it was not.
    said: Option<String>,
    directory: String,
    /// Whether there may be colours.
    plain: bool,
    now_ms: u64,
}

/// A row of the list.
#[derive(Clone, Debug)]
enum Row {
    Asks(Box<Waiting>),
    Run(Box<SeenRun>),
}

impl Row {
    fn id(&self) -> &str {
        match self {
            Self::Asks(waiting) => &waiting.id,
            Self::Run(run) => &run.id,
        }
    }

    fn matches(&self, filter: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(filter);
        match self {
            Self::Asks(waiting) => [&waiting.id, &waiting.command].into_iter().any(|text| has(text)),
            Self::Run(run) => {
                let maybe = |text: &Option<String>| text.as_deref().is_some_and(has);
                has(&run.id)
                    || has(&run.command)
                    || has(&run.last_line)
                    || has(&run.directory.to_string_lossy())
                    || has(words::status(run).as_str())
                    || maybe(&run.session)
                    || maybe(&run.owner)
                    || maybe(&run.description)
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum View {
    #[default]
    List,
    /// The filter is being typed.
    Filter,
    /// A run from near; `back` is how many lines from the end.
    Near {
        id: String,
        back: usize,
    },
    /// A question, whole.
    Question {
        id: String,
        down: u16,
    },
    /// Whether that is meant.
    Sure {
        deed: Deed,
        question: String,
    },
    Help,
}

impl Top {
    /// Nothing yet. `plain` where there are to be no colours.
    pub fn new(plain: bool) -> Self {
        Self { plain, ..Self::default() }
    }

    /// Takes in what there is now.
    pub fn update(&mut self, overview: &Overview, now_ms: u64) {
        self.take(overview.approvals(), overview.runs(), now_ms);
        self.directory = overview.directory().to_string_lossy().into_owned();
    }

    fn take<'a>(&mut self, asks: &[Waiting], runs: impl Iterator<Item = &'a SeenRun>, now_ms: u64) {
        let place = self.place();
        let asks = asks.iter().map(|waiting| Row::Asks(Box::new(waiting.clone())));
        self.rows = asks.chain(runs.map(|run| Row::Run(Box::new(run.clone())))).collect();
        self.now_ms = now_ms;
        // Where the chosen one is gone, the one in its place is chosen.
        let shown: Vec<String> = self.shown().map(|row| row.id().to_owned()).collect();
        if !self.chosen.as_ref().is_some_and(|id| shown.contains(id)) {
            self.chosen = shown.get(place.min(shown.len().saturating_sub(1))).cloned();
        }
        let ids: HashSet<&str> = self.rows.iter().map(Row::id).collect();
        let is_gone = match &self.view {
            View::Near { id, .. } | View::Question { id, .. } => !ids.contains(id.as_str()),
            _ => false,
        };
        if is_gone {
            self.said = Some("that is not there any more".to_owned());
            (self.view, self.near) = (View::List, None);
        }
    }

    /// The run that is looked into, whose output or screen is wanted.
    pub fn wanted(&self) -> Option<&SeenRun> {
        let View::Near { id, .. } = &self.view else { return None };
        self.run(id)
    }

    /// Takes in what it looks like.
    pub fn show(&mut self, near: Near) {
        self.near = Some(near);
    }

    /// Takes in what was done, or why it was not.
    pub fn say(&mut self, what: impl Into<String>) {
        self.said = Some(what.into());
    }

    fn shown(&self) -> impl Iterator<Item = &Row> {
        let filter = self.filter.to_lowercase();
        self.rows.iter().filter(move |row| filter.is_empty() || row.matches(&filter))
    }

    fn run(&self, id: &str) -> Option<&SeenRun> {
        self.rows.iter().find_map(|row| match row {
            Row::Run(run) if run.id == id => Some(&**run),
            _ => None,
        })
    }

    fn row(&self) -> Option<&Row> {
        let chosen = self.chosen.as_deref()?;
        self.shown().find(|row| row.id() == chosen)
    }

    /// Which of the shown rows is chosen.
    fn place(&self) -> usize {
        self.shown().position(|row| Some(row.id()) == self.chosen.as_deref()).unwrap_or(0)
    }

    fn choose(&mut self, place: usize) {
        let last = self.shown().count().saturating_sub(1);
        let chosen = self.shown().nth(place.min(last)).map(|row| row.id().to_owned());
        self.chosen = chosen;
    }

    /// What a key does.
    pub fn press(&mut self, key: Key) -> Option<Deed> {
        self.said = None;
        if key == Key::Interrupt {
            return Some(Deed::Quit);
        }
        match self.view.clone() {
            View::Filter => self.type_filter(key),
            View::List => return self.press_in_list(key),
            View::Near { id, back } => return self.press_near(&id, back, key),
            View::Question { id, down } => return self.press_at_question(id, down, key),
            View::Sure { deed, .. } => {
                self.view = View::List;
                if matches!(key, Key::Character('y' | 'Y')) {
                    return Some(deed);
                }
                self.said = Some("nothing was done".to_owned());
            }
            View::Help => self.view = View::List,
        }
        None
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Character(character) => self.filter.push(character),
            Key::Backspace => drop(self.filter.pop()),
            Key::Escape => {
                self.filter.clear();
                self.view = View::List;
            }
            Key::Enter | Key::Up | Key::Down => self.view = View::List,
            _ => {}
        }
        self.choose(0);
    }

    fn press_in_list(&mut self, key: Key) -> Option<Deed> {
        let place = self.place();
        match key {
            Key::Character('q') => return Some(Deed::Quit),
            Key::Escape if self.filter.is_empty() => return Some(Deed::Quit),
            Key::Escape => self.filter.clear(),
            Key::Character('?' | 'h') => self.view = View::Help,
            Key::Character('/') => self.view = View::Filter,
            Key::Up | Key::Character('k') => self.choose(place.saturating_sub(1)),
            Key::Down | Key::Character('j') => self.choose(place + 1),
            Key::PageUp => self.choose(place.saturating_sub(10)),
            Key::PageDown => self.choose(place + 10),
            Key::Home | Key::Character('g') => self.choose(0),
            Key::End | Key::Character('G') => self.choose(usize::MAX),
            Key::Enter | Key::Right | Key::Character('l') => self.look(),
            Key::Character(letter) => return self.act(letter),
            _ => {}
        }
        None
    }

    /// Looks into the chosen row.
    fn look(&mut self) {
        self.near = None;
        match self.row().cloned() {
            Some(Row::Asks(waiting)) => self.view = View::Question { id: waiting.id, down: 0 },
            Some(Row::Run(run)) => self.view = View::Near { id: run.id, back: 0 },
            None => {}
        }
    }

    fn press_near(&mut self, id: &str, back: usize, key: Key) -> Option<Deed> {
        let moved = |back: usize| View::Near { id: id.to_owned(), back };
        let lines = if let Some(Near::Output(lines)) = &self.near { lines.len() } else { 0 };
        match key {
            Key::Escape | Key::Left | Key::Character('q') => self.view = View::List,
            Key::Up | Key::Character('k') => self.view = moved((back + 1).min(lines)),
            Key::Down | Key::Character('j') => self.view = moved(back.saturating_sub(1)),
            Key::PageUp => self.view = moved((back + 20).min(lines)),
            Key::PageDown => self.view = moved(back.saturating_sub(20)),
            Key::Home | Key::Character('g') => self.view = moved(lines),
            Key::End | Key::Character('G') => self.view = moved(0),
            Key::Character(letter) => return self.act(letter),
            _ => {}
        }
        None
    }

    fn press_at_question(&mut self, id: String, down: u16, key: Key) -> Option<Deed> {
        let answer = match key {
            Key::Character('y') => Some(Answer::Once),
            Key::Character('s') => Some(Answer::Session),
            Key::Character('n') => Some(Answer::No),
            _ => None,
        };
        if let Some(answer) = answer {
            self.view = View::List;
            return Some(Deed::Answer(id, answer));
        }
        match key {
            Key::Escape | Key::Left | Key::Character('q') => self.view = View::List,
            Key::Down | Key::Character('j') => self.view = View::Question { id, down: down.saturating_add(1) },
            Key::Up | Key::Character('k') => self.view = View::Question { id, down: down.saturating_sub(1) },
            Key::PageDown => self.view = View::Question { id, down: down.saturating_add(10) },
            Key::PageUp => self.view = View::Question { id, down: down.saturating_sub(10) },
            _ => {}
        }
        None
    }

    /// What a letter asks for, of the run that is chosen or looked into.
    fn act(&mut self, letter: char) -> Option<Deed> {
        let run = match &self.view {
            View::Near { id, .. } => self.run(id).cloned(),
            _ => match self.row() {
                Some(Row::Run(run)) => Some((**run).clone()),
                Some(Row::Asks(_)) => {
                    if matches!(letter, 'y' | 's' | 'n') {
                        // Nobody agrees to what they have not seen whole.
                        self.look();
                    }
                    None
                }
                None => None,
            },
        }?;
        if !matches!(letter, 'K' | 'x' | 'r' | 'a') {
            return None;
        }
        if !run.is_running() {
            self.said = Some(format!("{} has ended", run.id));
            return None;
        }
        match letter {
            'K' | 'x' => {
                let question = format!("End {} with everything it started? ({})", run.id, words::line(&run.command));
                self.view = View::Sure { deed: Deed::Kill(run.id), question };
                None
            }
            'r' if run.background => {
                self.said = Some(format!("no call waits for {}: it is in the background", run.id));
                None
            }
            'r' => Some(Deed::Release(run.id)),
            _ if run.terminal => Some(Deed::Attach(run.id)),
            _ => {
                self.said = Some(format!("{} has no terminal; `chiton send` writes to its input", run.id));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
