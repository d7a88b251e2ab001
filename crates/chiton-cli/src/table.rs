//! A table that fits the terminal: the last column takes what is left.

use std::io::IsTerminal;

/// The fewest characters of the last column that are worth more than one of the others.
const WORTH_SEEING: usize = 24;

/// Leaves columns out, the first of `spare` first, as long as there is no room for the last one.
pub(crate) fn leave_out(spare: &[&str], heads: &mut Vec<&str>, rows: &mut [Vec<String>]) {
    if let Some(columns) = columns() {
        leave_out_within(columns, spare, heads, rows);
    }
}

fn leave_out_within(columns: usize, spare: &[&str], heads: &mut Vec<&str>, rows: &mut [Vec<String>]) {
    let longest = rows.iter().filter_map(|row| row.last()).map(|cell| cell.chars().count()).max().unwrap_or(0);
    for head in spare {
        let taken: usize = (0..heads.len() - 1).map(|column| width(column, heads, rows) + 2).sum();
        if taken + longest.min(WORTH_SEEING) <= columns {
            return;
        }
        if let Some(place) = heads.iter().position(|other| other == head) {
            heads.remove(place);
            for row in rows.iter_mut() {
                row.remove(place);
            }
        }
    }
}

fn width(column: usize, heads: &[&str], rows: &[Vec<String>]) -> usize {
    rows.iter().map(|row| row[column].chars().count()).chain([heads[column].len()]).max().unwrap_or(0)
}

/// Lays out rows under their heads. Columns are as wide as they need to be, the last is cut to what is left.
pub(crate) fn lay_out(heads: &[&str], rows: &[Vec<String>]) -> String {
    let last = heads.len() - 1;
    let widths: Vec<usize> = (0..last).map(|column| width(column, heads, rows)).collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let room = columns().map_or(usize::MAX, |columns| columns.saturating_sub(taken).max(10));
    let mut text = String::new();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    for row in [&heads].into_iter().chain(rows) {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        text.push_str(&cut(&row[last], room));
        text.push('\n');
    }
    text
}

fn cut(cell: &str, room: usize) -> String {
    if cell.chars().count() <= room {
        return cell.to_owned();
    }
    cell.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// The width of the terminal on standard output, if that is one.
pub(crate) fn columns() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// `12 s`, `3 min`, `2 h`, `5 d`: as much as a person wants to know.
pub(crate) fn span(duration: std::time::Duration) -> String {
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn columns_line_up_whatever_the_letters() {
        let rows = [vec!["a".to_owned(), "x".to_owned()], vec!["\u{e9}\u{e9}\u{e9}\u{e9}".to_owned(), "y".to_owned()]];
        assert_eq!(lay_out(&["ID", "COMMAND"], &rows), "ID    COMMAND\na     x\n\u{e9}\u{e9}\u{e9}\u{e9}  y\n");
    }

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_the_last_one() {
        let row = ["shell_1", "running", "3 s ago", "3 s", "a long command that somebody typed"].map(str::to_owned);
        let heads = ["ID", "STATUS", "STARTED", "TIME", "COMMAND"];
        let cases: [(usize, &[&str]); 4] = [
            (80, &heads),
            (55, &["ID", "STATUS", "TIME", "COMMAND"]),
            (45, &["ID", "STATUS", "COMMAND"]),
            (10, &["ID", "STATUS", "COMMAND"]),
        ];
        for (columns, expected) in cases {
            let (mut left, mut rows) = (heads.to_vec(), vec![row.to_vec()]);
            leave_out_within(columns, &["STARTED", "TIME"], &mut left, &mut rows);
            assert_eq!(left, expected, "{columns}");
            assert_eq!(rows[0].len(), left.len());
            assert_eq!(rows[0].last(), row.last());
        }
    }

    #[test]
    fn a_span_is_short() {
        let cases = [
            (5, "5 ms"),
            (1500, "1 s"),
            (119_000, "119 s"),
            (120_000, "2 min"),
            (7_200_000, "2 h"),
            (200_000_000, "2 d"),
        ];
        for (millis, text) in cases {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }
}
