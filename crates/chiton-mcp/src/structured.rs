//! Who gets the structured form of replies.
//!
//! Some clients show it to their model in place of the text: then the model reads JSON with everything escaped, at several
//! times the length. So an agent gets the text alone, and a program both.

use chiton_dialects::Structured;
use chiton_operator::Operator;
use rmcp::service::{RequestContext, RoleServer};

use crate::revision::Revision;

/// Clients in which a model reads the answers, by a part of the name that they give themselves.
const AGENTS: [&str; 21] = [
    "amp", "augment", "claude", "cline", "codex", "continue", "copilot", "crush", "cursor", "gemini", "goose",
    "jetbrains", "kilo", "kiro", "mcporter", "opencode", "qwen", "roo", "visual studio code", "windsurf", "zed",
];

/// Whether the answer to this request has a structured form, and the tools that are listed have a schema for it.
pub(crate) fn is_wanted(operator: &Operator, context: &RequestContext<RoleServer>) -> bool {
    let name = || context.client_info().map_or_else(String::new, |client| client.name);
    Revision::of(context).has_structured() && is_wanted_by(operator, &name())
}

/// The same for a client of this name, where its revision of the protocol has a structured form at all.
pub(crate) fn is_wanted_by(operator: &Operator, name: &str) -> bool {
    match operator.structured() {
        Structured::Always => true,
        Structured::ForPrograms => !is_agent(name),
        Structured::OnRequest => false,
    }
}

fn is_agent(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_alphanumeric());
    AGENTS
        .iter()
        .any(|agent| if agent.contains(' ') { name.contains(agent) } else { words.clone().any(|word| word == *agent) })
        || words.any(|word| word == "vscode")
}

#[cfg(test)]
mod tests {
    use super::is_agent;

    #[test]
    fn agents_are_known_by_the_names_that_they_give_themselves() {
        for name in [
            "claude-code", "claude-ai", "codex-mcp-client", "gemini-cli-mcp-client", "opencode",
            "qwen-code-mcp-client", "Cursor", "cursor-vscode", "Visual Studio Code", "Visual Studio Code - Insiders",
            "Zed", "goose", "github-copilot-developer", "Cline", "windsurf-client", "mcporter",
        ] {
            assert!(is_agent(name), "{name}");
        }
        for name in ["mcp", "rmcp", "my-client", "example", "fastmcp", "claudette", "zeder", "inspector-client", ""] {
            assert!(!is_agent(name), "{name}");
        }
    }
}
