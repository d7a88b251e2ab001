//! The work of a developer: folders directly below home, and git worktrees outside the workspace.

use crate::context::Surroundings;
use crate::protected::{inside_home, is_disposable};
use crate::value::path;

/// Folders below a home directory that programs fill and fill again: caches, package stores, tool chains.
const CACHES: [&str; 71] = [
    ".Trash", ".android", ".bazel", ".bun", ".bundle", ".cache", ".ccache", ".cmake", ".composer", ".conan", ".conan2",
    ".conda", ".config/Code/Cache", ".config/Code/CachedData", ".cpan", ".cpanm", ".cursor-server", ".dartServer",
    ".deno", ".dlv", ".eslintcache", ".expo", ".fnm", ".gem", ".gradle", ".hex", ".hawtjni", ".ivy2", ".java",
    ".jbang", ".julia/compiled", ".jupyter/runtime", ".keras", ".kube/cache", ".local/share/Trash", ".local/pipx",
    ".m2", ".matplotlib", ".minikube/cache", ".mix", ".mypy_cache", ".next", ".node-gyp", ".node_modules", ".npm",
    ".nuget", ".nv", ".nvm", ".nx", ".opam", ".parcel-cache", ".phpunit.result.cache", ".pip", ".pnpm-store",
    ".pub-cache", ".pyenv", ".pytest_cache", ".rbenv", ".ruff_cache", ".rustup", ".sbt", ".sdkman", ".terraform",
    ".thumbnails", ".tox", ".turbo", ".venv", ".virtualenvs", ".volta", ".vscode-server", ".yarn",
];

/// Folders that a build makes, wherever they lie.
const BUILT: [&str; 38] = [
    "node_modules", "bower_components", "build", "_build", "dist", "target", "out", "output", "bin", "obj", "tmp",
    "temp", "venv", "env", ".venv", "virtualenv", "__pycache__", "coverage", "htmlcov", ".cache", "cache", "logs",
    "log", ".next", ".nuxt", ".output", ".svelte-kit", ".parcel-cache", ".turbo", ".gradle", ".tox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", "cmake-build-debug", "cmake-build-release", "Debug", "Release",
];

/// Endings of files, which are not folders with work in them.
const FILE_ENDINGS: [&str; 48] = [
    "7z", "a", "apk", "AppImage", "bak", "bin", "bz2", "c", "cfg", "conf", "core", "csv", "deb", "db", "dmg", "gif",
    "gz", "html", "img", "ini", "iso", "jar", "jpg", "js", "json", "lock", "log", "md", "o", "old", "out", "pdf",
    "pid", "png", "py", "rpm", "run", "sh", "so", "sql", "swp", "tar", "tgz", "tmp", "txt", "xml", "xz", "zip",
];

/// Names of folders below home that developers keep their projects in, for patterns that may match them.
pub(super) const USUAL: [&str; 18] = [
    "Projects", "projects", "Project", "src", "code", "Code", "work", "Work", "dev", "Developer", "Development",
    "repos", "git", "github", "workspace", "workspaces", "go", "sites",
];

/// Whether programs fill `inside`, a path below home, and would fill it again.
pub(super) fn is_cache(inside: &str) -> bool {
    let top = inside.split('/').next().unwrap_or_default();
    CACHES.iter().any(|cache| path::is_within(inside, cache)) || top.to_ascii_lowercase().contains("cache")
}

/// Whether the last name of `path` is one that a build or a test makes.
fn is_built(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    BUILT.contains(&name) || name.ends_with(".egg-info") || name.starts_with("cmake-build-") || is_scratch(name)
}

/// Whether a name says that its owner will not miss it: `tmp-4`, `test_tmp`, `scratch.old`.
fn is_scratch(name: &str) -> bool {
    let mut words = name.split(['-', '_', '.']);
    words.any(|word| matches!(word, "tmp" | "temp" | "scratch" | "tmpdir"))
}

fn is_file_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending))
}

/// What `path` is, if it is a folder directly below a home directory that may hold anything.
pub(super) fn folder_of_home(path: &str, home: &str) -> Option<&'static str> {
    let inside = inside_home(path, home)?;
    let is_top = !inside.is_empty() && !inside.contains('/') && inside != "\u{1}";
    let comes_again = is_cache(inside) || is_built(inside) || is_file_name(inside);
    (is_top && !comes_again).then_some("a folder directly below the home directory")
}

/// What `path` is, if deleting it deletes a repository that is not the workspace.
pub(super) fn repository(path: &str, home: &str, surroundings: Option<&dyn Surroundings>) -> Option<&'static str> {
    let comes_again = is_disposable(path) || inside_home(path, home).is_some_and(is_cache) || is_built(path);
    if comes_again {
        return None;
    }
    if path.ends_with("/.git") {
        return Some("the history of another repository");
    }
    let is_worktree = surroundings.is_some_and(|around| around.is_worktree(std::path::Path::new(path)));
    is_worktree.then_some("a git repository outside the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_home_is_work_unless_programs_fill_it() {
        let is_work = |path: &str| folder_of_home(path, "/home/dev").is_some();
        for path in ["/home/dev/Projects", "/home/dev/src", "/home/dev/my.site", "/home/dev/.emacs.d", "/root/code"] {
            assert!(is_work(path), "{path}");
        }
        for path in [
            "/home/dev/.cache", "/home/dev/.npm", "/home/dev/node_modules", "/home/dev/x.tar.gz", "/home/dev/tmp-3",
            "/home/dev/Projects/x", "/srv/x", "/home/dev/.nvm",
        ] {
            assert!(!is_work(path), "{path}");
        }
    }

    #[test]
    fn the_lists_hold_each_name_once() {
        for list in [&CACHES[..], &BUILT[..], &FILE_ENDINGS[..], &USUAL[..]] {
            let mut names = list.to_vec();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), list.len());
        }
    }
}
