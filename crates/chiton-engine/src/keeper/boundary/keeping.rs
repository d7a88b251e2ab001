//! What a call is about to change, as whoever keeps what was so before has to know it.

use std::path::PathBuf;

use super::read_call::{Change, Place};
use crate::changes::Coming;

/// `meant` are the places without links; `None` where the kernel will say by itself that it cannot be done.
pub(super) fn coming<'a>(places: &[Place], meant: &'a [Option<PathBuf>]) -> Option<Coming<'a>> {
    let path = meant.first()?.as_deref();
    let other = meant.get(1).and_then(Option::as_deref);
    Some(match (places.first()?.change, other) {
        (Change::Moved, Some(to)) => Coming::Moved { from: path?, to },
        (Change::Exchanged, Some(other)) => Coming::Exchanged { one: path?, other },
        (Change::Linked, Some(to)) => Coming::Linked { from: path?, to },
        (Change::Moved | Change::Exchanged | Change::Linked, None) => return None,
        (Change::Made, _) => Coming::Made(path?),
        (Change::Opened { makes, writes }, _) => Coming::Opened { path: path?, makes, writes },
        (Change::Resized, _) => Coming::Opened { path: path?, makes: false, writes: true },
        (Change::Replaced, _) => Coming::Removed(path?),
        (Change::Attributes | Change::AttributesOfLink | Change::AttributesOfOpen, _) => Coming::Attributes(path?),
    })
}
