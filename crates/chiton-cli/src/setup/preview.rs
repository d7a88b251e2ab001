//! What an edit would change, line by line.

/// Lines around a change that show where it is.
const CONTEXT: usize = 3;

/// The changed lines with `-` and `+`, and a few around them. One edit is one place, so what is common at the beginning
/// and at the end is all there is to find.
pub(crate) fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let from = head.saturating_sub(CONTEXT);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut text = format!("@@ line {} @@\n", from + 1);
    let mut add = |mark: char, lines: &[&str]| lines.iter().for_each(|line| text.push_str(&format!("{mark}{line}\n")));
    add(' ', &old[from..head]);
    add('-', &old[head..old_end]);
    add('+', &new[head..new_end]);
    add(' ', &old[old_end..old.len().min(old_end + CONTEXT)]);
    text
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        let cases = [
            ("", "a\n", "@@ line 1 @@\n+a\n"),
            ("a\n", "", "@@ line 1 @@\n-a\n"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n", "@@ line 2 @@\n 2\n 3\n 4\n+x\n 5\n"),
            ("a\nb\n", "a\nc\n", "@@ line 1 @@\n a\n-b\n+c\n"),
            ("a\na\n", "a\na\na\n", "@@ line 1 @@\n a\n a\n+a\n"),
        ];
        for (before, after, shown) in cases {
            assert_eq!(difference(before, after), shown);
        }
    }
}
