//! A table that fits the terminal: the last column takes what is left.

use std::io::IsTerminal;

/// Lays out rows under their heads. Columns are as wide as they need to be, the last is cut to what is left.
pub(crate) fn lay_out(heads: &[&str], rows: &[Vec<String>]) -> String {
    let last = heads.len() - 1;
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..last).map(width).collect();
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
fn columns() -> Option<usize> {
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
