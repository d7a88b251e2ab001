//! The variables of this environment that commands do not get.

use chiton_engine::state::environment::{EnvironmentPolicy, Origin};

use super::finding::Finding;
use crate::env::EnvironmentArguments;
use crate::settings::Settings;
use crate::surroundings;

const AREA: &str = "variables";
/// How many are named before the rest is counted.
const NAMED: usize = 12;

pub(super) fn variables(settings: &Settings) -> Vec<Finding> {
    let mut policy = EnvironmentPolicy::default();
    EnvironmentArguments::default().with(&settings.environment).apply(&mut policy);
    let mut all: Vec<String> = surroundings::environment()
        .filter(|(name, value)| policy.objection(name, value, Origin::Inherited).is_some())
        .map(|(name, _)| name)
        .collect();
    all.sort();

    let Some(first) = all.first() else { return vec![Finding::ok(AREA, "all of this environment reach commands")] };
    let more = all.len().saturating_sub(NAMED);
    let names = all[..all.len() - more].join(", ");
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = if all.len() == 1 { "1 is" } else { &format!("{} are", all.len()) };
    vec![
        Finding::note(AREA, format!("{what} kept from commands: {names}{rest}"))
            .why("they look like secrets, or make programs run other code; `chiton env` says it of each")
            .remedy(format!("where a command needs one: --keep-env {first}, or environment.keep = [\"{first}\"]")),
    ]
}
