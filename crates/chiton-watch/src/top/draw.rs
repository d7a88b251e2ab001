//! Draws the screen, at any size: what matters least goes first where there is no room.

use chiton_engine::TaskStatus;
use chiton_engine::terminal::snapshot::{Colour, Snapshot, Style as CellStyle};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Clear, Paragraph, Row as TableRow, Table, TableState, Wrap};

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

/// What a column shows, how wide it is and from which width of the screen on.
const COLUMNS: [(&str, u16, u16); 6] =
    [("ID", 8, NARROW), ("CPU", 4, 72), ("MEM", 5, 72), ("RATE", 7, 96), ("PORTS", 15, 104), ("OWNER", 12, WIDE)];

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
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
        frame.render_widget(self.head(head.width), head);
        match &self.view {
            View::Near { id, back } => self.draw_near(frame, body, id, *back),
            View::Question { id, down } => self.draw_question(frame, body, id, *down),
            View::Help => draw_help(frame, body),
            View::List | View::Filter | View::Sure { .. } => self.draw_list(frame, body),
        }
        frame.render_widget(self.foot(foot.width), foot);
        if self.view == View::Filter {
            let typed = u16::try_from(self.filter.chars().count()).unwrap_or(u16::MAX);
            frame.set_cursor_position((foot.x.saturating_add(1 + typed).min(foot.right().saturating_sub(1)), foot.y));
        }
    }

    fn colour(&self, colour: Color) -> Style {
        if self.plain { Style::new() } else { Style::new().fg(colour) }
    }

    fn dim(&self) -> Style {
        if self.plain { Style::new() } else { Style::new().add_modifier(Modifier::DIM) }
    }

    fn head(&self, width: u16) -> Line<'_> {
        let needs = self.rows.iter().filter(|row| needs_person(row)).count();
        let running = self.rows.iter().filter(|row| matches!(row, Row::Run(run) if run.is_running())).count();
        let ended = self.rows.iter().filter(|row| matches!(row, Row::Run(run) if !run.is_running())).count();
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut parts = vec![Span::styled("chiton", bold), Span::raw("  ")];
        if needs > 0 {
            let words = if needs == 1 { "1 needs you".to_owned() } else { format!("{needs} need you") };
            parts.push(Span::styled(words, self.colour(Color::Yellow).add_modifier(Modifier::BOLD)));
            parts.push(Span::raw(" · "));
        }
        parts.push(Span::raw(format!("{running} running · {ended} ended")));
        if !self.filter.is_empty() && self.view != View::Filter {
            parts.push(Span::styled(format!("  /{}", self.filter), self.colour(Color::Cyan)));
        }
        let taken: usize = parts.iter().map(Span::width).sum();
        if taken + self.directory.chars().count() + 2 <= usize::from(width) {
            parts.push(Span::styled(format!("  {}", self.directory), self.dim()));
        }
        Line::from(parts)
    }

    fn foot(&self, width: u16) -> Line<'_> {
        if let View::Sure { question, .. } = &self.view {
            return Line::styled(fitted(&format!("{question} y/N"), width), self.colour(Color::Yellow));
        }
        if self.view == View::Filter {
            return Line::from(vec![Span::raw("/"), Span::raw(self.filter.as_str())]);
        }
        if let Some(said) = &self.said {
            return Line::styled(fitted(said, width), self.colour(Color::Cyan));
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
        let mut parts: Vec<Span<'_>> = Vec::new();
        let mut taken = 0;
        for (key, meaning) in keys {
            let needed = key.chars().count() + meaning.chars().count() + 3;
            if taken + needed > usize::from(width) + 2 {
                break;
            }
            taken += needed;
            parts.push(Span::styled(*key, Style::new().add_modifier(Modifier::BOLD)));
            parts.push(Span::styled(format!(" {meaning}  "), self.dim()));
        }
        Line::from(parts)
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
        let shown: Vec<&Row> = self.shown().collect();
        if shown.is_empty() {
            let words = if self.filter.is_empty() {
                "Nothing has run yet. `chiton run COMMAND`, or an agent, begins."
            } else {
                "Nothing matches. Esc shows everything again."
            };
            return frame.render_widget(Paragraph::new(words).style(self.dim()).wrap(Wrap { trim: true }), area);
        }
        // What is chosen is said in more words below, where there is room for both.
        let details = if area.height >= 12 { 3 } else { 0 };
        let [table, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(details)]).areas(area);
        let width = area.width;
        let wide = width >= WIDE;
        let columns: Vec<&(&str, u16, u16)> = COLUMNS.iter().filter(|(_, _, from)| width >= *from).collect();
        let mut heads = vec!["", "TIME"];
        heads.extend(columns.iter().map(|(name, _, _)| *name));
        heads.push("COMMAND");
        let mut widths = vec![Constraint::Length(8), Constraint::Length(5)];
        widths.extend(columns.iter().map(|(_, width, _)| Constraint::Length(*width)));
        widths.push(Constraint::Fill(1));
        if wide {
            heads.push("LAST LINE");
            widths.push(Constraint::Fill(1));
        }
        let rows: Vec<TableRow<'_>> = shown.iter().map(|row| self.table_row(row, &columns, wide)).collect();
        let choice = if self.plain {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new().bg(Color::Indexed(238)).fg(Color::Indexed(231)).remove_modifier(Modifier::DIM)
        };
        let drawn = Table::new(rows, widths)
            .header(TableRow::new(heads).style(self.dim()))
            .column_spacing(1)
            .row_highlight_style(choice);
        let mut state = TableState::new().with_selected(self.place());
        frame.render_stateful_widget(drawn, table, &mut state);
        if details > 0
            && let Some(row) = self.row()
        {
            frame.render_widget(Paragraph::new(self.details(row, width)), below);
        }
    }

    fn table_row(&self, row: &Row, columns: &[&(&str, u16, u16)], wide: bool) -> TableRow<'static> {
        let (mut cells, style): (Vec<String>, Style) = match row {
            Row::Asks(waiting) => {
                let mut cells = vec!["asks".to_owned(), span(self.now_ms.saturating_sub(waiting.asked_ms))];
                cells.extend(columns.iter().map(|(name, _, _)| match *name {
                    "OWNER" => waiting.owner.clone().unwrap_or_default(),
                    _ => String::new(),
                }));
                cells.push(line(&harmless(&waiting.command)));
                (cells, self.colour(Color::Yellow).add_modifier(Modifier::BOLD))
            }
            Row::Run(run) => {
                let mut cells = vec![status(run), span(run.duration_ms(self.now_ms))];
                cells.extend(columns.iter().map(|(name, _, _)| cell(run, name)));
                let what = run.description.as_ref().map(|what| format!("{}: ", line(what))).unwrap_or_default();
                cells.push(what + &line(&run.command));
                (cells, self.style_of(run))
            }
        };
        if wide {
            cells.push(match row {
                Row::Asks(waiting) => waiting.heading.clone(),
                Row::Run(run) => run.wait.as_ref().map_or_else(|| run.last_line.clone(), |wait| wait.prompt.clone()),
            });
        }
        TableRow::new(cells).style(style)
    }

    fn style_of(&self, run: &SeenRun) -> Style {
        match run.status {
            _ if run.wait.is_some() => self.colour(Color::Yellow).add_modifier(Modifier::BOLD),
            TaskStatus::Pending | TaskStatus::Running => self.colour(Color::Green),
            TaskStatus::Completed => self.dim(),
            _ => self.colour(Color::Red),
        }
    }

    /// More of the chosen row than fits into it.
    fn details(&self, row: &Row, width: u16) -> Text<'static> {
        let mut lines = vec![Line::styled("─".repeat(width.into()), self.dim())];
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
        lines.push(Line::styled(fitted(&facts, width), self.dim()));
        lines.push(Line::raw(fitted(&words, width)));
        Text::from(lines)
    }

    fn draw_near(&self, frame: &mut Frame<'_>, area: Rect, id: &str, back: usize) {
        let Some(run) = self.run(id) else { return };
        let [head, body] = Layout::vertical([Constraint::Length(2), Constraint::Min(1)]).areas(area);
        let state = Span::styled(status(run), self.style_of(run));
        let title = vec![
            Line::from(vec![state, Span::raw("  "), Span::raw(line(&run.command))]),
            Line::styled(fitted(&facts(run), area.width), self.dim()),
        ];
        frame.render_widget(Paragraph::new(title), head);
        match &self.near {
            None => {}
            Some(Near::Screen(screen)) => draw_screen(frame, body, screen, self.plain),
            Some(Near::Output(lines)) if lines.is_empty() => {
                frame.render_widget(Paragraph::new("It has printed nothing.").style(self.dim()), body);
            }
            Some(Near::Output(lines)) => {
                let rows = usize::from(body.height);
                let end = lines.len().saturating_sub(back).max(rows.min(lines.len()));
                let shown = &lines[end.saturating_sub(rows)..end];
                frame.render_widget(
                    Paragraph::new(shown.iter().map(|text| Line::raw(text.as_str())).collect::<Vec<_>>()),
                    body,
                );
            }
        }
    }

    fn draw_question(&self, frame: &mut Frame<'_>, area: Rect, id: &str, down: u16) {
        let found = self.rows.iter().find_map(|row| match row {
            Row::Asks(waiting) if waiting.id == id => Some(waiting),
            _ => None,
        });
        let Some(waiting) = found else { return };
        let strong = self.colour(Color::Yellow).add_modifier(Modifier::BOLD);
        let mut lines = vec![Line::styled(waiting.heading.as_str(), strong)];
        lines.push(Line::styled(about(waiting), self.dim()));
        lines.push(Line::raw(""));
        lines.extend(waiting.text.lines().map(Line::raw));
        lines.push(Line::raw(""));
        lines.push(Line::styled(waiting.answers.as_str(), self.dim()));
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((down, 0)), area);
    }
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    frame.render_widget(Clear, area);
    let lines: Vec<Line<'_>> = HELP
        .iter()
        .map(|(keys, meaning)| {
            let key = Span::styled(format!("{keys:<9} "), Style::new().add_modifier(Modifier::BOLD));
            Line::from(vec![key, Span::raw(*meaning)])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}

fn needs_person(row: &Row) -> bool {
    match row {
        Row::Asks(_) => true,
        Row::Run(run) => run.wait.is_some(),
    }
}

fn cell(run: &SeenRun, column: &str) -> String {
    match column {
        "ID" => run.id.rsplit('_').next().unwrap_or(&run.id).to_owned(),
        "CPU" => run.cpu.filter(|_| run.is_running()).map(|share| format!("{share}%")).unwrap_or_default(),
        "MEM" => run.memory.filter(|_| run.is_running()).map(size).unwrap_or_default(),
        "RATE" if run.rate > 0 && run.is_running() => format!("{}/s", size(run.rate)),
        "PORTS" => run.listening.join(" "),
        "OWNER" => run.owner.clone().unwrap_or_default(),
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
fn fitted(text: &str, width: u16) -> String {
    let text = line(text);
    if Span::raw(text.as_str()).width() <= usize::from(width) {
        return text;
    }
    let mut cut = String::new();
    for character in text.chars() {
        cut.push(character);
        if Span::raw(cut.as_str()).width() >= usize::from(width) {
            cut.pop();
            break;
        }
    }
    cut + "…"
}

/// The screen of a terminal, the part with its cursor where not all of it fits.
fn draw_screen(frame: &mut Frame<'_>, area: Rect, screen: &Snapshot, plain: bool) {
    let rows = usize::from(area.height);
    let cursor = usize::from(screen.cursor.row);
    let first =
        if screen.rows.len() <= rows { 0 } else { cursor.saturating_sub(rows - 1).min(screen.rows.len() - rows) };
    for (place, row) in screen.rows.iter().skip(first).take(rows).enumerate() {
        let y = area.y + u16::try_from(place).unwrap_or(0);
        for run in row.runs.iter().filter(|run| run.column < area.width) {
            let room = usize::from(area.width - run.column);
            frame.buffer_mut().set_stringn(area.x + run.column, y, &run.text, room, cell_style(run.style, plain));
        }
    }
    if screen.cursor.visible && cursor >= first && cursor - first < rows && screen.cursor.column < area.width {
        let y = area.y + u16::try_from(cursor - first).unwrap_or(0);
        frame.set_cursor_position((area.x + screen.cursor.column, y));
    }
}

fn cell_style(style: CellStyle, plain: bool) -> Style {
    let colour = |colour: Colour| match colour {
        Colour::Usual => None,
        Colour::Indexed(number) => Some(Color::Indexed(number)),
        Colour::Rgb(red, green, blue) => Some(Color::Rgb(red, green, blue)),
    };
    let modifiers = [
        (style.bold, Modifier::BOLD),
        (style.dim, Modifier::DIM),
        (style.italic, Modifier::ITALIC),
        (style.underline, Modifier::UNDERLINED),
        (style.struck, Modifier::CROSSED_OUT),
        (style.inverse, Modifier::REVERSED),
        (style.hidden, Modifier::HIDDEN),
    ];
    let wanted = modifiers.into_iter().filter(|(is_on, _)| *is_on);
    let mut drawn = Style::new().add_modifier(wanted.fold(Modifier::empty(), |all, (_, one)| all | one));
    if !plain {
        drawn.fg = colour(style.foreground);
        drawn.bg = colour(style.background);
    }
    drawn
}
