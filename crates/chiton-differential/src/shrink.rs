//! Makes a text small while it keeps a property.

/// Deletes pieces of `text`, large ones first, as long as `holds` is true of the rest.
pub fn shrink(text: &str, mut holds: impl FnMut(&str) -> bool) -> String {
    let mut best: Vec<char> = text.chars().collect();
    let mut size = best.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < best.len() {
            let end = (at + size).min(best.len());
            let rest: String = best[..at].iter().chain(&best[end..]).collect();
            if holds(&rest) {
                best = rest.chars().collect();
                shorter = true;
            } else {
                at += size.div_ceil(2);
            }
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    best.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        assert_eq!(shrink("one two three four", |text| text.contains("two") && text.contains('f')), "twof");
        assert_eq!(shrink("", |_| true), "");
    }
}
