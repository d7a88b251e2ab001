//! What speaks against moving something away: less than against deleting it, because it can be moved back.

use super::{Objection, Places};
use crate::value::path::{Extent, Target};
use crate::verdict::Decision::Ask;

impl Places {
    /// What speaks against moving `target` away.
    pub(super) fn move_away(&self, target: &Target) -> Option<Objection> {
        let Target::At { path, extent, doubtful } = target else { return None };
        let (rule, decision, place) = self.delete(target, true)?;
        let is_top = path.matches('/').count() < 3;
        match rule.id {
            // The files of the workspace, and whatever lies outside the system, may be sorted and renamed.
            "delete-unknown" | "delete-repository" => None,
            "chiton" => Some((rule, decision, place)),
            "delete-workspace" if *extent != Extent::Itself => None,
            "delete-home" if *extent == Extent::Within && path != "/home" => None,
            "delete-home" if place == "a folder directly below the home directory" => None,
            _ if *extent == Extent::Within || !is_top || *doubtful => Some((rule, Ask, place)),
            _ => Some((rule, decision, place)),
        }
    }
}
