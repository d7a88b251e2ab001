//! Draws the screen, at any size: what matters least goes first where there is no room.

use chiton_engine::TaskStatus;
use chiton_engine::terminal::snapshot::{Colour, Snapshot, Style};

use super::canvas::{Area, Canvas, Part, width, wrap};
use super::words::{line, size, span, status};
use super::{Row, Top, View};
use crate::approvals::Waiting;
use crate::near::Near;
use crate::overview::SeenRun;
use crate::shown::harmless;

/// Below this width only what cannot be left out is shown.
const NARROW: u16 = 64;
/// From this width on there is room for the last line beside the command.
const WIDE: u16 = 120;

/// The first column speaks for itself.
const STATUS: &str = "";

/// What a column shows, how wide it is and from which width of the screen on.
const COLUMNS: [(&str, u16, u16); 6] =
    [("ID", 8, NARROW), ("CPU", 4, 72), ("MEM", 5, 72), ("RATE", 7, 96), ("PORTS", 15, 104), ("OWNER", 12, WIDE)];

const RED: Colour = Colour::Indexed(1);
const GREEN: Colour = Colour::Indexed(2);
const YELLOW: Colour = Colour::Indexed(3);
const CYAN: Colour = Colour::Indexed(6);

const HELP: &[(&str, &str)] = &[
    ("↑ ↓  j k", "choose"),
    ("⏎  →  l", "look in: the output, or the screen of a terminal"),
    ("esc  ←", "back; in the list, leave"),
    ("/", "filter by any word: command, id, owner, directory, status"),
    ("a", "attach: your keys go to its terminal, ctrl-\\ d comes back"),
    ("r", "release: the call that waits for it returns, it goes on"),
    ("K", "end it with everything it started"),
    ("y s n", "at a question: yes this once, for the session, no"),
    ("q", "leave; nothing here ends because of that"),
];

impl Top {
    /// Draws everything.
    pub fn draw(&self, canvas: &mut Canvas) {
        // Where there is no room, the head goes first; at the foot a question may stand.
        let whole = canvas.area();
        let (head, rest) = whole.split(u16::from(whole.height >= 3));
        let (body, foot) = rest.split(rest.height.saturating_sub(u16::from(rest.height >= 2)));
        canvas.put_lines(head, &[self.head(canvas.size().0)]);
        match &self.view {
            View::Near { id, back } => self.draw_near(canvas, body, id, *back),
            View::Question { id, down } => self.draw_question(canvas, body, id, *down),
            View::Help => draw_help(canvas, body),
            View::List | View::Filter | View::Sure { .. } => self.draw_list(canvas, body),
        }
        canvas.put_lines(foot, &[self.foot(canvas.size().0)]);
        if self.view == View::Filter && foot.height > 0 {
            let typed = u16::try_from(width(&self.filter)).unwrap_or(u16::MAX);
            canvas.cursor = Some((typed.saturating_add(1).min(canvas.size().0.saturating_sub(1)), foot.top));
        }
    }

    fn colour(&self, colour: Colour) -> Style {
        if self.plain { Style::default() } else { Style { foreground: colour, ..Style::default() } }
    }

    fn bold(&self, colour: Colour) -> Style {
        Style { bold: true, ..self.colour(colour) }
    }

    fn dim(&self) -> Style {
        Style { dim: !self.plain, ..Style::default() }
    }

    fn head(&self, room: u16) -> Vec<Part> {
        let needs = self.rows.iter().filter(|row| needs_person(row)).count();
        let running = self.rows.iter().filter(|row| matches!(row, Row::Run(run) if run.is_running())).count();
        let ended = self.rows.iter().filter(|row| matches!(row, Row::Run(run) if !run.is_running())).count();
        let mut parts = vec![("chiton".to_owned(), self.bold(Colour::Usual)), raw("  ")];
        if needs > 0 {
            let words = if needs == 1 { "1 needs you".to_owned() } else { format!("{needs} need you") };
            parts.push((words, self.bold(YELLOW)));
            parts.push(raw(" · "));
        }
        parts.push(raw(format!("{running} running · {ended} ended")));
        if !self.filter.is_empty() && self.view != View::Filter {
            parts.push((format!("  /{}", self.filter), self.colour(CYAN)));
        }
        let taken: usize = parts.iter().map(|(text, _)| width(text)).sum();
        if taken + width(&self.directory) + 2 <= usize::from(room) {
            parts.push((format!("  {}", self.directory), self.dim()));
        }
        parts
    }

    fn foot(&self, room: u16) -> Vec<Part> {
        if let View::Sure { question, .. } = &self.view {
            return vec![(fitted(&format!("{question} y/N"), room), self.colour(YELLOW))];
        }
        if self.view == View::Filter {
            return vec![raw("/"), raw(self.filter.as_str())];
        }
        if let Some(said) = &self.said {
            return vec![(fitted(said, room), self.colour(CYAN))];
        }
        let keys: &[(&str, &str)] = match (&self.view, self.row()) {
            (View::Near { .. }, _) => {
                &[("esc", "back"), ("↑↓", "scroll"), ("a", "attach"), ("K", "end"), ("r", "release")]
            }
            (View::Question { .. }, _) => &[("y", "once"), ("s", "session"), ("n", "no"), ("esc", "later")],
            (View::Help, _) => &[("esc", "back")],
            (_, Some(Row::Asks(_))) => &[("⏎", "read and answer"), ("↑↓", "choose"), ("?", "help"), ("q", "leave")],
            _ => &[
                ("⏎", "look"),
                ("/", "filter"),
                ("K", "end"),
                ("?", "help"),
                ("q", "leave"),
                ("a", "attach"),
                ("r", "release"),
            ],
        };
        let mut parts: Vec<Part> = Vec::new();
        let mut taken = 0;
        for (key, meaning) in keys {
            let needed = key.chars().count() + meaning.chars().count() + 3;
            if taken + needed > usize::from(room) + 2 {
                break;
            }
            taken += needed;
            parts.push(((*key).to_owned(), self.bold(Colour::Usual)));
            parts.push((format!(" {meaning}  "), self.dim()));
        }
        parts
    }

    fn draw_list(&self, canvas: &mut Canvas, area: Area) {
        let shown: Vec<&Row> = self.shown().collect();
        let room = canvas.size().0;
        if shown.is_empty() {
            let words = if self.filter.is_empty() {
                "Nothing has run yet. `chiton run COMMAND`, or an agent, begins."
            } else {
                "Nothing matches. Esc shows everything again."
            };
            return canvas.put_lines(area, &wrap(&[(words.to_owned(), self.dim())], room));
        }

        // What is chosen is said in more words below, where there is room for both.
        let details = if area.height >= 12 { 3 } else { 0 };
        let (table, below) = area.split(area.height - details);
        let columns = columns(room);
        let (head, body) = table.split(u16::from(table.height >= 2));
        for row in head.rows() {
            put_cells(canvas, row, &columns, |column| column.name.to_owned(), self.dim());
        }

        let chosen = self.place();
        // As far down as it takes to see what is chosen.
        let first = (chosen + 1).saturating_sub(usize::from(body.height));
        for (row, (place, shown)) in body.rows().zip(shown.iter().enumerate().skip(first)) {
            put_cells(canvas, row, &columns, |column| self.cell(shown, column.name), self.style_of_row(shown));
            if chosen == place {
                canvas.restyle(row, |style| self.show_as_chosen(style));
            }
        }
        if let Some(row) = self.row() {
            canvas.put_lines(below, &self.details(row, room));
        }
    }

    /// Makes a row look chosen.
    fn show_as_chosen(&self, style: &mut Style) {
        if self.plain {
            style.inverse = true;
        } else {
            (style.foreground, style.background, style.dim) = (Colour::Indexed(231), Colour::Indexed(238), false);
        }
    }

    /// What stands in a column.
    fn cell(&self, row: &Row, column: &str) -> String {
        match (row, column) {
            (Row::Asks(_), STATUS) => "asks".to_owned(),
            (Row::Asks(waiting), "TIME") => span(self.now_ms.saturating_sub(waiting.asked_ms)),
            (Row::Asks(waiting), "OWNER") => waiting.owner.clone().unwrap_or_default(),
            (Row::Asks(waiting), "COMMAND") => line(&harmless(&waiting.command)),
            (Row::Asks(waiting), "LAST LINE") => waiting.heading.clone(),
            (Row::Asks(_), _) => String::new(),
            (Row::Run(run), "TIME") => span(run.duration_ms(self.now_ms)),
            (Row::Run(run), column) => cell(run, column),
        }
    }

    fn style_of_row(&self, row: &Row) -> Style {
        match row {
            Row::Asks(_) => self.bold(YELLOW),
            Row::Run(run) => self.style_of(run),
        }
    }

    fn style_of(&self, run: &SeenRun) -> Style {
        match run.status {
            _ if run.wait.is_some() => self.bold(YELLOW),
            TaskStatus::Pending | TaskStatus::Running => self.colour(GREEN),
            TaskStatus::Completed => self.dim(),
            _ => self.colour(RED),
        }
    }

    /// More of the chosen row than fits into it.
    fn details(&self, row: &Row, room: u16) -> [Vec<Part>; 3] {
        let (facts, words) = match row {
            Row::Asks(waiting) => (about(waiting), waiting.heading.clone()),
            Row::Run(run) => {
                let words = match &run.wait {
                    Some(wait) if wait.echo => format!("waits for input: {}", wait.prompt),
                    Some(wait) => format!("waits for a password: {}", wait.prompt),
                    None => run.last_line.clone(),
                };
                (facts(run), words)
            }
        };
        [
            vec![("─".repeat(room.into()), self.dim())],
            vec![(fitted(&facts, room), self.dim())],
            vec![raw(fitted(&words, room))],
        ]
    }

    fn draw_near(&self, canvas: &mut Canvas, area: Area, id: &str, back: usize) {
        let Some(run) = self.run(id) else { return };
        let (head, body) = area.split(2.min(area.height.saturating_sub(1)));
        let title = vec![(status(run), self.style_of(run)), raw("  "), raw(line(&run.command))];
        let facts = vec![(fitted(&facts(run), canvas.size().0), self.dim())];
        canvas.put_lines(head, &[title, facts]);
        match &self.near {
            None => {}
            Some(Near::Screen(screen)) => draw_screen(canvas, body, screen, self.plain),
            Some(Near::Output(lines)) if lines.is_empty() => {
                canvas.put_lines(body, &[vec![("It has printed nothing.".to_owned(), self.dim())]]);
            }
            Some(Near::Output(lines)) => {
                let rows = usize::from(body.height);
                let end = lines.len().saturating_sub(back).max(rows.min(lines.len()));
                for (row, text) in body.rows().zip(&lines[end.saturating_sub(rows)..end]) {
                    canvas.put(row, 0, u16::MAX, text, Style::default());
                }
            }
        }
    }

    fn draw_question(&self, canvas: &mut Canvas, area: Area, id: &str, down: u16) {
        let found = self.rows.iter().find_map(|row| match row {
            Row::Asks(waiting) if waiting.id == id => Some(waiting),
            _ => None,
        });
        let Some(waiting) = found else { return };
        let mut lines = vec![(waiting.heading.clone(), self.bold(YELLOW)), (about(waiting), self.dim()), raw("")];
        lines.extend(waiting.text.lines().map(raw));
        lines.extend([raw(""), (waiting.answers.clone(), self.dim())]);
        let wrapped: Vec<Vec<Part>> = lines.into_iter().flat_map(|line| wrap(&[line], canvas.size().0)).collect();
        canvas.put_lines(area, wrapped.get(usize::from(down)..).unwrap_or_default());
    }
}

fn raw(text: impl Into<String>) -> Part {
    (text.into(), Style::default())
}

fn draw_help(canvas: &mut Canvas, area: Area) {
    let bold = Style { bold: true, ..Style::default() };
    let lines =
        HELP.iter().flat_map(|(keys, meaning)| wrap(&[(format!("{keys:<9} "), bold), raw(*meaning)], canvas.size().0));
    let lines: Vec<Vec<Part>> = lines.collect();
    canvas.put_lines(area, &lines);
}

/// A column where it is on the screen.
struct Column {
    name: &'static str,
    at: u16,
    width: u16,
}

/// The columns that fit into a width, one apart from the other.
fn columns(room: u16) -> Vec<Column> {
    let fixed = COLUMNS.iter().filter(|(.., from)| room >= *from).map(|(name, width, _)| (*name, *width));
    let mut columns = Vec::new();
    let mut at = 0;
    for (name, width) in [(STATUS, 8), ("TIME", 5)].into_iter().chain(fixed) {
        columns.push(Column { name, at, width });
        at += width + 1;
    }
    // What is left is for the command, and for its last line where there is room for both.
    let left = room.saturating_sub(at);
    if room >= WIDE {
        let last = left.saturating_sub(1) / 2;
        let command = left.saturating_sub(1 + last);
        columns.push(Column { name: "COMMAND", at, width: command });
        columns.push(Column { name: "LAST LINE", at: at + command + 1, width: last });
    } else {
        columns.push(Column { name: "COMMAND", at, width: left });
    }
    columns
}

/// Puts a row of the table: the style is that of all of it, also where nothing stands.
fn put_cells(canvas: &mut Canvas, row: u16, columns: &[Column], text: impl Fn(&Column) -> String, style: Style) {
    canvas.restyle(row, |look| *look = style);
    for column in columns {
        canvas.put(row, column.at, column.width, &text(column), style);
    }
}

fn needs_person(row: &Row) -> bool {
    match row {
        Row::Asks(_) => true,
        Row::Run(run) => run.wait.is_some(),
    }
}

fn cell(run: &SeenRun, column: &str) -> String {
    match column {
        STATUS => status(run),
        "ID" => run.id.rsplit('_').next().unwrap_or(&run.id).to_owned(),
        "CPU" => run.cpu.filter(|_| run.is_running()).map(|share| format!("{share}%")).unwrap_or_default(),
        "MEM" => run.memory.filter(|_| run.is_running()).map(size).unwrap_or_default(),
        "RATE" if run.rate > 0 && run.is_running() => format!("{}/s", size(run.rate)),
        "PORTS" => run.listening.join(" "),
        "OWNER" => run.owner.clone().unwrap_or_default(),
        "COMMAND" => {
            let what = run.description.as_ref().map(|what| format!("{}: ", line(what))).unwrap_or_default();
            what + &line(&run.command)
        }
        "LAST LINE" => run.wait.as_ref().map_or_else(|| run.last_line.clone(), |wait| wait.prompt.clone()),
        _ => String::new(),
    }
}

/// What is known of a run, in one line.
fn facts(run: &SeenRun) -> String {
    let mut facts = vec![run.id.clone(), run.directory.to_string_lossy().into_owned()];
    facts.extend(run.session.as_ref().map(|name| format!("session {name}")));
    facts.extend(run.owner.as_ref().map(|name| format!("by {name}")));
    facts.push(format!("{} printed", size(run.printed)));
    if run.is_running() && run.processes > 0 {
        let plural = if run.processes == 1 { "" } else { "es" };
        facts.push(format!("{} process{plural}", run.processes));
    }
    if !run.listening.is_empty() {
        facts.push(format!("listens on {}", run.listening.join(" ")));
    }
    if let Some(changed) = &run.changed {
        let undo = if changed.undo.is_some() { ", can be undone" } else { "" };
        facts.push(format!("{} files changed{undo}", changed.made + changed.changed + changed.removed));
    }
    facts.join(" · ")
}

fn about(waiting: &Waiting) -> String {
    let mut facts = vec![waiting.directory.to_string_lossy().into_owned()];
    facts.extend(waiting.session.as_ref().map(|name| format!("session {name}")));
    facts.extend(waiting.owner.as_ref().map(|name| format!("asked by {name}")));
    facts.join(" · ")
}

/// A text cut to a width, with a sign where it was.
fn fitted(text: &str, room: u16) -> String {
    let text = line(text);
    if width(&text) <= usize::from(room) {
        return text;
    }
    let mut cut = String::new();
    for character in text.chars() {
        cut.push(character);
        if width(&cut) >= usize::from(room) {
            cut.pop();
            break;
        }
    }
    cut + "…"
}

/// The screen of a terminal, the part with its cursor where not all of it fits.
fn draw_screen(canvas: &mut Canvas, area: Area, screen: &Snapshot, plain: bool) {
    let rows = usize::from(area.height);
    let cursor = usize::from(screen.cursor.row);
    let first =
        if screen.rows.len() <= rows { 0 } else { cursor.saturating_sub(rows - 1).min(screen.rows.len() - rows) };
    let room = canvas.size().0;
    for (row, seen) in area.rows().zip(screen.rows.iter().skip(first)) {
        for run in seen.runs.iter().filter(|run| run.column < room) {
            let colourless = Style { foreground: Colour::Usual, background: Colour::Usual, ..run.style };
            let style = if plain { colourless } else { run.style };
            canvas.put(row, run.column, u16::MAX, &run.text, style);
        }
    }
    if screen.cursor.visible && cursor >= first && cursor - first < rows && screen.cursor.column < room {
        canvas.cursor = Some((screen.cursor.column, area.top + u16::try_from(cursor - first).unwrap_or(0)));
    }
}
