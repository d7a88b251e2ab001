//! What a consent to a request is bound to.

use std::path::Path;

use chiton_guard::{RestsOn, Scope, Verdict};

use super::{Grounds, surroundings};
use crate::consent::Bound;
use crate::request::{CommandInput, CommandRequest, EnvironmentChange};
use crate::state::{ShellState, Value};

/// The bytes of the command, the shell that reads them, its directory, its variables and its input, and everything that
/// the verdict rested on: the words as they were expanded, the variables and functions of the session in them, and what
/// was in the scripts.
pub(super) fn bound_to(request: &CommandRequest, grounds: &Grounds, verdict: &Verdict) -> Bound {
    let Grounds { state, standing, input, .. } = grounds;
    let mut parts = Parts::default();
    parts.add(&request.command[..]);
    parts.add(standing.path.as_os_str().as_encoded_bytes());
    parts.add(standing.real.as_os_str().as_encoded_bytes());
    parts.add(format!("{:?}", standing.id));
    parts.add_call(request, input);
    parts.add_judged(verdict);
    parts.add_grounds(&verdict.rests_on, state);
    Bound::to(parts.0.iter().map(Vec::as_slice))
}

/// The same for a command that runs on another machine: of what it starts from there, its directory is known.
pub(super) fn bound_elsewhere(request: &CommandRequest, target: &str, directory: &Path, verdict: &Verdict) -> Bound {
    let mut parts = Parts::default();
    parts.add("elsewhere");
    parts.add(target);
    parts.add(&request.command[..]);
    parts.add(directory.as_os_str().as_encoded_bytes());
    parts.add_call(request, &request.input);
    parts.add_judged(verdict);
    Bound::to(parts.0.iter().map(Vec::as_slice))
}

#[derive(Default)]
struct Parts(Vec<Vec<u8>>);

impl Parts {
    fn add(&mut self, part: impl AsRef<[u8]>) {
        self.0.push(part.as_ref().to_vec());
    }

    /// What the call adds: variables, input, and a shell of its own.
    fn add_call(&mut self, request: &CommandRequest, input: &CommandInput) {
        let merges = matches!(request.environment, EnvironmentChange::Merge(_));
        self.add(if merges { "merge" } else { "replace" });
        for (name, value) in request.environment.variables() {
            self.add(name);
            self.add(&value[..]);
        }

        self.add("input");
        match input {
            CommandInput::Text(text) => self.add(&text[..]),
            CommandInput::Nothing => self.add(""),
            CommandInput::Descriptor(_) => self.add("descriptor"),
            CommandInput::Open => self.add("open"),
        }
        if let Some(shell) = &request.shell {
            self.add("shell");
            self.add(shell.path().as_os_str().as_encoded_bytes());
        }
    }

    /// What the guard saw in the command, after everything was expanded.
    fn add_judged(&mut self, verdict: &Verdict) {
        self.add("commands");
        for seen in &verdict.commands {
            self.add(seen.words.join("\0"));
            for (name, value) in &seen.assignments {
                self.add(format!("{name}={value}"));
            }
            for redirection in &seen.redirections {
                self.add(format!("{} {}", redirection.operator, redirection.target));
            }
        }
        self.add("findings");
        for finding in &verdict.findings {
            self.add(format!("{} {} {}", finding.rule, finding.reason, finding.target.as_deref().unwrap_or_default()));
        }
    }

    /// What of the session and of the machine the verdict depends on, as it is now.
    fn add_grounds(&mut self, rests_on: &RestsOn, state: &ShellState) {
        self.add("grounds");
        for name in &rests_on.variables {
            self.add(name);
            match state.variables.get(name).map(|variable| &variable.value) {
                None | Some(Value::Unset) => self.add("unset"),
                Some(Value::Scalar(value)) => self.add(&value[..]),
                Some(Value::Indexed(items)) => {
                    for (key, value) in items {
                        self.add([key.to_string().as_bytes(), b"=", value].concat());
                    }
                }
                Some(Value::Associative(items)) => {
                    for (key, value) in items {
                        self.add([&key[..], b"=", value].concat());
                    }
                }
            }
        }
        for name in &rests_on.functions {
            self.add(name);
            self.add(state.function(name).as_deref().unwrap_or_default());
            self.add(state.alias(name).as_deref().unwrap_or_default());
        }
        for path in &rests_on.files {
            self.add(path.as_os_str().as_encoded_bytes());
            self.add(surroundings::content(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::consent::Consents;
    use crate::process::Shell;
    use crate::review::UseOfText;
    use crate::session::Standing;

    #[test]
    fn a_consent_is_for_one_command_in_one_place_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = ShellState::fresh(folder.path(), [], 0o022);
        let (here, root) = (None, Some(Path::new("/")));
        let verdict = Verdict::default();
        let bound_to = |request: &CommandRequest, directory: Option<&Path>| {
            bound_to(request, &grounds(&state, directory, &request.input), &verdict)
        };
        let request = |command: &str| CommandRequest::new(command);
        let bound = bound_to(&request("touch canary"), here);
        let others = {
            let mut variable = request("touch canary");
            variable.environment = EnvironmentChange::Merge([("A".to_owned(), "1".into())].into());
            let mut replaced = request("touch canary");
            replaced.environment = EnvironmentChange::Replace(BTreeMap::new());
            let mut fed = request("touch canary");
            fed.input = CommandInput::Text("x".into());
            let mut other_shell = request("touch canary");
            other_shell.shell = Some(Shell::at(Path::new("/bin/sh")));
            [
                bound_to(&other_shell, here),
                bound_to(&request("touch canary "), here),
                bound_to(&request("touch canary"), root),
                bound_to(&variable, here),
                bound_to(&replaced, here),
                bound_to(&fed, here),
            ]
        };
        let consents = Consents::default();
        for other in others {
            let id = consents.offer(bound);
            assert!(!consents.redeem(&id, other), "it was for something else");
            assert!(!consents.redeem(&id, bound), "and is used up");
        }
        let id = consents.offer(bound);
        assert!(consents.redeem(&id, bound));
        assert!(!consents.redeem(&id, bound), "no replay");
        assert!(!consents.redeem("0", bound));
    }

    #[test]
    fn a_consent_is_for_what_the_verdict_rested_on() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.sh");
        std::fs::write(&script, "echo one").unwrap();
        let state = |target: &str| ShellState::fresh(folder.path(), [("TARGET".to_owned(), target.into())], 0o022);
        let mut verdict = Verdict::default();
        verdict.rests_on.variables.insert("TARGET".to_owned());
        verdict.rests_on.functions.insert("deploy".to_owned());
        verdict.rests_on.files.insert(script.clone());

        let first = state("first");
        let request = CommandRequest::new("deploy \"$TARGET\"; ./script.sh");
        let bound_in = |state: &ShellState| bound_to(&request, &grounds(state, None, &request.input), &verdict);
        let bound = bound_in(&first);
        assert_eq!(bound, bound_in(&first));
        assert_ne!(bound, bound_in(&state("second")), "a variable changed");

        let mut redefined = state("first");
        let text = "deploy () { :; }".into();
        redefined.functions.insert("deploy".into(), crate::state::Function { attributes: String::new(), text });
        assert_ne!(bound, bound_in(&redefined), "a function changed");

        std::fs::write(&script, "echo two").unwrap();
        assert_ne!(bound, bound_in(&first), "a script changed");
    }

    fn grounds(state: &ShellState, given: Option<&Path>, input: &CommandInput) -> Grounds {
        Grounds {
            standing: Standing::of_call(state, given).unwrap(),
            state: Arc::new(state.clone()),
            input: input.clone(),
            agreed: None,
            use_of_text: UseOfText::Run,
            widened: Arc::default(),
            held: None,
        }
    }
}
