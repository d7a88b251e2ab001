//! Where the journal is sent, as the settings say.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use chiton_engine::secrets::{SecretStore, reference};
use http::header::{HeaderName, HeaderValue};
use http::uri::{Scheme, Uri};

use crate::audit_settings::AuditSettings;
use crate::passphrase::PassphraseSource;
use crate::secret_sources::SecretSourceArguments;
use crate::settings::Settings;

/// The port on which receivers listen.
const PORT: u16 = 4318;
/// What the settings say where the variables of OpenTelemetry name the receiver.
const BY_ENVIRONMENT: &str = "env";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Where a receiver takes logs.
const PATH: &str = "/v1/logs";

/// A receiver of OTLP over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As people know it.
    pub(crate) url: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// `HOST:PORT`, as the request names it.
    pub(super) authority: String,
    pub(super) path: String,
    /// Values may have references to secrets.
    headers: Vec<(HeaderName, String)>,
    secrets: SecretSourceArguments,
}

impl Target {
    /// The receiver that the settings name.
    ///
    /// # Errors
    /// When they name something else.
    pub(crate) fn of(settings: &Settings) -> Result<Option<Self>> {
        let AuditSettings { otlp, otlp_headers, .. } = &settings.audit;
        let Some(named) = otlp.as_deref().filter(|named| !named.is_empty()) else {
            ensure!(otlp_headers.is_empty(), "audit.otlp_headers is set, but audit.otlp, the receiver, is not");
            return Ok(None);
        };
        let mut headers = otlp_headers.clone();
        let (url, from) = if named == BY_ENVIRONMENT {
            let given = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
            let url = given(ENDPOINT).with_context(|| {
                format!(
                    "audit.otlp is \"env\", but the variable {ENDPOINT} is not set; set it, as in http://127.0.0.1:4318"
                )
            })?;
            headers.extend(given(HEADERS).map(|text| parse_headers(&text)).transpose()?.unwrap_or_default());
            (url, format!("{ENDPOINT}="))
        } else {
            (named.to_owned(), "audit.otlp = ".to_owned())
        };
        let target = Self::parse(&url, &headers, SecretSourceArguments::default().with(&settings.secrets));
        target.map(Some).with_context(|| format!("{from}{url}"))
    }

    fn parse(url: &str, headers: &BTreeMap<String, String>, secrets: SecretSourceArguments) -> Result<Self> {
        const LIKE: &str = "write it as http://127.0.0.1:4318";
        let uri: Uri = url.parse().ok().with_context(|| format!("this is not a URL; {LIKE}"))?;
        if uri.scheme() == Some(&Scheme::HTTPS) {
            bail!(
                "Chiton has no TLS: let an OpenTelemetry collector on this machine take the records at \
                 http://127.0.0.1:4318 and send them on"
            );
        }
        ensure!(uri.scheme() == Some(&Scheme::HTTP), "this is not an http:// URL; {LIKE}");
        let authority = uri.authority().with_context(|| format!("there is no host in it; {LIKE}"))?;
        ensure!(!authority.as_str().contains('@'), "put credentials into audit.otlp_headers, not into the URL");
        ensure!(uri.query().is_none(), "a receiver has no query (what follows the ?); {LIKE}");
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        ensure!(!host.is_empty(), "there is no host in it; {LIKE}");
        let port = match authority.as_str()[authority.host().len()..].strip_prefix(':') {
            Some(port) => {
                port.parse().ok().filter(|port| *port > 0).with_context(|| format!("'{port}' is not a port"))?
            }
            None => PORT,
        };
        let path = uri.path().trim_end_matches('/');
        let path = if path.ends_with(PATH) { path.to_owned() } else { format!("{path}{PATH}") };
        let parsed = headers.iter().map(|(name, value)| {
            let parsed = HeaderName::try_from(name.as_str());
            let parsed =
                parsed.ok().with_context(|| format!("audit.otlp_headers: '{name}' is not the name of a header"))?;
            ensure!(
                HeaderValue::try_from(value).is_ok(),
                "audit.otlp_headers: a header has no such value as that of {name}"
            );
            Ok((parsed, value.clone()))
        });
        Ok(Self {
            url: format!("http://{}:{port}{path}", authority.host()),
            authority: format!("{}:{port}", authority.host()),
            headers: parsed.collect::<Result<_>>()?,
            host,
            port,
            path,
            secrets,
        })
    }

    /// The headers with their values, which may be secrets. A source of them may take its time.
    pub(super) fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let needs_store = self.headers.iter().any(|(_, value)| !reference::find(value.as_bytes()).is_empty());
        let store =
            if needs_store { self.secrets.store(PassphraseSource::FromEnvironment)? } else { SecretStore::empty() };
        let with_value = |(name, text): &(HeaderName, String)| {
            let value = with_secrets(text, &store).with_context(|| format!("audit.otlp_headers: {name}"))?;
            let mut value =
                HeaderValue::try_from(value).context("the value of the secret does not fit into a header")?;
            value.set_sensitive(true);
            Ok((name.clone(), value))
        };
        self.headers.iter().map(with_value).collect()
    }
}

fn with_secrets(text: &str, store: &SecretStore) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    let mut rest = 0;
    for (place, reference) in reference::find(text.as_bytes()) {
        let secret = store.look_up(&reference)?.with_context(|| format!("there is no secret {reference}"))?;
        value.extend_from_slice(&text.as_bytes()[rest..place.start]);
        value.extend_from_slice(secret.value.expose());
        rest = place.end;
    }
    value.extend_from_slice(&text.as_bytes()[rest..]);
    Ok(value)
}

/// `name=value,name=value`, with what is special in percent signs.
fn parse_headers(text: &str) -> Result<BTreeMap<String, String>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let parse = |pair: &str| {
        let pair = pair.split_once('=').map(|(name, value)| (name.trim().to_owned(), decode(value.trim())));
        pair.with_context(|| format!("{HEADERS} is written as name=value,name=value"))
    };
    pairs.map(parse).collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%');
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target> {
        Target::parse(url, &BTreeMap::new(), SecretSourceArguments::default())
    }

    #[test]
    fn a_receiver_is_a_base_address_or_the_whole_one() {
        for (given, url, host) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/logs", "127.0.0.1"),
            ("http://collector", "http://collector:4318/v1/logs", "collector"),
            ("http://collector:80/otlp/", "http://collector:80/otlp/v1/logs", "collector"),
            ("http://collector:80/otlp/v1/logs", "http://collector:80/otlp/v1/logs", "collector"),
            ("http://[::1]:9", "http://[::1]:9/v1/logs", "::1"),
        ] {
            let target = parse(given).unwrap();
            assert_eq!((target.url.as_str(), target.host.as_str()), (url, host), "{given}");
        }
    }

    #[test]
    fn what_is_not_one_is_refused_with_the_reason() {
        for (given, reason) in [
            ("https://collector:4318", "no TLS"),
            ("127.0.0.1:4318", "not a"),
            ("collector", "not an http://"),
            ("ftp://collector", "not an http://"),
            ("http://", "not a URL"),
            ("http://a:b@collector", "otlp_headers"),
            ("http://collector:99999", "not a"),
            ("http://collector?key=1", "query"),
            ("http://two words", "not a URL"),
        ] {
            let problem = format!("{:#}", parse(given).unwrap_err());
            assert!(problem.contains(reason), "{given}: {problem}");
        }
    }

    #[test]
    fn headers_are_read_as_the_variable_has_them() {
        let headers = parse_headers("api-key=a%20b%2Cc, x = 5=6 ,").unwrap();
        assert_eq!(
            headers.into_iter().collect::<Vec<_>>(),
            [("api-key".to_owned(), "a b,c".to_owned()), ("x".to_owned(), "5=6".to_owned())]
        );
        assert_eq!(decode("%zz%4"), "%zz%4");
        assert!(parse_headers("nothing").is_err());
    }
}
