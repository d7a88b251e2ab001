//! Shell patterns, matched against text.

/// Whether `pattern` matches the whole of `text`. In `pattern`, a backslash protects the next character.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // Iterative with one point to come back to, so no pattern takes longer than pattern times text.
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => match bracket(&pattern, p, text[t]) {
                Some((end, true)) => Some(end),
                Some((_, false)) => None,
                None => (text[t] == '[').then_some(p + 1),
            },
            Some('\\') if p + 1 < pattern.len() => (pattern[p + 1] == text[t]).then_some(p + 2),
            Some(other) => (*other == text[t]).then_some(p + 1),
            None => None,
        };
        match (step, retry) {
            (Some(next), _) => {
                p = next;
                t += 1;
            }
            (None, Some((from, at))) => {
                p = from;
                t = at + 1;
                retry = Some((from, at + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}

/// Matches `[…]` at `start`; gives where it ends and whether `character` is in it.
fn bracket(pattern: &[char], start: usize, character: char) -> Option<(usize, bool)> {
    let mut at = start + 1;
    let negated = matches!(pattern.get(at), Some('!' | '^'));
    at += usize::from(negated);
    let first = at;
    let mut found = false;
    loop {
        let low = *pattern.get(at)?;
        if low == ']' && at > first {
            return Some((at + 1, found != negated));
        }
        if low == '[' && pattern.get(at + 1) == Some(&':') {
            let end = (at + 2..pattern.len()).find(|end| pattern[*end] == ':' && pattern.get(end + 1) == Some(&']'))?;
            let name: String = pattern[at + 2..end].iter().collect();
            found |= in_class(&name, character);
            at = end + 2;
            continue;
        }
        let low = if low == '\\' && at + 1 < pattern.len() {
            at += 1;
            pattern[at]
        } else {
            low
        };
        if pattern.get(at + 1) == Some(&'-') && pattern.get(at + 2).is_some_and(|high| *high != ']') {
            found |= (low..=pattern[at + 2]).contains(&character);
            at += 3;
        } else {
            found |= low == character;
            at += 1;
        }
    }
}

fn in_class(name: &str, character: char) -> bool {
    match name {
        "alpha" => character.is_alphabetic(),
        "digit" => character.is_ascii_digit(),
        "alnum" => character.is_alphanumeric(),
        "lower" => character.is_lowercase(),
        "upper" => character.is_uppercase(),
        "space" => character.is_whitespace(),
        "punct" => character.is_ascii_punctuation(),
        _ => true,
    }
}

/// Whether `pattern`, as one component of a path, matches nearly everything there.
pub(crate) fn is_sweeping(pattern: &str) -> bool {
    // What matches names of every length and of different letters asks for nothing.
    let samples = ["a", "src", "Documents", "project-1", "x9"];
    let hidden = [".git", ".config", ".a"];
    samples.iter().all(|name| matches(pattern, name)) || hidden.iter().all(|name| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_bash() {
        let cases = [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "abd", false),
            ("[a-c]?", "bz", true),
            ("[!a-c]", "b", false),
            ("[[:digit:]]*", "7up", true),
            ("\\*", "*", true),
            ("*.[ch]", "x.c", true),
            ("[", "[", true),
            ("**/x", "a/b/x", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(is_sweeping("*") && is_sweeping("?*") && is_sweeping(".*") && is_sweeping(".[!.]*"));
        assert!(!is_sweeping("*.log") && !is_sweeping("build*") && !is_sweeping("???"));
    }
}
