//! Servers over HTTP: where they are, and how a client comes by the token.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::client::HttpEntry;
use super::connection::{HttpServer, TOKEN_VARIABLE, Token};
use super::file::SettingsFile;
use super::job::{Job, Scope};
use crate::settings::Settings;
use crate::surroundings;

/// Stands for the server of this machine.
pub(super) const LOCAL: &str = "local";
/// Where the server of this machine listens, where nobody said anything else.
const USUAL: &str = "127.0.0.1:8765";

/// The server that an entry leads to.
pub(super) fn server(
    job: &Job,
    url: &str,
    copy_token: bool,
    settings: &Settings,
    state: Option<&Path>,
) -> Result<HttpServer> {
    let title = job.client.title;
    let HttpEntry::Supported { referring, .. } = &job.client.http else {
        bail!("{title} starts servers itself and knows none over HTTP in its settings: leave --http out");
    };
    let url = complete(if url == LOCAL { settings.http.listen.as_deref().unwrap_or(USUAL) } else { url })?;
    if !copy_token {
        ensure!(
            referring.is_some(),
            "{title} cannot take the token from a variable: --copy-token writes it into your settings"
        );
        return Ok(HttpServer { url, token: Token::Variable });
    }

    let file = job.path.display();
    ensure!(
        job.scope == Scope::User,
        "{file} is shared with everybody who has the project, and whoever has the token can run commands as you: leave \
         --copy-token out, and the entry refers to {TOKEN_VARIABLE} where {title} can do that"
    );
    let open = SettingsFile::read(&job.path)?.is_open_to_others();
    ensure!(!open, "others can read {file}, and would have the token: chmod 600 {file} first");
    Ok(HttpServer { url, token: Token::Copied(read_token(&token_file(settings, state)?)?) })
}

/// An address or a URL as a client takes it.
fn complete(url: &str) -> Result<String> {
    ensure!(!url.starts_with("unix:"), "clients cannot reach a socket: give --http a URL, as in http://{USUAL}/mcp");
    let with_scheme = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let rest = with_scheme.strip_prefix("http://").or_else(|| with_scheme.strip_prefix("https://"));
    let host = rest.unwrap_or_default().split('/').next().unwrap_or_default();
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
    let is_host = !host.is_empty() && host.bytes().all(good) && (host.contains([':', '.']) || host == "localhost");
    ensure!(is_host, "'{url}' is not a URL: write one as in http://{USUAL}/mcp");
    let has_path = rest.is_some_and(|rest| rest.trim_end_matches('/') != host);
    Ok(if has_path { with_scheme } else { format!("{}/mcp", with_scheme.trim_end_matches('/')) })
}

/// Where the server of this machine keeps its token.
pub(super) fn token_file(settings: &Settings, state: Option<&Path>) -> Result<PathBuf> {
    match (&settings.http.token_file, state) {
        (Some(file), _) => Ok(file.clone()),
        (None, Some(state)) => Ok(state.join("http-token")),
        (None, None) => Ok(surroundings::state_directory()?.join("http-token")),
    }
}

pub(super) fn read_token(file: &Path) -> Result<String> {
    let shown = file.display();
    let token = fs::read_to_string(file)
        .with_context(|| format!("there is no token in {shown} yet; the server makes it: chiton mcp --http {USUAL}"))?;
    Ok(token.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn an_address_becomes_a_url() {
        let cases = [
            ("127.0.0.1:8765", "http://127.0.0.1:8765/mcp"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1/mcp"),
            ("http://127.0.0.1:1/", "http://127.0.0.1:1/mcp"),
            ("http://[::1]:1/mcp", "http://[::1]:1/mcp"),
            ("localhost:9", "http://localhost:9/mcp"),
            ("https://build.example.com", "https://build.example.com/mcp"),
            ("https://example.com/tools/mcp", "https://example.com/tools/mcp"),
        ];
        for (given, url) in cases {
            assert_eq!(complete(given).expect(given), url);
        }
        for wrong in ["cursor", "", "unix:/run/x", "ftp://a.b/", "http://", "http:///mcp", "http://a b.c/"] {
            assert!(complete(wrong).is_err(), "{wrong}");
        }
    }
}
