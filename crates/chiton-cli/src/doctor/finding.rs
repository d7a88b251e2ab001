//! What `chiton doctor` has to say about one thing.

use std::borrow::Cow;

use serde_json::{Value, json};

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Health {
    /// It works.
    Ok,
    /// It works, and there is something to know.
    Note,
    /// It does not work.
    Problem,
}

impl Health {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was checked.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) area: Cow<'static, str>,
    pub(crate) health: Health,
    /// What was found.
    pub(crate) what: String,
    /// Why that matters.
    pub(crate) why: Option<String>,
    /// What to do about it.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    pub(crate) fn ok(area: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Self { area: area.into(), health: Health::Ok, what: what.into(), why: None, remedy: None }
    }

    pub(crate) fn note(area: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Self { health: Health::Note, ..Self::ok(area, what) }
    }

    pub(crate) fn problem(area: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Self { health: Health::Problem, ..Self::ok(area, what) }
    }

    pub(crate) fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// One that another chiton has made, in the words of [`Self::as_json`].
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let health = [Health::Ok, Health::Note, Health::Problem];
        let health = health.into_iter().find(|health| value["status"] == health.word())?;
        let (area, what) = (text("area")?.into(), text("what")?);
        Some(Self { area, health, what, why: text("why"), remedy: text("remedy") })
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({
            "area": self.area,
            "status": self.health.word(),
            "what": self.what,
            "why": self.why,
            "remedy": self.remedy,
        })
    }
}
