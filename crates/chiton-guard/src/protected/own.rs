//! The places of Chiton itself: a command must not change what decides how it is judged, what is kept about it, or what
//! it may not know.

use super::inside_home;
use crate::context::Context;
use crate::value::path::{self, Extent, is_within};
use crate::value::{Piece, Text, Unknown, What};

/// What a place of Chiton is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Its settings decide how commands are judged.
    Settings,
    /// The store of secrets and its key, and the token of the HTTP server.
    Secrets,
    /// The journal, runs, sessions and sockets.
    State,
}

impl Part {
    /// In words that follow "This would write to …:".
    pub(crate) const fn named(self) -> &'static str {
        match self {
            Self::Settings => "the settings of Chiton, which decide how commands are judged",
            Self::Secrets => "the secrets of Chiton or their key",
            Self::State => "the journal, the runs or the sessions of Chiton",
        }
    }
}

/// Where Chiton keeps things below a home directory when nobody says otherwise.
const BELOW_HOME: [(&str, Part); 3] =
    [(".config/chiton", Part::Settings), (".local/share/chiton", Part::Secrets), (".local/state/chiton", Part::State)];

/// Variables that say where such directories are.
const BY_VARIABLE: [(&str, Part); 4] = [
    ("XDG_CONFIG_HOME", Part::Settings),
    ("XDG_DATA_HOME", Part::Secrets),
    ("XDG_STATE_HOME", Part::State),
    ("XDG_RUNTIME_DIR", Part::State),
];

/// The places of Chiton in one context.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPlaces {
    /// Those that the context names, and those that its variables do.
    named: Vec<(String, Part)>,
}

impl OwnPlaces {
    pub(crate) fn new(context: &Context) -> Self {
        let places = &context.own_places;
        let of = |paths: &[std::path::PathBuf], part| {
            let text = |path: &std::path::PathBuf| path::absolute(&path.to_string_lossy(), None);
            paths
                .iter()
                .filter_map(text)
                .filter(|path| path.len() > 1)
                .map(move |path| (path, part))
                .collect::<Vec<_>>()
        };
        let mut named = of(&places.secrets, Part::Secrets);
        named.extend(of(&places.settings, Part::Settings));
        named.extend(of(&places.state, Part::State));

        for (variable, part) in BY_VARIABLE {
            if let Some(crate::context::Held::Scalar(directory)) = context.variable(variable)
                && directory.starts_with('/')
                && let Some(path) = path::absolute(&format!("{directory}/chiton"), None)
            {
                named.push((path, part));
            }
        }
        Self { named }
    }

    /// Which part of Chiton `path` is, or lies in.
    pub(crate) fn part_of(&self, path: &str, home: &str) -> Option<Part> {
        let found = self.named.iter().find(|(place, _)| is_within(path, place)).map(|(_, part)| *part);
        let found = found.or_else(|| by_name(path, home))?;
        // The token lies among the state, and must not even be read.
        let is_token = found == Part::State && path.rsplit('/').next() == Some("http-token");
        Some(if is_token { Part::Secrets } else { found })
    }

    /// Which part of Chiton a pattern may match, or what lies in it.
    pub(crate) fn matched(&self, pattern: &str, home: &str) -> Option<Part> {
        let below_home = BELOW_HOME.iter().map(|(place, part)| (format!("{home}/{place}"), *part));
        let mut places = self.named.iter().cloned().chain(below_home);
        places.find(|(place, _)| matches_start(pattern, place)).map(|(_, part)| part)
    }

    /// Whether `path`, which may be a pattern, is or may match one of the secrets.
    pub(crate) fn holds_secret(&self, path: &str, home: &str) -> bool {
        if !path.contains(['*', '?', '[']) {
            return self.part_of(path, home) == Some(Part::Secrets);
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        match self.matched(path, home) {
            Some(Part::Secrets) => true,
            Some(Part::State) => crate::value::glob::matches(name, "http-token"),
            _ => false,
        }
    }

    /// Whether one of these places lies where people work.
    pub(crate) fn lies_in_workspace(&self, workspace: &str) -> bool {
        self.named.iter().any(|(place, _)| is_within(place, workspace))
    }

    /// Whether one of these places lies below the directory `path`.
    pub(crate) fn lies_below(&self, path: &str, extent: Extent, home: &str) -> bool {
        let is_below = |place: &str| is_within(place, path) && (extent != Extent::Itself || place != path);
        self.named.iter().any(|(place, _)| is_below(place))
            || inside_home(path, home).is_some_and(|inside| {
                !inside.is_empty() && BELOW_HOME.iter().any(|(place, _)| is_within(place, inside))
            })
    }
}

/// Which part of Chiton a path is by its look.
fn by_name(path: &str, home: &str) -> Option<Part> {
    if is_within(path, "/etc/chiton") {
        return Some(Part::Settings);
    }
    if let Some(inside) = inside_home(path, home) {
        return BELOW_HOME.iter().find(|(place, _)| is_within(inside, place)).map(|(_, part)| *part);
    }
    let of_user = path.strip_prefix("/run/user/").and_then(|rest| rest.split_once('/'));
    of_user.filter(|(_, rest)| is_within(rest, "chiton")).map(|_| Part::State)
}

/// Whether the components of `pattern` match those of `place`, and perhaps go on.
fn matches_start(pattern: &str, place: &str) -> bool {
    let depth = place.split('/').count();
    let mut end = pattern.len();
    if let Some((at, _)) = pattern.match_indices('/').nth(depth - 1) {
        end = at;
    }
    path::matches_path(&pattern[..end], place)
}

/// Which part of Chiton a text names by a variable whose value nobody knows: `$XDG_STATE_HOME/chiton/audit`.
pub(crate) fn by_variable(text: &Text) -> Option<Part> {
    let [Piece::Unknown(Unknown { what: What::Variable(name), .. }), Piece::Known(rest), ..] = text.0.as_slice() else {
        return None;
    };
    let rest = rest.trim_start_matches('/');
    let (_, part) = BY_VARIABLE.iter().find(|(variable, _)| variable == name)?;
    let is_token = *part == Part::State && rest.ends_with("/http-token");
    is_within(rest, "chiton").then_some(if is_token { Part::Secrets } else { *part })
}
