//! Which paths hold what a command has made itself: of those nothing has to be kept.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Where what is at a path comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The command made it, with everything in it.
    Own,
    /// It was there before the command, with everything in it.
    Former,
}

/// The origins of what is at paths now. What nothing is known of was there before, unless it is inside of something that
/// the command made.
#[derive(Debug, Default)]
pub(super) struct Origins(BTreeMap<PathBuf, Origin>);

impl Origins {
    /// Whether the command made what is there.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        // The root of all was there before.
        !self.0.is_empty() && path.ancestors().find_map(|above| self.0.get(above)) == Some(&Origin::Own)
    }

    pub(super) fn made(&mut self, path: &Path) {
        if !self.is_own(path) {
            self.0.insert(path.to_owned(), Origin::Own);
        }
    }

    /// What was there before the command has this name as well.
    pub(super) fn former(&mut self, path: &Path) {
        self.0.insert(path.to_owned(), Origin::Former);
    }

    /// What was at one path is at another one.
    pub(super) fn moved(&mut self, from: &Path, to: &Path) {
        self.forget(to);
        let origin = self.origin(from);
        let inside = self.take(from);
        self.0.remove(from);
        self.0.insert(to.to_owned(), origin);
        self.put(to, inside);
    }

    pub(super) fn exchanged(&mut self, one: &Path, other: &Path) {
        let (origin, another) = (self.origin(one), self.origin(other));
        let (inside, inside_other) = (self.take(one), self.take(other));
        self.0.insert(other.to_owned(), origin);
        self.0.insert(one.to_owned(), another);
        self.put(other, inside);
        self.put(one, inside_other);
    }

    fn origin(&self, path: &Path) -> Origin {
        if self.is_own(path) { Origin::Own } else { Origin::Former }
    }

    fn forget(&mut self, path: &Path) {
        self.take(path);
        self.0.remove(path);
    }

    /// Takes out what is known of everything inside, by its path there.
    fn take(&mut self, folder: &Path) -> Vec<(PathBuf, Origin)> {
        let behind = self.0.range::<Path, _>((Bound::Excluded(folder), Bound::Unbounded));
        let inside: Vec<PathBuf> =
            behind.map(|(path, _)| path.clone()).take_while(|path| path.starts_with(folder)).collect();
        let taken = inside.into_iter().filter_map(|path| {
            let origin = self.0.remove(&path)?;
            Some((path.strip_prefix(folder).ok()?.to_owned(), origin))
        });
        taken.collect()
    }

    fn put(&mut self, folder: &Path, inside: Vec<(PathBuf, Origin)>) {
        self.0.extend(inside.into_iter().map(|(path, origin)| (folder.join(path), origin)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> &Path {
        Path::new(text)
    }

    #[test]
    fn what_was_there_before_is_known_wherever_it_goes() {
        let mut origins = Origins::default();
        assert!(!origins.is_own(path("/w/old")));
        origins.made(path("/w/new"));
        assert!(origins.is_own(path("/w/new/file")) && !origins.is_own(path("/w/newer")));
        origins.moved(path("/w/old"), path("/w/new/old"));
        assert!(!origins.is_own(path("/w/new/old")) && !origins.is_own(path("/w/new/old/deep")));
        assert!(!origins.is_own(path("/w/old")), "what comes there next has to be written down");
        origins.moved(path("/w/new"), path("/w/b"));
        assert!(origins.is_own(path("/w/b/file")) && !origins.is_own(path("/w/b/old/deep")));
        origins.exchanged(path("/w/b"), path("/w/c"));
        assert!(
            origins.is_own(path("/w/c/file")) && !origins.is_own(path("/w/c/old")) && !origins.is_own(path("/w/b"))
        );
    }

    #[test]
    fn a_new_file_that_replaces_an_old_one_is_the_commands_own() {
        let mut origins = Origins::default();
        origins.made(path("/w/.tmp"));
        origins.moved(path("/w/.tmp"), path("/w/file"));
        assert!(origins.is_own(path("/w/file")));
    }
}
