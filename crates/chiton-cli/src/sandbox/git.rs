//! What a git repository says about itself, read from its files: no program is run, and no repository that only claims
//! to be elsewhere is believed.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::real;

/// The git directories of a folder, outside of it or inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// What git calls the git directory: HEAD and the index.
    pub(crate) own: PathBuf,
    /// What all worktrees share: objects, branches, hooks, the configuration. The same as `own`, as a rule.
    pub(crate) common: PathBuf,
}

/// The repository that `folder` is in. Not one of the home directory or above it: its branches would be of everything.
pub(crate) fn repository(folder: &Path, home: Option<&Path>) -> Option<Repository> {
    if is_git_directory(folder) {
        return Some(Repository { own: folder.to_owned(), common: folder.to_owned() });
    }
    let stop = |place: &Path| place.parent().is_none() || home.is_some_and(|home| home.starts_with(place));
    for place in folder.ancestors().take_while(|place| !stop(place)) {
        let found = place.join(".git");
        let Ok(data) = fs::symlink_metadata(&found) else { continue };
        if data.is_dir() {
            return is_git_directory(&found).then(|| Repository { own: found.clone(), common: found });
        }
        return data.is_file().then(|| linked(place, &found)).flatten();
    }
    None
}

/// `.git` as a file: a linked worktree or a submodule. Commands can write that file, so the other end has to point back:
/// otherwise the next start would let them write wherever they please.
fn linked(place: &Path, file: &Path) -> Option<Repository> {
    let own = pointer(fs::read_to_string(file).ok()?.strip_prefix("gitdir:")?, place)?;
    if !own.join("HEAD").is_file() {
        return None;
    }
    if let Ok(back) = fs::read_to_string(own.join("gitdir")) {
        let common = pointer(&fs::read_to_string(own.join("commondir")).ok()?, &own)?;
        let points_back = pointer(&back, &own)? == real(file);
        let is_its_own = own.parent() == Some(&common.join("worktrees"));
        return (points_back && is_its_own && is_git_directory(&common)).then_some(Repository { own, common });
    }
    let worktree = values(&config(&own), |section, key| section == "core" && key == "worktree").pop()?;
    let points_back = pointer(&worktree, &own)? == real(place);
    (points_back && is_git_directory(&own)).then(|| Repository { common: own.clone(), own })
}

/// The path that a file of git holds.
fn pointer(text: &str, from: &Path) -> Option<PathBuf> {
    let path = text.trim();
    (!path.is_empty()).then(|| fs::canonicalize(from.join(path)).ok()).flatten()
}

fn is_git_directory(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

impl Repository {
    /// The folders of hooks: its own and those of its submodules.
    pub(crate) fn hooks(&self) -> Vec<PathBuf> {
        let mut found = vec![self.common.join("hooks")];
        submodules(&self.common.join("modules"), 4, &mut found);
        found
    }

    /// The addresses of its remotes and submodules.
    pub(crate) fn remotes(&self) -> Vec<String> {
        let is_address = |section: &str, key: &str| match section {
            "remote" => key == "url" || key == "pushurl",
            "submodule" => key == "url",
            _ => false,
        };
        values(&config(&self.common), is_address)
    }
}

/// A submodule may have a name with slashes, so its folder may be some levels down.
fn submodules(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = entry.path();
        if is_git_directory(&path) {
            found.push(path.join("hooks"));
            submodules(&path.join("modules"), levels, found);
        } else if levels > 0 {
            submodules(&path, levels - 1, found);
        }
    }
}

fn config(directory: &Path) -> String {
    fs::read_to_string(directory.join("config")).unwrap_or_default()
}

/// The values of the keys that are asked for. What a file includes is not followed.
fn values(text: &str, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut section = String::new();
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim().to_owned();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            let end = head.find("\"]").map(|at| at + 1).or_else(|| head.find(']')).unwrap_or(head.len());
            let name = head[..end].split_whitespace().next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            // A key may follow in the same line.
            line = head.get(end + 1..).unwrap_or_default().trim().to_owned();
        }
        while line.ends_with('\\') && !line.ends_with("\\\\") {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim());
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        if wanted(&section, &key.trim().to_ascii_lowercase()) {
            found.push(unquoted(value.trim()));
        }
    }
    found
}

/// A value without quotes, escapes and what follows as a comment.
fn unquoted(text: &str) -> String {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => value.extend(letters.next()),
            '#' | ';' if !is_quoted => break,
            _ => value.push(letter),
        }
    }
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_are_read_as_git_reads_them() {
        let text = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@github.com:o/r.git ; ours\n\tfetch = +x\n\
                    [Remote \"b\"]\n  URL = \"https://a.b/#c\"\n\tpushurl=ssh://x/\\\n  y\n# url = no\n[branch \"url\"]\nurl = no\n\
                    [submodule \"s]\"] url = https://c.d/s";
        let is_url = |section: &str, key: &str| ["remote", "submodule"].contains(&section) && key.ends_with("url");
        let expected = ["git@github.com:o/r.git", "https://a.b/#c", "ssh://x/y", "https://c.d/s"];
        assert_eq!(values(text, is_url), expected);
    }
}
