//! Links, copies and mounts: under which other names something can be reached.

use std::collections::BTreeMap;
use std::path::Path;

use crate::effect::{Depth, Effect};
use crate::machine::Machine;
use crate::machine::state::World;
use crate::value::path;
use crate::value::{Flow, Labels, Piece, Text};

/// How many links one path is followed through.
const MOST_LINKS: usize = 8;

/// What else leads to a place, as far as the command itself has made it so.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Symbolic links, by their own path: where they lead.
    symbolic: BTreeMap<String, String>,
    /// Directories over which another one is mounted.
    mounted: BTreeMap<String, String>,
    /// Copies and hard links: what they are copies of.
    copies: BTreeMap<String, String>,
}

impl Links {
    /// Whether the command has made none.
    pub(crate) fn is_empty(&self) -> bool {
        self.symbolic.is_empty() && self.copies.is_empty() && self.mounted.is_empty()
    }

    /// Notes that a file is written anew.
    pub(crate) fn forget_copy(&mut self, path: &str) {
        if !self.copies.is_empty() {
            self.copies.remove(path);
        }
    }
}

impl Machine<'_> {
    /// Notes a symbolic link at `link`. What it says is relative to its own directory.
    pub(crate) fn note_link(&mut self, link: &str, leads_to: &str) {
        let directory = link.rsplit_once('/').map(|(directory, _)| directory).filter(|directory| !directory.is_empty());
        if let Some(target) = path::absolute(leads_to, Some(directory.unwrap_or("/"))) {
            self.links.symbolic.insert(link.to_owned(), target);
        }
    }

    /// Notes that the directory `place` is `directory` from now on.
    pub(crate) fn note_mount(&mut self, place: &str, directory: &str) {
        self.links.mounted.insert(place.to_owned(), directory.to_owned());
    }

    /// Notes that `copy` has the content of `original`.
    pub(crate) fn note_copy(&mut self, copy: &str, original: &str) {
        let original = self.links.copies.get(original).map_or(original, String::as_str).to_owned();
        self.links.copies.insert(copy.to_owned(), original);
    }

    /// The file that `path` is a copy of or a link to, where the command itself has made it one.
    pub(crate) fn original_of(&self, path: &str) -> Option<String> {
        if self.links.copies.is_empty() && self.links.symbolic.is_empty() {
            return None;
        }
        let real = self.followed(path, Last::Followed);
        let at = real.as_deref().unwrap_or(path);
        self.links.copies.get(at).cloned().or(real)
    }

    /// The file that a program without a directory in its name is a copy of or a link to.
    pub(crate) fn original_of_name(&self, name: &str) -> Option<String> {
        if self.links.copies.is_empty() && self.links.symbolic.is_empty() {
            return None;
        }
        let all = self.links.copies.iter().chain(&self.links.symbolic);
        let mut found =
            all.filter(|(path, _)| path.rsplit('/').next() == Some(name)).map(|(_, original)| original.clone());
        found.rfind(|original| original.rsplit('/').next() != Some(name))
    }

    /// Where `path` really lies; none where no link is on the way.
    pub(crate) fn physical(&self, path: &str) -> Option<String> {
        if self.links.symbolic.is_empty() && self.links.mounted.is_empty() {
            return None;
        }
        self.followed(path, Last::Followed)
    }

    /// What an effect on files is about when links are followed; none where there are none.
    pub(super) fn through_links(&self, effect: &Effect<'_>, world: &World) -> Option<Text> {
        let Links { symbolic, mounted, copies } = &self.links;
        let knows_links = !symbolic.is_empty() || !mounted.is_empty() || !copies.is_empty();
        if !knows_links && self.context.surroundings.is_none() {
            return None;
        }
        let (what, last) = match effect {
            Effect::Delete { what, depth, .. } => {
                let inside = matches!(depth, Depth::Contents | Depth::SomeBelow);
                (*what, if inside { Last::Followed } else { Last::Stays })
            }
            Effect::Write { what, .. }
            | Effect::Rights { what, .. }
            | Effect::OpenTree { what, .. }
            | Effect::Device { what, .. }
            | Effect::Print { what, .. }
            | Effect::Read { what } => (*what, Last::Followed),
            Effect::Move { what, .. } => (*what, Last::Stays),
            Effect::Of { .. } => return None,
        };
        if !what.is_decided() {
            return None;
        }
        // Patterns come behind the part that can be followed.
        let start = what.known_start();
        let split = if what.has_glob() { start.rfind('/').map_or(0, |at| at + 1) } else { start.len() };
        let last = if what.has_glob() || start.ends_with('/') { Last::Followed } else { last };
        let written = if split == 0 { "." } else { &start[..split] };
        let full =
            if written.starts_with('/') { written.to_owned() } else { format!("{}/{written}", world.cwd.as_ref()?) };

        if let Effect::Print { .. } = effect
            && let Some(original) = path::absolute(&full, None).and_then(|path| self.original_of(&path))
        {
            return Some(Text::known(original));
        }
        let real = self.followed(&full, last)?;
        if !what.has_glob() {
            return Some(Text::known(real));
        }
        let mut whole = Text::known(format!("{}/", real.trim_end_matches('/')));
        for piece in what.skip(split).0 {
            whole.push(piece);
        }
        Some(whole)
    }

    /// Follows links component by component; none where there was none.
    fn followed(&self, full: &str, last: Last) -> Option<String> {
        let mut rest: Vec<String> = components(full);
        rest.reverse();
        let mut at = String::new();
        let mut links = 0;
        let known = self.known_directory(full);
        while let Some(component) = rest.pop() {
            if component == ".." {
                at.truncate(at.rfind('/').unwrap_or(0));
                continue;
            }
            at.push('/');
            at.push_str(&component);
            let is_last = rest.is_empty() && last == Last::Stays;
            let target = self.links.mounted.get(&at).cloned().or_else(|| self.link_at(&at, is_last, known));
            if let Some(target) = target.filter(|target| *target != at) {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                let mut ahead = components(&target);
                ahead.reverse();
                rest.extend(ahead);
                at.clear();
            }
        }
        (links > 0).then(|| if at.is_empty() { "/".to_owned() } else { at })
    }

    /// Where the symbolic link at `path` leads.
    fn link_at(&self, path: &str, is_last: bool, known: usize) -> Option<String> {
        if is_last {
            return None;
        }
        if let Some(target) = self.links.symbolic.get(path) {
            return Some(target.clone());
        }
        // The directories in which the work is done are what they are.
        if path.len() <= known || self.files.contains_key(path) {
            return None;
        }
        let target = self.context.surroundings.as_ref()?.link(Path::new(path))?;
        let directory = path.rsplit_once('/').map(|(directory, _)| directory).filter(|directory| !directory.is_empty());
        path::absolute(&target.to_string_lossy(), Some(directory.unwrap_or("/")))
    }

    /// How much of a path is the workspace, home or the working directory, or leads there.
    fn known_directory(&self, path: &str) -> usize {
        let places = self.places();
        let cwd = self.context.cwd.to_string_lossy();
        let all = [places.workspace.as_str(), places.home.as_str(), &cwd];
        all.iter().filter(|place| path::is_within(path, place)).map(|place| place.len()).max().unwrap_or(0)
    }

    /// What is in a file that was written since the session began.
    pub(crate) fn file_on_disk(&mut self, path: &str) -> Option<Flow> {
        let surroundings = self.context.surroundings.as_ref()?;
        if path.contains(['\u{1}', '\0']) || path.starts_with("/dev/") || path.starts_with("/proc/") {
            return None;
        }
        let content = surroundings.recent_file(Path::new(path))?;
        let text = std::str::from_utf8(&content).ok().filter(|text| !text.contains('\0'))?.to_owned();
        if !self.created(text.len()) {
            return None;
        }
        self.rests_on.files.insert(path.into());
        Some(Flow { text: Some(text), labels: Labels::FILE.with(Labels::RECENT), ..Flow::default() })
    }

    /// Notes what copying or moving `source` to `target` brings there: content, and the program that it is.
    pub(crate) fn carry(&mut self, source: &str, flow: &Flow, target: &str) {
        if flow.text.is_some() || flow.labels.without(Labels::FILE) != Labels::default() {
            self.files.insert(target.to_owned(), flow.clone());
        }
        let original = self.original_of(source).unwrap_or_else(|| source.to_owned());
        self.note_copy(target, &original);
    }

    /// Files that the command has written below `directory`, by the rest of their path.
    pub(crate) fn written_below(&self, directory: &str) -> Vec<(String, Flow)> {
        let below = format!("{}/", directory.trim_end_matches('/'));
        let files = self.files.iter();
        files.filter_map(|(path, flow)| Some((path.strip_prefix(&below)?.to_owned(), flow.clone()))).collect()
    }
}

/// Whether a link that a path ends with is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Followed,
    Stays,
}

fn components(path: &str) -> Vec<String> {
    path.split('/').filter(|component| !matches!(*component, "" | ".")).map(str::to_owned).collect()
}

impl Text {
    /// What is known of it, as if everything else were empty.
    pub(crate) fn known_pieces(&self) -> String {
        let known = self.0.iter().filter_map(|piece| match piece {
            Piece::Known(text) | Piece::Glob(text) => Some(text.as_str()),
            Piece::Unknown(_) => None,
        });
        known.collect()
    }
}
