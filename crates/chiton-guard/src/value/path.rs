//! From words to the paths that they mean.

use crate::value::glob;
use crate::value::{FoundBelow, Piece, Text, What};

/// What a word that names files means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A place.
    At {
        /// Absolute, without `.`, `..` and doubled slashes.
        path: String,
        /// How much of it.
        extent: Extent,
        /// Whether this is only what it would be if something unknown were empty.
        doubtful: bool,
    },
    /// Relative to a directory that is not known, but never above it.
    Somewhere,
    /// It could be anything.
    Anything,
}

/// How much of a place is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The thing itself.
    Itself,
    /// Everything in it.
    Everything,
    /// Some of what is below it.
    Within,
}

/// Stands for unknown text that is not empty; no path holds a NUL.
const SOMETHING: char = '\0';

/// What `text` means in `cwd`.
pub(crate) fn targets(text: &Text, cwd: Option<&str>) -> Vec<Target> {
    if let [Piece::Unknown(only)] = text.0.as_slice() {
        return match &only.what {
            What::Temporary | What::Plain => vec![Target::Somewhere],
            What::Found(roots) => roots.iter().map(found_below).collect(),
            _ => vec![Target::Anything],
        };
    }
    if text.is_decided() {
        if let [Piece::Known(known)] = text.0.as_slice() {
            return vec![resolve(known, false, cwd, false)];
        }
        return vec![resolve(&pattern_of(text, ""), text.has_glob(), cwd, false)];
    }
    let mut all = Vec::new();
    if let Some(What::Found(roots)) = text.unknowns().next().map(|unknown| &unknown.what) {
        // `{}.bak` is beside what was found, and not everything there.
        let end = text.known_end();
        let is_beside = !text.has_glob() && !end.is_empty() && !end.starts_with('/');
        all.extend(roots.iter().map(|root| match root {
            FoundBelow::Everything(directory) if is_beside => at(directory, Extent::Within, false),
            root => found_below(root),
        }));
        return all;
    }
    let filled = text.unknowns().all(|unknown| unknown.filled);
    // What it is when the unknown is something, and what it is when the unknown is empty.
    let something = pattern_of(text, &SOMETHING.to_string());
    all.push(resolve(&something, text.has_glob(), cwd, false));
    if !filled {
        let empty = pattern_of(text, "");
        all.push(if empty.trim_matches('/').is_empty() && !text.known_start().starts_with('/') {
            Target::Anything
        } else {
            resolve(&empty, text.has_glob(), cwd, true)
        });
    }
    all
}

/// The pattern that `text` is: quoted characters protected, unknown ones replaced.
fn pattern_of(text: &Text, unknown: &str) -> String {
    let mut all = String::new();
    let globs = text.has_glob();
    for piece in &text.0 {
        match piece {
            Piece::Known(known) if globs => {
                for character in known.chars() {
                    if matches!(character, '*' | '?' | '[' | '\\') {
                        all.push('\\');
                    }
                    all.push(character);
                }
            }
            Piece::Known(known) => all.push_str(known),
            Piece::Glob(glob) => all.push_str(glob),
            Piece::Unknown(inner) if inner.what == What::Temporary => all.push_str("/tmp/\0"),
            Piece::Unknown(_) => all.push_str(unknown),
        }
    }
    all
}

fn at(path: &str, extent: Extent, doubtful: bool) -> Target {
    Target::At { path: path.to_owned(), extent, doubtful }
}

fn resolve(path: &str, globs: bool, cwd: Option<&str>, doubtful: bool) -> Target {
    if path.starts_with(SOMETHING) {
        let climbs = path.split('/').skip(1).any(|component| component == "..");
        let sweeps = globs && path.split('/').nth(1).is_some_and(glob::is_sweeping);
        let bare = path.trim_matches(['/', SOMETHING]).is_empty();
        return if climbs || bare || (sweeps && doubtful) { Target::Anything } else { Target::Somewhere };
    }
    let Some(full) = absolute(path, cwd) else {
        return if leaves(path) || (globs && first_component(path).is_some_and(glob::is_sweeping)) {
            Target::Anything
        } else {
            Target::Somewhere
        };
    };
    let full = if full.contains(SOMETHING) { full.replace(SOMETHING, "\u{1}") } else { full };
    if !globs {
        return Target::At { path: full, extent: Extent::Itself, doubtful };
    }
    let components: Vec<&str> = full.split('/').filter(|component| !component.is_empty()).collect();
    let Some(first) = components.iter().position(|component| is_pattern(component)) else {
        return at(&unprotect(&full), Extent::Itself, doubtful);
    };
    let directory = format!("/{}", components[..first].join("/"));
    let sweeping = components[first..].iter().all(|component| glob::is_sweeping(component));
    if sweeping {
        at(&unprotect(&directory), Extent::Everything, doubtful)
    } else {
        // The pattern itself: the caller compares it with the places that matter.
        at(&full, Extent::Within, doubtful)
    }
}

/// The place that a search found something in.
fn found_below(found: &FoundBelow) -> Target {
    let extent = match found {
        FoundBelow::Everything(_) => Extent::Everything,
        FoundBelow::Some(_) => Extent::Within,
    };
    at(found.directory(), extent, false)
}

fn first_component(path: &str) -> Option<&str> {
    path.split('/').find(|component| !matches!(*component, "" | "."))
}

/// Whether a component of a path is a pattern.
pub(crate) fn is_pattern(component: &str) -> bool {
    let mut protected = false;
    component.chars().any(|character| {
        let special = !protected && matches!(character, '*' | '?' | '[');
        protected = !protected && character == '\\';
        special
    })
}

fn unprotect(path: &str) -> String {
    let mut all = String::new();
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        all.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    all
}

/// Whether a relative path leaves the directory it starts from.
fn leaves(path: &str) -> bool {
    let mut depth = 0_i32;
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    depth == 0
}

/// `path` as seen from `cwd`, absolute and normalised; none if it is relative and `cwd` is not known.
pub(crate) fn absolute(path: &str, cwd: Option<&str>) -> Option<String> {
    let mut full = String::with_capacity(path.len() + cwd.map_or(0, str::len) + 1);
    if !path.starts_with('/') {
        go_on(&mut full, cwd?, cwd);
    }
    go_on(&mut full, path, cwd);
    if full.is_empty() {
        full.push('/');
    }
    Some(full)
}

/// Goes on from `full`, which is normalised, along `path`.
fn go_on(full: &mut String, path: &str, cwd: Option<&str>) {
    if full.is_empty() && is_plain(path) {
        full.push_str(path);
        return;
    }
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => full.truncate(full.rfind('/').unwrap_or_default()),
            other => enter(full, other),
        }
        // Other names of the root and of the working directory.
        if let Some((process, link @ ("root" | "cwd"))) =
            full.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'))
            && (matches!(process, "self" | "thread-self") || process.bytes().all(|byte| byte.is_ascii_digit()))
        {
            let directory = if link == "cwd" { cwd.unwrap_or_default() } else { "" };
            full.clear();
            for component in directory.split('/').filter(|component| !component.is_empty()) {
                enter(full, component);
            }
        }
    }
}

fn enter(full: &mut String, component: &str) {
    full.push('/');
    full.push_str(component);
}

/// Whether an absolute path is certainly normalised. Most are.
fn is_plain(path: &str) -> bool {
    let mut after_slash = false;
    let is_simple = path.bytes().all(|byte| {
        let is_simple = !after_slash || !matches!(byte, b'/' | b'.');
        after_slash = byte == b'/';
        is_simple
    });
    is_simple && !after_slash && path.starts_with('/') && !path.starts_with("/proc/")
}

/// A path for people: what is not known of it stands as an ellipsis.
pub(crate) fn shown(path: &str) -> String {
    path.replace('\u{1}', "…")
}

/// Whether `path` is `directory` or below it.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path == directory || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether `path`, which may hold patterns, matches `place` component by component.
pub(crate) fn matches_path(path: &str, place: &str) -> bool {
    let (mut pattern, mut place) = (path.split('/'), place.split('/'));
    loop {
        match (pattern.next(), place.next()) {
            (None, None) => return true,
            (Some(pattern), Some(place)) if glob::matches(pattern, place) => {}
            _ => return false,
        }
    }
}
