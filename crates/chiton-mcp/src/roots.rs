//! Where a client's commands start if nobody has chosen a directory: in the first root of the client.
//!
//! Some clients start servers in `/` or in the home directory, and say by their roots where the work is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, InputRequest, InputRequests, InputRequiredResult, ListRootsResult};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long a call waits for the roots of its client.
pub(crate) const PATIENCE: Duration = Duration::from_millis(300);

/// The name of the question among the requests of a call.
const KEY: &str = "roots";

/// Where commands start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartDirectory {
    /// Where somebody said.
    #[default]
    Chosen,
    /// Nobody said where, so the roots of a client decide unless one of them has the current directory in it. A client
    /// that was started in the home directory was not started anywhere in particular.
    Open {
        /// The home directory, where there is one.
        home: Option<PathBuf>,
    },
}

/// Where a client works, by its roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPlace {
    /// Where its commands start.
    pub directory: PathBuf,
    /// All folders that it works in.
    pub roots: Vec<PathBuf>,
}

/// Whether the roots of a client are known.
#[derive(Clone, Copy, Debug)]
enum Roots {
    /// They are, as far as they will be.
    Settled,
    /// They were asked for, or will be soon.
    Awaited(Instant),
}

/// Waits for the roots of one client.
pub(crate) struct RootsWait(watch::Sender<Roots>);

impl RootsWait {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Roots::Settled))
    }

    /// From now on, calls wait for the roots.
    pub(crate) fn begin(&self) {
        self.0.send_replace(Roots::Awaited(Instant::now()));
    }

    /// There is nothing more to wait for.
    pub(crate) fn end(&self) {
        self.0.send_replace(Roots::Settled);
    }

    /// Waits until the roots are known, but not for long.
    pub(crate) async fn over(&self) {
        let mut roots = self.0.subscribe();
        let Roots::Awaited(since) = *roots.borrow() else { return };
        let _ = timeout_at(since + PATIENCE, roots.wait_for(|roots| matches!(roots, Roots::Settled))).await;
    }
}

impl StartDirectory {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether `directory` is one that a client starts servers in for want of a better one.
    pub(crate) fn is_nowhere(&self, directory: &Path) -> bool {
        let Self::Open { home } = self else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let here = real(directory);
        here == Path::new("/") || home.as_deref().map(real).as_ref() == Some(&here)
    }

    /// Where a client with these roots works, if that is not just `directory`.
    pub(crate) fn place<'a>(&self, directory: &Path, roots: impl IntoIterator<Item = &'a str>) -> Option<ClientPlace> {
        let uris: Vec<&str> = roots.into_iter().collect();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let roots = uris.iter().filter_map(|uri| path_of(uri)).filter(|path| path.is_dir());
        let roots: Vec<PathBuf> = roots.map(|path| real(&path)).collect();
        let chosen = self.choose(directory, uris);
        let here = real(chosen.as_deref().unwrap_or(directory));
        let has_more = self.is_open() && roots.iter().any(|root| !root.starts_with(&here));
        (chosen.is_some() || has_more)
            .then(|| ClientPlace { directory: chosen.unwrap_or_else(|| directory.to_owned()), roots })
    }

    /// Where to start instead of `directory`, if these roots are a reason to.
    fn choose<'a>(&self, directory: &Path, roots: impl IntoIterator<Item = &'a str>) -> Option<PathBuf> {
        let exists = |path: PathBuf| path.is_dir().then(|| path.canonicalize().ok().map(|real| (path, real)))?;
        let roots: Vec<(PathBuf, PathBuf)> = roots.into_iter().filter_map(path_of).filter_map(exists).collect();
        let here = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let is_inside = roots.iter().any(|(_, real)| here.starts_with(real));
        if !self.is_open() || is_inside && !self.is_nowhere(directory) {
            return None;
        }
        roots.into_iter().next().filter(|(_, real)| *real != here).map(|(path, _)| path)
    }
}

/// The answer to a call that asks for the roots, in the revision that has no other way to ask.
pub(crate) fn ask_later() -> Option<InputRequiredResult> {
    let request: InputRequest = serde_json::from_value(json!({"method": "roots/list"})).ok()?;
    Some(InputRequiredResult::new(Some(InputRequests::from([(KEY.to_owned(), request)])), None))
}

/// The roots that a call brings along.
pub(crate) fn brought(request: &CallToolRequestParams) -> Option<ListRootsResult> {
    let roots = request.input_responses.as_ref()?.get(KEY)?;
    serde_json::from_value(roots.clone()).ok()
}

/// The path that a `file:` URI names on this machine.
fn path_of(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once("://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !scheme.eq_ignore_ascii_case("file") || !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    (!bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_path_of_this_machine() {
        for (uri, path) in [
            ("file:///home/me", Some("/home/me")),
            ("FILE://localhost/home/me", Some("/home/me")),
            ("file:///a%20b/%C3%B6", Some("/a b/ö")),
            ("file:///100%", Some("/100%")),
            ("file:///a%zz%2", Some("/a%zz%2")),
            ("file://elsewhere/home", None),
            ("https://example.org/", None),
            ("file:///a%00b", None),
            ("/home/me", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn a_root_is_chosen_where_the_current_directory_says_nothing() {
        let open = StartDirectory::Open { home: Some("/usr".into()) };
        let choose = |here: &str, roots: &[&str]| open.choose(Path::new(here), roots.iter().copied());
        let etc = Some(PathBuf::from("/etc"));
        assert_eq!(choose("/", &["file:///etc"]), etc);
        assert_eq!(choose("/usr", &["file:///etc", "file:///usr"]), etc, "the home directory");
        assert_eq!(choose("/usr/bin", &["file:///etc"]), etc, "in no root");
        assert_eq!(choose("/usr/bin", &["file:///no/such", "file:///etc"]), etc, "one that is not there");
        assert_eq!(choose("/usr/bin", &["file:///etc", "file:///usr"]), None, "in one of them");
        assert_eq!(choose("/usr/bin", &[]), None);
        assert_eq!(choose("/", &["file:///"]), None, "it is there already");
        assert_eq!(choose("/", &["file:///etc/passwd", "http://x/etc"]), None, "not a directory");
        assert_eq!(StartDirectory::Chosen.choose(Path::new("/"), ["file:///etc"]), None);
    }
}
