//! Names of other machines, and the programs that reach them.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long the far side keeps what is waited for, when the connection is lost.
pub const LEASE: Duration = Duration::from_mins(10);

/// The name for no other machine at all.
pub const HERE: &str = "local";

/// What the settings say of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TargetSettings {
    /// The program that gives standard input and output of a shell there, with its arguments; or one of the short forms.
    pub connect: Option<Connect>,
    /// Where commands start there, instead of where the connection arrives.
    pub directory: Option<PathBuf>,
    /// How long, in seconds, the far side keeps what is waited for, when the connection is lost.
    pub lease: Option<u64>,
}

/// Two ways to say how a target is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Connect {
    /// `ssh:build`, `docker:web` …
    Short(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// A machine, or a container on one, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What people call it.
    pub name: String,
    /// The program, with its arguments, that is run to reach it.
    pub words: Vec<String>,
    /// What the program leads to.
    pub leads_to: LeadsTo,
    /// Where commands start there.
    pub directory: Option<PathBuf>,
    /// How long the far side keeps what is waited for, when the connection is lost.
    pub lease: Duration,
}

/// What reads the input of the program that reaches a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadsTo {
    /// `sh`.
    Sh,
    /// Some shell: fish, tcsh, whatever the user has.
    SomeShell,
}

/// A target that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Nobody knows it.
    #[error(
        "there is no target '{name}'{near}. Write ssh:HOST, docker:NAME, podman:NAME, kube:[NAMESPACE/]POD[:CONTAINER] or \
         slurm:JOB, or name one in the settings: [target.{key}] with connect = [\"ssh\", \"HOST\"]"
    )]
    Unknown {
        /// What was written.
        name: String,
        /// What was perhaps meant, in words.
        near: String,
        /// The name as it could be in the settings.
        key: String,
    },
    /// It is written in a way that means nothing.
    #[error("'{name}' is not a target: {why}")]
    Malformed {
        /// What was written.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// It stands for several.
    #[error("'{0}' stands for several targets, and this takes one")]
    Several(String),
}

/// What somebody wrote: one target, or something that stands for several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// One.
    One(Box<Target>),
    /// The pods that kubectl finds with these arguments.
    Pods(Vec<String>),
    /// Every node of a Slurm job.
    Nodes(String),
}

impl Target {
    /// The target that somebody calls `name`: one of the settings, or a short form.
    pub fn named(name: &str, known: &std::collections::BTreeMap<String, TargetSettings>) -> Result<Self, TargetError> {
        let Some(settings) = known.get(name) else { return Self::short(name).map_err(|error| with_near(error, known)) };
        let mut target = match &settings.connect {
            Some(Connect::Short(short)) => Self { name: name.to_owned(), ..Self::short(short)? },
            Some(Connect::Words(words)) => Self::of_words(name, words)?,
            None => {
                let why = format!("[target.{name}] in the settings says nothing of connect");
                return Err(TargetError::Malformed { name: name.to_owned(), why });
            }
        };
        target.directory.clone_from(&settings.directory);
        target.lease = settings.lease.map_or(LEASE, Duration::from_secs);
        Ok(target)
    }

    /// A target that a program with arguments reaches.
    pub fn of_words(name: &str, words: &[String]) -> Result<Self, TargetError> {
        if words.first().is_none_or(String::is_empty) {
            let why = "connect names no program".to_owned();
            return Err(TargetError::Malformed { name: name.to_owned(), why });
        }
        let mut words = words.to_vec();
        let mut leads_to = LeadsTo::SomeShell;
        if is_ssh(&words[0]) && !has_command(&words) {
            // Not the login shell: some of them read all input before they do anything.
            words.push("exec sh".to_owned());
            leads_to = LeadsTo::Sh;
        }
        Ok(Self { name: name.to_owned(), words, leads_to, directory: None, lease: LEASE })
    }

    /// A target by one of the short forms.
    fn short(text: &str) -> Result<Self, TargetError> {
        let Some((kind, rest)) = text.split_once(':') else {
            let key = if is_key(text) { text.to_owned() } else { "NAME".to_owned() };
            return Err(TargetError::Unknown { name: text.to_owned(), near: String::new(), key });
        };
        let words: Vec<String> = match kind {
            "ssh" => ["ssh", "-T", "--", plain(text, "a host", rest)?, "exec sh"].map(str::to_owned).into(),
            "docker" | "podman" => {
                [kind, "exec", "-i", plain(text, "a container", rest)?, "sh"].map(str::to_owned).into()
            }
            "kube" => kube(text, rest)?,
            "slurm" => slurm(text, rest)?,
            _ => {
                let (name, key) = (text.to_owned(), "NAME".to_owned());
                return Err(TargetError::Unknown { name, near: format!(" ('{kind}:' leads nowhere)"), key });
            }
        };
        Ok(Self { name: text.to_owned(), words, leads_to: LeadsTo::Sh, directory: None, lease: LEASE })
    }

    /// A pod that kubectl has found.
    pub fn pod(namespace: &str, pod: &str, options: &[String]) -> Self {
        let mut words: Vec<String> = ["kubectl", "exec", "-i"].map(str::to_owned).into();
        words.extend_from_slice(options);
        words.extend(["-n", namespace, pod, "--", "sh"].map(str::to_owned));
        let name = format!("kube:{namespace}/{pod}");
        Self { name, words, leads_to: LeadsTo::Sh, directory: None, lease: LEASE }
    }

    /// One node of a Slurm job.
    pub fn node(job: &str, node: &str) -> Self {
        let name = format!("slurm:{job}@{node}");
        let words = step(job, Some(node));
        Self { name, words, leads_to: LeadsTo::Sh, directory: None, lease: LEASE }
    }

    /// The program that reaches it, in a way that asks nobody anything: for when nobody may be there.
    pub(crate) fn unattended(&self) -> Vec<String> {
        let mut words = self.words.clone();
        if is_ssh(&words[0]) {
            words.splice(1..1, ["-o", "BatchMode=yes"].map(str::to_owned));
        }
        words
    }

    /// The name of the program that reaches it.
    pub fn program(&self) -> &str {
        self.words[0].rsplit('/').next().unwrap_or_default()
    }
}

/// What `text` stands for; `each` says that every part of it is meant by itself.
pub fn wanted(
    text: &str,
    each: bool,
    known: &std::collections::BTreeMap<String, TargetSettings>,
) -> Result<Wanted, TargetError> {
    if !known.contains_key(text) {
        if let Some(selector) = text.strip_prefix("kube:").filter(|rest| rest.starts_with('-')) {
            let words: Vec<String> = selector.split_whitespace().map(str::to_owned).collect();
            return Ok(Wanted::Pods(words));
        }
        if let (Some(job), true) = (text.strip_prefix("slurm:"), each) {
            slurm(text, job)?;
            return Ok(Wanted::Nodes(job.to_owned()));
        }
    }
    Ok(Wanted::One(Box::new(Target::named(text, known)?)))
}

fn with_near(error: TargetError, known: &std::collections::BTreeMap<String, TargetSettings>) -> TargetError {
    let TargetError::Unknown { name, near, key } = error else { return error };
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let near = if names.is_empty() { near } else { format!("{near}; the settings have {}", names.join(", ")) };
    TargetError::Unknown { name, near, key }
}

/// A name that no program takes for an option, and no shell for anything else.
fn plain<'a>(text: &str, what: &str, name: &'a str) -> Result<&'a str, TargetError> {
    let malformed = |why: String| TargetError::Malformed { name: text.to_owned(), why };
    if name.is_empty() {
        return Err(malformed(format!("{what} is missing after the colon")));
    }
    if name.starts_with('-') {
        return Err(malformed(format!("the name of {what} does not begin with '-'")));
    }
    let is_odd = |character: char| character.is_whitespace() || character.is_control();
    match name.chars().find(|character| is_odd(*character)) {
        Some(_) => Err(malformed(format!("the name of {what} has no blanks in it"))),
        None => Ok(name),
    }
}

/// Whether a name can stand in `[target.NAME]` without quotes.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_')
}

/// `[NAMESPACE/]POD[:CONTAINER]`
fn kube(text: &str, rest: &str) -> Result<Vec<String>, TargetError> {
    if rest.starts_with('-') {
        return Err(TargetError::Several(text.to_owned()));
    }
    let (namespace, rest) = match rest.split_once('/') {
        Some((namespace, rest)) => (Some(plain(text, "a namespace", namespace)?), rest),
        None => (None, rest),
    };
    let (pod, container) = match rest.split_once(':') {
        Some((pod, container)) => (pod, Some(plain(text, "a container", container)?)),
        None => (rest, None),
    };
    let mut words: Vec<&str> = vec!["kubectl", "exec", "-i"];
    words.extend(namespace.into_iter().flat_map(|namespace| ["-n", namespace]));
    words.push(plain(text, "a pod", pod)?);
    words.extend(container.into_iter().flat_map(|container| ["-c", container]));
    words.extend(["--", "sh"]);
    Ok(words.into_iter().map(str::to_owned).collect())
}

/// `JOB`, or `JOB@NODE`.
fn slurm(text: &str, rest: &str) -> Result<Vec<String>, TargetError> {
    let (job, node) = match rest.split_once('@') {
        Some((job, node)) => (job, Some(plain(text, "a node", node)?)),
        None => (rest, None),
    };
    let is_job = !job.is_empty() && job.chars().all(|it| it.is_ascii_digit() || matches!(it, '_' | '+'));
    if !is_job {
        let why = "after 'slurm:' comes the number of a job, as `squeue` has it".to_owned();
        return Err(TargetError::Malformed { name: text.to_owned(), why });
    }
    Ok(step(job, node))
}

/// A step beside those that the job has, which may end without ending them.
fn step(job: &str, node: Option<&str>) -> Vec<String> {
    let mut words: Vec<String> =
        ["srun", "--overlap", "--unbuffered", "--quiet", "--nodes=1", "--ntasks=1"].map(str::to_owned).into();
    words.push(format!("--jobid={job}"));
    words.extend(node.map(|node| format!("--nodelist={node}")));
    words.push("sh".to_owned());
    words
}

fn is_ssh(program: &str) -> bool {
    program.rsplit('/').next() == Some("ssh")
}

/// Options of ssh that have an argument.
const WITH_ARGUMENT: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Whether the words of an ssh name a command after the host.
fn has_command(words: &[String]) -> bool {
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            rest.next();
            break;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
        // Letters may stand together; the first with an argument takes the rest, or the next word.
        if let Some(place) = letters.find(|letter| WITH_ARGUMENT.contains(letter))
            && place + 1 == letters.len()
        {
            rest.next();
        }
    }
    rest.next().is_some()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn words(text: &str) -> String {
        Target::named(text, &BTreeMap::new()).unwrap().words.join(" ")
    }

    #[test]
    fn every_short_form_runs_the_users_own_client() {
        for (text, expected) in [
            ("ssh:build", "ssh -T -- build exec sh"),
            ("ssh:me@build.example", "ssh -T -- me@build.example exec sh"),
            ("docker:web-1", "docker exec -i web-1 sh"),
            ("podman:web", "podman exec -i web sh"),
            ("kube:web-0", "kubectl exec -i web-0 -- sh"),
            ("kube:prod/web-0:app", "kubectl exec -i -n prod web-0 -c app -- sh"),
            ("slurm:17", "srun --overlap --unbuffered --quiet --nodes=1 --ntasks=1 --jobid=17 sh"),
            ("slurm:17_2@n3", "srun --overlap --unbuffered --quiet --nodes=1 --ntasks=1 --jobid=17_2 --nodelist=n3 sh"),
        ] {
            assert_eq!(words(text), expected);
        }
    }

    #[test]
    fn a_name_is_never_an_option_of_the_client() {
        for text in [
            "ssh:-oProxyCommand=x", "ssh:", "docker:--privileged", "podman: x", "kube:-x/pod", "kube:/pod", "kube:ns/",
            "slurm:-1", "slurm:abc", "slurm:", "ssh:a b", "nosuch:x", "build", "",
        ] {
            assert!(Target::named(text, &BTreeMap::new()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_ssh_without_a_command_gets_one() {
        for (given, expected) in [
            (&["ssh", "build"][..], true),
            (&["/usr/bin/ssh", "-p", "22", "-vT", "build"], true),
            (&["ssh", "-oBatchMode=yes", "-i", "key", "me@build"], true),
            (&["ssh", "-T", "--", "build"], true),
            (&["ssh", "build", "sudo", "-n", "sh"], false),
            (&["ssh", "-J", "jump", "build", "sh"], false),
            (&["docker", "exec", "-i", "web", "ash"], false),
        ] {
            let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
            let target = Target::of_words("x", &given).unwrap();
            assert_eq!(target.words.last().unwrap() == "exec sh", expected, "{given:?}");
        }
    }

    #[test]
    fn settings_name_targets_in_both_ways() {
        let known: BTreeMap<String, TargetSettings> = [
            ("a".to_owned(), r#"{"connect": ["ssh", "host"], "directory": "/srv", "lease": 60}"#),
            ("b".to_owned(), r#"{"connect": "docker:web"}"#),
            ("c".to_owned(), "{}"),
        ]
        .map(|(name, text)| (name, serde_json::from_str(text).unwrap()))
        .into();
        let a = Target::named("a", &known).unwrap();
        assert_eq!((a.directory, a.lease), (Some("/srv".into()), Duration::from_mins(1)));
        assert_eq!(Target::named("b", &known).unwrap().words[0], "docker");
        assert!(Target::named("c", &known).unwrap_err().to_string().contains("connect"));
        let unknown = Target::named("d", &known).unwrap_err().to_string();
        assert!(unknown.contains("the settings have a, b, c") && unknown.contains("[target.d]"), "{unknown}");
    }
}
