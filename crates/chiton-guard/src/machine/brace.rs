//! Brace expansion: `{a,b}` and `{1..9}`.

use chiton_shell::tree::Part;

/// Numbers and letters beyond this are not counted through.
const MOST_COUNTED: usize = 256;
/// Characters of all words together. Whoever writes more of them with braces does not name files.
const MOST_CHARACTERS: usize = 1 << 18;

/// The words that the pieces of one word stand for, before anything else is expanded; none where they are too many, or
/// where they put something new behind a dollar sign.
pub(crate) fn expand(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    let braces = |part: &Part| matches!(part, Part::Literal(text) if text.contains('{'));
    if !parts.iter().any(braces) {
        return Some(vec![parts.to_vec()]);
    }
    let atoms = atoms(parts);
    let mut left = MOST_CHARACTERS.max(atoms.len() * 2);
    let words = words(&atoms, 0, &mut left)?;
    words.into_iter().map(|word| word.into_iter().try_fold(Vec::new(), join)).collect()
}

/// A character of bare text, or a piece that braces do not look into.
#[derive(Clone)]
enum Atom {
    Bare(char),
    Whole(Part),
}

fn atoms(parts: &[Part]) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for part in parts {
        match part {
            Part::Literal(text) => atoms.extend(text.chars().map(Atom::Bare)),
            other => atoms.push(Atom::Whole(other.clone())),
        }
    }
    atoms
}

fn join(mut parts: Vec<Part>, atom: Atom) -> Option<Vec<Part>> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    match (parts.last_mut(), atom) {
        // Only braces bring these together: `$a{b,c}` is `$ab $ac`.
        (Some(Part::Parameter(parameter)), Atom::Bare(character)) if parameter.bare && is_of_name(character) => {
            parameter.name.push(character);
        }
        (Some(Part::Literal(text)), Atom::Bare(character))
            if text.ends_with('$') && (is_of_name(character) || "{([@*#?-$!".contains(character)) =>
        {
            return None;
        }
        (Some(Part::Literal(text)), Atom::Bare(character)) => text.push(character),
        (_, Atom::Bare(character)) => parts.push(Part::Literal(character.to_string())),
        (_, Atom::Whole(part)) => parts.push(part),
    }
    Some(parts)
}

fn bare(atom: Option<&Atom>) -> Option<char> {
    if let Some(Atom::Bare(character)) = atom { Some(*character) } else { None }
}

fn words(atoms: &[Atom], depth: usize, left: &mut usize) -> Option<Vec<Vec<Atom>>> {
    if depth > 16 {
        return Some(vec![atoms.to_vec()]);
    }
    for start in 0..atoms.len() {
        if bare(atoms.get(start)) != Some('{') {
            continue;
        }
        let Some((end, commas)) = closing(atoms, start) else { continue };
        let Choices::These(choices) = choices(atoms, start, end, &commas, depth, left)? else { continue };
        let prefix = &atoms[..start];
        let rests = words(&atoms[end + 1..], depth + 1, left)?;
        let mut all = Vec::new();
        // Bash counts through the later braces fastest.
        for choice in &choices {
            for rest in &rests {
                let length = prefix.len() + choice.len() + rest.len();
                *left = left.checked_sub(length + 1)?;
                all.push([prefix, choice, rest].concat());
            }
        }
        return Some(all);
    }
    Some(vec![atoms.to_vec()])
}

fn closing(atoms: &[Atom], start: usize) -> Option<(usize, Vec<usize>)> {
    let (mut open, mut commas) = (0, Vec::new());
    for (at, atom) in atoms.iter().enumerate().skip(start) {
        match bare(Some(atom)) {
            Some('{') => open += 1,
            Some('}') => {
                open -= 1;
                if open == 0 {
                    return Some((at, commas));
                }
            }
            Some(',') if open == 1 => commas.push(at),
            _ => {}
        }
    }
    None
}

/// What stands in the braces from `start` to `end`, one by one; the outer result is none where that is too much.
fn choices(
    atoms: &[Atom],
    start: usize,
    end: usize,
    commas: &[usize],
    depth: usize,
    left: &mut usize,
) -> Option<Choices> {
    if commas.is_empty() {
        let inner: Option<String> = atoms[start + 1..end].iter().map(|atom| bare(Some(atom))).collect();
        let range = inner.as_deref().and_then(sequence);
        let words = |range: Vec<String>| range.into_iter().map(|item| item.chars().map(Atom::Bare).collect()).collect();
        return Some(range.map_or(Choices::None, |range| Choices::These(words(range))));
    }
    let mut all = Vec::new();
    let mut from = start + 1;
    for to in commas.iter().copied().chain([end]) {
        all.extend(words(&atoms[from..to], depth + 1, left)?);
        from = to + 1;
    }
    Some(Choices::These(all))
}

/// What braces offer.
enum Choices {
    /// Nothing: they are text.
    None,
    /// One of these.
    These(Vec<Vec<Atom>>),
}

/// `1..9`, `a..e`, `01..10..2`.
fn sequence(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, step.parse::<i64>().ok()?.abs().max(1)),
        _ => return None,
    };
    if let (Ok(low), Ok(high)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let padded =
            |text: &str| text.trim_start_matches('-').len() > 1 && text.trim_start_matches('-').starts_with('0');
        let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
        return Some(count(low, high, step).into_iter().map(|number| format!("{number:0width$}")).collect());
    }
    let letter = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|letter| letter.is_ascii_alphabetic() && characters.next().is_none())
    };
    let (low, high) = (letter(first)? as i64, letter(last)? as i64);
    let letters = count(low, high, step).into_iter();
    Some(letters.filter_map(|code| u8::try_from(code).ok()).map(|code| char::from(code).to_string()).collect())
}

fn count(low: i64, high: i64, step: i64) -> Vec<i64> {
    let length =
        usize::try_from(low.abs_diff(high) / step.unsigned_abs() + 1).unwrap_or(MOST_COUNTED).min(MOST_COUNTED);
    let step = if low <= high { step } else { -step };
    (0..length).filter_map(|index| i64::try_from(index).ok()).map(|index| low + index * step).collect()
}
