//! What was measured, as rows: a table for people, JSON for machines.

use serde_json::{Value, json};

use crate::measure::Samples;

/// One thing that was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// What it is.
    what: String,
    /// What was measured.
    ours: String,
    /// What stands beside it, measured in the same run.
    beside: String,
    /// What the goal is about, where there is one.
    value: String,
    goal: Option<Goal>,
    details: Value,
}

/// A number that should not be larger than another.
#[derive(Clone, Debug)]
struct Goal {
    says: String,
    value: f64,
    limit: f64,
}

impl Goal {
    fn is_met(&self) -> bool {
        self.value <= self.limit
    }
}

/// What a goal compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Our median with the median beside it.
    Middle,
    /// What 99 of 100 calls stay below, with the median beside it.
    Late,
}

impl Row {
    /// A row with words only.
    pub(crate) fn plain(what: impl Into<String>, ours: impl Into<String>) -> Self {
        Self { what: what.into(), ours: ours.into(), ..Self::default() }
    }

    /// Times and those beside them, with their ratio.
    pub(crate) fn times(what: impl Into<String>, ours: &Samples, beside: &Samples, which: Which) -> Self {
        let ratio = ratio(ours, beside, which);
        Self {
            what: what.into(),
            ours: show(ours),
            beside: show(beside),
            value: format!("{ratio:.2}"),
            goal: None,
            details: json!({"ours": ours.to_json(), "beside": beside.to_json(), "ratio": ratio}),
        }
    }

    /// The same with a goal for the ratio, said as `≤ limit`.
    pub(crate) fn times_within(
        what: impl Into<String>,
        ours: &Samples,
        beside: &Samples,
        (which, limit): (Which, f64),
    ) -> Self {
        let row = Self::times(what, ours, beside, which);
        row.within(format!("≤ {limit:.2}"), ratio(ours, beside, which), limit)
    }

    /// What stands beside it.
    pub(crate) fn beside(mut self, text: impl Into<String>) -> Self {
        self.beside = text.into();
        self
    }

    /// The number that counts, as text.
    pub(crate) fn value(mut self, text: impl Into<String>) -> Self {
        self.value = text.into();
        self
    }

    /// What machines get to know besides.
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// A goal: `value` should not be above `limit`.
    pub(crate) fn within(mut self, says: impl Into<String>, value: f64, limit: f64) -> Self {
        self.goal = Some(Goal { says: says.into(), value, limit });
        self
    }

    fn verdict(&self) -> &'static str {
        match &self.goal {
            None => "",
            Some(goal) if goal.is_met() => "met",
            Some(_) => "**missed**",
        }
    }

    fn to_line(&self) -> String {
        let goal = self.goal.as_ref().map_or("", |goal| &goal.says);
        // A bar inside a cell would end it.
        let cells = [&self.what, &self.ours, &self.beside, &self.value, goal, self.verdict()];
        format!("| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
    }

    fn to_json(&self) -> Value {
        let goal = self
            .goal
            .as_ref()
            .map(|goal| json!({"says": goal.says, "value": goal.value, "limit": goal.limit, "met": goal.is_met()}));
        json!({
            "what": self.what, "measured": self.ours, "beside": self.beside, "value": self.value, "goal": goal,
            "details": self.details,
        })
    }
}

fn ratio(ours: &Samples, beside: &Samples, which: Which) -> f64 {
    let time = match which {
        Which::Middle => ours.middle(),
        Which::Late => ours.percentile(99.0),
    };
    time / beside.middle()
}

/// Median and 99 of 100 in milliseconds, and within which bounds the medians of the rounds lie.
fn show(samples: &Samples) -> String {
    let (low, high) = samples.spread();
    let (middle, late) = (samples.middle(), samples.percentile(99.0));
    format!("{} / {} ms ({}..{})", millis(middle), millis(late), millis(low), millis(high))
}

/// Seconds as milliseconds with three figures or so.
pub(crate) fn millis(seconds: f64) -> String {
    let millis = seconds * 1e3;
    match millis {
        ..1.0 => format!("{millis:.3}"),
        1.0..100.0 => format!("{millis:.2}"),
        _ => format!("{millis:.0}"),
    }
}

/// Bytes for people.
pub(crate) fn mebibytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes, shown with one digit")]
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    format!("{mebibytes:.1} MiB")
}

/// Rows under a heading.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// What they are about.
    pub(crate) title: String,
    /// The rows.
    pub(crate) rows: Vec<Row>,
}

/// All sections as Markdown.
pub(crate) fn markdown(sections: &[Section]) -> String {
    let mut text = String::new();
    for Section { title, rows } in sections {
        text.push_str(&format!("\n### {title}\n\n"));
        text.push_str(
            "| what | p50 / p99 (p50 of each round) | beside it | ratio | goal | |\n|---|---|---|---|---|---|\n",
        );
        for row in rows {
            text.push_str(&row.to_line());
            text.push('\n');
        }
    }
    text
}

/// All sections as JSON.
pub(crate) fn json(sections: &[Section]) -> Value {
    let section = |section: &Section| {
        let rows: Vec<Value> = section.rows.iter().map(Row::to_json).collect();
        json!({"title": section.title, "rows": rows})
    };
    sections.iter().map(section).collect()
}

/// How many goals there are, and how many of them are met.
pub(crate) fn goals(sections: &[Section]) -> (usize, usize) {
    let goals = || sections.iter().flat_map(|section| &section.rows).filter_map(|row| row.goal.as_ref());
    (goals().count(), goals().filter(|goal| goal.is_met()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: &[f64]) -> Samples {
        let mut samples = Samples::default();
        for time in times {
            samples.push(*time);
        }
        samples
    }

    #[test]
    fn a_goal_is_met_or_missed() {
        let (ours, beside) = (samples(&[0.001, 0.001, 0.004]), samples(&[0.002]));
        let row = Row::times_within("quick", &ours, &beside, (Which::Middle, 0.5));
        assert!(row.to_line().ends_with("| 0.50 | ≤ 0.50 | met |"), "{}", row.to_line());
        let row = Row::times_within("late", &ours, &beside, (Which::Late, 1.0));
        assert!(row.to_line().ends_with("| 2.00 | ≤ 1.00 | **missed** |"), "{}", row.to_line());
        let sections = [Section { title: "all".into(), rows: vec![row, Row::plain("a", "b")] }];
        assert_eq!(goals(&sections), (1, 0));
        assert_eq!(json(&sections)[0]["rows"][0]["goal"]["met"], false);
    }

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let line = Row::plain("`ls | wc -l`", "").to_line();
        assert!(line.starts_with("| `ls \\| wc -l` |"), "{line}");
    }

    #[test]
    fn times_have_a_few_figures() {
        let shown = [0.000_123_4, 0.012_34, 1.234].map(millis);
        assert_eq!(shown, ["0.123", "12.34", "1234"]);
    }
}
