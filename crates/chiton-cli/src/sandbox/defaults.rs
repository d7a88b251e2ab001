//! Which profile holds where nobody names one.

use super::profiles::{OFF, WORK};

/// Who asks for a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker<'a> {
    /// `chiton run`: a person at a terminal, or a script of theirs.
    Run,
    /// `chiton run --preview`, which takes a sandbox.
    Preview,
    /// `chiton mcp` and `chiton call` with this tool surface.
    Dialect(&'a str),
}

/// One row of the defaults.
struct DefaultRow {
    dialect: &'static str,
    profile: &'static str,
}

/// Tool surfaces of agents work in a sandbox; those that follow a text of requirements do what that says, and it knows
/// of none.
const DIALECTS: &[DefaultRow] = &[
    DefaultRow { dialect: "native", profile: WORK },
    DefaultRow { dialect: "claude", profile: WORK },
    DefaultRow { dialect: "claude-2025", profile: WORK },
    DefaultRow { dialect: "codex", profile: WORK },
    DefaultRow { dialect: "gemini", profile: WORK },
    DefaultRow { dialect: "anthropic", profile: WORK },
    DefaultRow { dialect: "opencode-cli", profile: WORK },
    DefaultRow { dialect: "exec", profile: OFF },
    DefaultRow { dialect: "modes", profile: OFF },
    DefaultRow { dialect: "boris", profile: OFF },
    DefaultRow { dialect: "wave", profile: OFF },
    DefaultRow { dialect: "opencode", profile: OFF },
];

/// The profile where neither a flag nor the settings name one.
pub(crate) fn default_profile(asker: Asker<'_>) -> &'static str {
    match asker {
        // A person who wants one says so in the settings.
        Asker::Run => OFF,
        Asker::Preview => WORK,
        // A new dialect is an agent's until somebody says otherwise.
        Asker::Dialect(name) => DIALECTS.iter().find(|row| row.dialect == name).map_or(WORK, |row| row.profile),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_work_in_a_sandbox_and_requirements_are_met_to_the_letter() {
        let (mut rows, mut known) =
            (DIALECTS.iter().map(|row| row.dialect).collect::<Vec<_>>(), chiton_dialects::names());
        rows.sort_unstable();
        known.sort_unstable();
        assert_eq!(rows, known, "every dialect has its row");
        for (asker, profile) in [
            (Asker::Run, "off"),
            (Asker::Preview, "work"),
            (Asker::Dialect("native"), "work"),
            (Asker::Dialect("claude"), "work"),
            (Asker::Dialect("opencode-cli"), "work"),
            (Asker::Dialect("opencode"), "off"),
            (Asker::Dialect("exec"), "off"),
        ] {
            assert_eq!(default_profile(asker), profile, "{asker:?}");
        }
    }
}
