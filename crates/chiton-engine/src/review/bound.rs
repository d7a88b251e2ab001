//! What a consent to a request is bound to.

use std::path::Path;

use crate::consent::Bound;
use crate::request::{CommandInput, CommandRequest, EnvironmentChange};

/// The bytes of the command, the shell that reads them, its directory, its variables and its input.
pub(super) fn bound_to(request: &CommandRequest, directory: &Path) -> Bound {
    let merges = matches!(request.environment, EnvironmentChange::Merge(_));
    let mut parts: Vec<&[u8]> =
        vec![&request.command, directory.as_os_str().as_encoded_bytes(), if merges { b"merge" } else { b"replace" }];

    for (name, value) in request.environment.variables() {
        parts.extend([name.as_bytes(), value]);
    }

    let input: &[u8] = if let CommandInput::Text(text) = &request.input { text } else { b"" };
    parts.extend([b"input", input]);
    if let Some(shell) = &request.shell {
        parts.extend([b"shell", shell.path().as_os_str().as_encoded_bytes()]);
    }
    Bound::to(parts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::consent::Consents;
    use crate::process::Shell;

    #[test]
    fn a_consent_is_for_one_command_in_one_place_once() {
        let request = |command: &str| CommandRequest::new(command);
        let here = Path::new("/work");
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
                bound_to(&request("touch canary"), Path::new("/")),
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
}
