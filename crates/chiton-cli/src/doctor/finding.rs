//! What `chiton doctor` has to say about one thing.

use serde_json::json;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Health {
    /// It works.
    Ok,
    /// It works, and there is something to know.
    Note,
    /// It does not work.
    Problem,
}

impl Health {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was checked.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) area: &'static str,
    pub(super) health: Health,
    /// What was found.
    pub(super) what: String,
    /// Why that matters.
    pub(super) why: Option<String>,
    /// What to do about it.
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(area: &'static str, what: impl Into<String>) -> Self {
        Self { area, health: Health::Ok, what: what.into(), why: None, remedy: None }
    }

    pub(super) fn note(area: &'static str, what: impl Into<String>) -> Self {
        Self { health: Health::Note, ..Self::ok(area, what) }
    }

    pub(super) fn problem(area: &'static str, what: impl Into<String>) -> Self {
        Self { health: Health::Problem, ..Self::ok(area, what) }
    }

    pub(super) fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    pub(super) fn as_json(&self) -> serde_json::Value {
        json!({
            "area": self.area,
            "status": self.health.word(),
            "what": self.what,
            "why": self.why,
            "remedy": self.remedy,
        })
    }
}
