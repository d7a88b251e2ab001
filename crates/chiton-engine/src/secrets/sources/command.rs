//! Secrets that another program knows: `pass show …`, `op read …`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::lock::Lock;
use crate::process::helper::{self, Helper};
use crate::secrets::source::{SecretSource, SourceError};
use chiton_redact::reference::{Reference, ReferenceKind};
use chiton_redact::value::Secret;

/// How long a program may take. It may have to talk to a service, and must not wait for a person.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long its answer is remembered: one piece of work, not a day.
const REMEMBERED: Duration = Duration::from_mins(5);

/// Programs that are asked for secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandConfig {
    /// For each secret, the program and its arguments.
    pub named: BTreeMap<String, Vec<String>>,
    /// For any other secret; `{name}` in an argument stands for its name.
    pub any: Vec<String>,
    /// How long one may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long an answer is remembered, in seconds.
    pub remembered_seconds: Option<u64>,
}

/// Asks programs.
pub struct CommandSource {
    config: CommandConfig,
    environment: Vec<(String, Vec<u8>)>,
    answers: Lock<HashMap<String, (Instant, Answer)>>,
}

/// A secret, or why there is none.
type Answer = Result<Secret, Option<String>>;

impl CommandSource {
    /// A source that runs these programs, with this environment.
    pub fn new(config: CommandConfig, environment: Vec<(String, Vec<u8>)>) -> Self {
        Self { config, environment, answers: Lock::default() }
    }

    fn ask(&self, name: &str) -> Result<Answer, SourceError> {
        let named = self.config.named.get(name);
        let Some(template) = named.or(Some(&self.config.any)).filter(|words| !words.is_empty()) else {
            return Ok(Err(None));
        };
        let words: Vec<String> = template.iter().map(|word| word.replace("{name}", name)).collect();
        let limit = self.config.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        let helper = Helper { words: &words, environment: &self.environment, directory: "/", limit };
        let answer = helper::ask(&helper).map_err(|error| SourceError(format!("{}: {error}", words[0])))?;
        match answer.code {
            Some(0) => Ok(Ok(Secret::masked(without_line_end(&answer.output)))),
            code => {
                let how = code.map_or("was ended by a signal".to_owned(), |code| format!("exited with code {code}"));
                let why = format!("{} {how}", words[0]);
                // A program that is asked for everything says by its status that it does not know a name.
                if named.is_none() { Ok(Err(Some(why))) } else { Err(SourceError(why)) }
            }
        }
    }
}

fn without_line_end(output: &[u8]) -> Vec<u8> {
    let output = output.strip_suffix(b"\n").unwrap_or(output);
    output.strip_suffix(b"\r").unwrap_or(output).to_vec()
}

impl SecretSource for CommandSource {
    fn title(&self) -> String {
        "an external command".to_owned()
    }

    fn get(&self, reference: &Reference) -> Result<Option<Secret>, SourceError> {
        if reference.kind != ReferenceKind::Secret {
            return Ok(None);
        }
        let remembered = self.config.remembered_seconds.map_or(REMEMBERED, Duration::from_secs);
        let mut answers = self.answers.lock();
        if let Some((_, answer)) = answers.get(&reference.name).filter(|(since, _)| since.elapsed() < remembered) {
            return Ok(answer.clone().ok());
        }
        let answer = self.ask(&reference.name)?;
        answers.insert(reference.name.clone(), (Instant::now(), answer.clone()));
        Ok(answer.ok())
    }

    fn why_unknown(&self, reference: &Reference) -> Option<String> {
        let answers = self.answers.lock();
        let (_, answer) = answers.get(&reference.name).filter(|_| reference.kind == ReferenceKind::Secret)?;
        answer.as_ref().err()?.clone()
    }

    fn names(&self) -> Vec<Reference> {
        self.config.named.keys().filter_map(|name| Reference::secret(name)).collect()
    }
}

impl fmt::Debug for CommandSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CommandSource").field("config", &self.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(config: CommandConfig) -> CommandSource {
        CommandSource::new(config, vec![("PATH".to_owned(), b"/usr/bin:/bin".to_vec())])
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn get(source: &CommandSource, name: &str) -> Result<Option<Secret>, SourceError> {
        source.get(&Reference::secret(name).unwrap())
    }

    #[test]
    fn a_program_is_asked_once_and_its_answer_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("asked");
        let script = format!("echo x >> {}; echo value-of-$1", log.display());
        let config = CommandConfig { any: words(&["sh", "-c", &script, "_", "{name}"]), ..Default::default() };
        let source = source(config);
        for _ in 0..3 {
            assert_eq!(get(&source, "api-key"), Ok(Some(Secret::masked("value-of-api-key"))));
        }
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\n");
        assert_eq!(source.get(&Reference::decrypt("api-key").unwrap()), Ok(None));
    }

    #[test]
    fn a_program_that_fails_hangs_or_is_not_there_is_named_and_nothing_it_printed() {
        let named = |words: Vec<String>| CommandConfig {
            named: [("k".to_owned(), words)].into(),
            timeout_ms: Some(300),
            ..Default::default()
        };
        let cases = [
            (words(&["sh", "-c", "echo S3CR3T; echo S3CR3T >&2; exit 3"]), "sh exited with code 3"),
            (words(&["sleep", "100"]), "sleep: it did not answer within 300ms"),
            (words(&["/nonexistent/program"]), "/nonexistent/program"),
        ];
        for (words, expected) in cases {
            let error = get(&source(named(words)), "k").unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("S3CR3T"), "{error}");
        }
        let any = CommandConfig { any: words(&["false"]), ..Default::default() };
        assert_eq!(get(&source(any), "unknown"), Ok(None));
    }
}
