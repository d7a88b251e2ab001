//! Links from one file of the repository to another, and to headings in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

static LINK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\]\(([^()\s]+)\)|(?:src|srcset|href)="([^"\s]+)"|^\[[^\]]+\]:\s+(\S+)"#).unwrap());

/// Links that lead nowhere, with the file and line they are on.
pub fn broken(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files(root) {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in prose(&text) {
            for found in LINK.captures_iter(&line) {
                let target = found.iter().skip(1).flatten().next().unwrap().as_str();
                if let Some(why) = nowhere(&file, target) {
                    let file = file.strip_prefix(root).unwrap().display();
                    problems.push(format!("{file}:{number}: {target}: {why}"));
                }
            }
        }
    }
    problems
}

/// Why a link leads nowhere. What is elsewhere on the net is nobody's to promise.
fn nowhere(file: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.to_owned() } else { file.parent().unwrap().join(path) };
    if !path.exists() {
        return Some("there is no such file".to_owned());
    }
    if anchor.is_empty() || !is_page(&path) || anchors(&fs::read_to_string(&path).unwrap()).contains(anchor) {
        return None;
    }
    Some("there is no such heading".to_owned())
}

/// The anchors of a page's headings, as GitHub and mdBook name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(title) = line.starts_with('#').then(|| line.trim_start_matches('#')) else { continue };
        let kept = |it: &char| it.is_alphanumeric() || matches!(it, '-' | '_' | ' ');
        let anchor: String = title.trim().to_lowercase().chars().filter(kept).collect();
        found.insert(anchor.replace(' ', "-"));
    }
    found
}

/// The lines of a page that are not code, with their numbers and without their stretches of code.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let is_heading = line.starts_with('#');
            let outside = line.split('`').enumerate().filter(|(place, _)| is_heading || place % 2 == 0);
            lines.push((number, outside.map(|(_, part)| part).collect()));
        }
    }
    lines
}

/// Whether this is a file in Markdown.
pub fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "md")
}

/// All pages of the repository, but for what was built or fetched.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = left.pop() {
        for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") {
                left.push(path);
            } else if is_page(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
