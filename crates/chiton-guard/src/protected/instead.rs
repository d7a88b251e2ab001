//! What an agent can do instead: one way for each effect that is objected to, where there is one.
//!
//! A rule has a way of its own ([`Rule::instead`]); what stands here fits the effect better.

use super::Act;
use crate::effect::Kind;
use crate::rules::Rule;
use crate::value::path::Target;
use crate::value::{Text, What};

/// Instead of doing `act` to a place; empty where the rule says it.
pub(super) fn of_act(rule: &Rule, act: Act, what: &Text, target: &Target) -> &'static str {
    let is_system = matches!(target, Target::At { path, .. } if !path.starts_with("/home/"));
    match (rule.id, act) {
        ("delete-unknown", Act::Deletes) if *target == Target::Anything => unknown_place(what),
        ("delete-unknown", Act::Deletes) => "Name what should go inside it, or move it away with `mv` instead.",
        ("delete-system" | "system-write", Act::Moves) => "Copy it with `cp` instead of moving it away.",
        ("delete-home" | "delete-workspace" | "delete-parent", Act::Moves) => {
            "Copy it with `cp -r`, or name what should move by its own path."
        }
        ("permissions", Act::ChangesRights) if *target == Target::Anything => {
            "Write the path out, so that it can be seen which files change."
        }
        ("permissions", Act::ChangesRights) if is_system => {
            "Change only the files that need it, one by one, or work on a copy inside the project."
        }
        ("disk", Act::ChangesRights) => "Add the user to the group of the device instead.",
        _ => "",
    }
}

/// What to write instead of a word that does not say which place it is.
fn unknown_place(what: &Text) -> &'static str {
    let is_filled = what.unknowns().next().is_some() && what.unknowns().all(|unknown| unknown.filled);
    let is_output = what.unknowns().any(|unknown| matches!(unknown.what, What::Output(_)));
    if is_output {
        "Run the inner command first, then delete the path that it prints, written out."
    } else if is_filled {
        "Write the path out: a guard against an empty variable does not say which directory it names."
    } else {
        "Write the path out, or end it with a name of its own: \"${DIR:?}/build\"."
    }
}

/// Instead of an effect of this kind; empty where the rule says it.
pub(super) const fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Power | Kind::OtherKernel => "Restart only the service that needs it: `systemctl restart NAME`.",
        Kind::RemoveSystem => "Remove single packages that nothing else needs, by name.",
        Kind::ChangeSystem => "Set it for this command alone, with an option or a variable.",
        Kind::WriteUnknown => "Write the path of the file out.",
        Kind::DeleteUnknown => "Delete it with `rm`, by its own path.",
        Kind::SetUserId => "Leave the set-user-id bit off, and run the program with `sudo` where it needs rights.",
        Kind::OpenMachine => "Listen on 127.0.0.1, or reach the machine through `ssh -L`.",
        Kind::Volumes => "Work in a directory, or on an image file that is not mounted.",
        _ => "",
    }
}
