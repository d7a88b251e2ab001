//! Calls that only explain, or only say what they would do: `--help`, `--version`, dry runs.

use super::row::Program;
use super::{clouds, databases, disks, packages, system, system_network, system_packages};
use crate::machine::command::Call;

/// Programs of which `-h` and a last word `help` ask for help behind a verb, too.
const SHORT: [&str; 34] = [
    "ansible", "argocd", "aws", "az", "cargo", "cdk", "composer", "docker", "doctl", "firebase", "flux", "flyctl",
    "gcloud", "gem", "gh", "git", "glab", "heroku", "helm", "kubectl", "nerdctl", "netlify", "npm", "oc", "pip",
    "pnpm", "podman", "poetry", "pulumi", "terraform", "tofu", "vault", "vercel", "yarn",
];

/// Programs that have dry runs of the same name; none of them runs what its words say.
const DRY: [&[Program]; 7] = [
    clouds::ROWS,
    databases::ROWS,
    disks::ROWS,
    packages::ROWS,
    system::ROWS,
    system_network::ROWS,
    system_packages::ROWS,
];

/// Whether a call does nothing but explain.
pub(super) fn only_explains(call: &Call) -> bool {
    let Some((last, before)) = call.args.split_last() else { return false };
    if matches!(call.name.as_str(), "xargs" | "echo" | "printf") {
        return false;
    }
    let is_verb = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let asks = last.text.is("--help")
        || last.text.is("--version")
        || ["-h", "-help", "help"].iter().any(|word| last.text.is(word)) && SHORT.contains(&call.name.as_str());
    let has_verbs =
        || before.len() <= 4 && before.iter().all(|arg| arg.text.as_known().is_some_and(|word| is_verb(&word)));
    asks && has_verbs() || is_dry_run(call)
}

/// Whether a call says only what it would do.
fn is_dry_run(call: &Call) -> bool {
    const OPTIONS: [&str; 6] = ["--dry-run", "--dryrun", "--simulate", "--what-if", "--whatif", "--just-print"];
    let is_known = || DRY.iter().copied().flatten().any(|row| row.is_named(&call.name));
    let mut options = call.args.iter().take_while(|arg| !arg.text.is("--"));
    options.any(|arg| {
        if !arg.text.shown().starts_with("--") {
            return false;
        }
        let Some(word) = arg.text.as_known() else { return false };
        let (name, value) = word.split_once('=').unwrap_or((&word, ""));
        OPTIONS.contains(&name) && !matches!(value, "none" | "false" | "no" | "0")
    }) && is_known()
}
