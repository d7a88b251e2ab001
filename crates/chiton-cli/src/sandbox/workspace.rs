//! What the workspace is: the directory served, the client's roots, what `--add-dir` names, and their git directories.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::git::{self, Repository};
use super::paths::real;

/// Where the work is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// Folders, links followed.
    pub(crate) roots: Vec<PathBuf>,
    /// The repositories that they are in.
    pub(crate) repositories: Vec<Repository>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

impl Workspace {
    /// `served` is where commands start, `roots` is what the client says, `added` what a person names.
    pub(crate) fn find(served: &Path, roots: &[PathBuf], added: &[PathBuf], home: Option<&Path>) -> Result<Self> {
        let home = home.map(real);
        let mut found = Self::default();
        for place in [served].into_iter().chain(roots.iter().map(PathBuf::as_path)) {
            let place = real(place);
            if let Some(what) = too_wide(&place, home.as_deref()) {
                let place = place.display();
                found.notes.push(format!(
                    "{place} is {what}, so it is not a workspace: start in the folder of a project, or name one with --add-dir DIR"
                ));
            } else {
                found.add(place, home.as_deref());
            }
        }
        for place in added {
            ensure!(place.is_dir(), "--add-dir {}: not a directory", place.display());
            found.add(real(&std::path::absolute(place)?), home.as_deref());
        }
        Ok(found)
    }

    fn add(&mut self, root: PathBuf, home: Option<&Path>) {
        if self.roots.contains(&root) {
            return;
        }
        if let Some(repository) = git::repository(&root, home).filter(|found| !self.repositories.contains(found)) {
            self.repositories.push(repository);
        }
        self.roots.push(root);
    }

    /// Git directories that are not in a root.
    pub(crate) fn outer_git_directories(&self) -> Vec<&Path> {
        let mut found: Vec<&Path> = Vec::new();
        for path in self.repositories.iter().flat_map(|repository| [&repository.common, &repository.own]) {
            let covered = self.roots.iter().map(PathBuf::as_path).chain(found.iter().copied());
            if !{ covered }.any(|root| path.starts_with(root)) {
                found.push(path);
            }
        }
        found
    }
}

/// In words, why a folder is more than a workspace.
pub(crate) fn too_wide(place: &Path, home: Option<&Path>) -> Option<&'static str> {
    if place.parent().is_none() {
        return Some("the root of all files");
    }
    match home {
        Some(home) if home == place => Some("the home directory"),
        Some(home) if home.starts_with(place) => Some("above the home directory"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn git_directory(path: &Path) {
        fs::create_dir_all(path.join("objects")).unwrap();
        fs::create_dir_all(path.join("refs")).unwrap();
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn the_home_directory_and_what_is_above_it_are_no_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let home = real(folder.path()).join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).unwrap();
        for (served, added, roots, notes) in [
            (project.as_path(), &[][..], vec![project.clone()], 0),
            (&home, &[], vec![], 1),
            (home.parent().unwrap(), &[], vec![], 1),
            (Path::new("/"), &[], vec![], 1),
            (&home, std::slice::from_ref(&project), vec![project.clone()], 1),
        ] {
            let found = Workspace::find(served, &[], added, Some(&home)).unwrap();
            assert_eq!((&found.roots, found.notes.len()), (&roots, notes), "{}", served.display());
            assert!(found.notes.iter().all(|note| note.contains("--add-dir")));
        }
        let found = Workspace::find(&home, std::slice::from_ref(&project), &[], Some(&home)).unwrap();
        assert_eq!(found.roots, [project], "a client's root counts");
        let gone = [home.join("gone")];
        assert!(Workspace::find(&home, &[], &gone, Some(&home)).unwrap_err().to_string().contains("not a directory"));
    }

    #[test]
    fn a_linked_worktree_has_the_git_directory_that_points_back_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = real(folder.path());
        let (main, tree, evil) = (base.join("main/.git"), base.join("tree"), base.join("evil"));
        git_directory(&main);
        git_directory(&evil.join("trap"));
        let own = main.join("worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/x\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();

        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        let found = Workspace::find(&tree, &[], &[], None).unwrap();
        assert_eq!(found.outer_git_directories(), [main.as_path()]);
        assert_eq!(found.repositories[0].hooks(), [main.join("hooks")]);

        let thief = base.join("thief");
        fs::create_dir_all(&thief).unwrap();
        for claim in [&own, &evil.join("trap"), &main, &base] {
            fs::write(thief.join(".git"), format!("gitdir: {}\n", claim.display())).unwrap();
            let found = Workspace::find(&thief, &[], &[], None).unwrap();
            assert_eq!(found.repositories, [], "{} does not point back", claim.display());
        }
    }

    #[test]
    fn the_git_directory_of_a_submodule_and_of_a_folder_above_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let base = real(folder.path());
        let (git, module) = (base.join("r/.git"), base.join("r/.git/modules/lib/x"));
        git_directory(&git);
        git_directory(&module);
        let place = base.join("r/lib/x");
        fs::create_dir_all(&place).unwrap();
        fs::create_dir_all(base.join("r/src")).unwrap();
        fs::write(module.join("config"), "[core]\n\tworktree = ../../../../lib/x\n").unwrap();
        fs::write(place.join(".git"), "gitdir: ../../.git/modules/lib/x\n").unwrap();
        let found = Workspace::find(&place, &[], &[], None).unwrap();
        assert_eq!(found.outer_git_directories(), [module.as_path()]);
        let found = Workspace::find(&base.join("r/src"), &[], &[], None).unwrap();
        assert_eq!(found.outer_git_directories(), [git.as_path()]);
        assert_eq!(found.repositories[0].hooks(), [git.join("hooks"), module.join("hooks")]);
        let at_home = Workspace::find(&base.join("r/src"), &[], &[], Some(&base.join("r"))).unwrap();
        assert_eq!(at_home.repositories, [], "not a repository of the home directory");
    }
}
