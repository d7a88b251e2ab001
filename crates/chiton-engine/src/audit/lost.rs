//! Runs whose keeper was killed: nobody saw their end, so whoever notices it writes it down, once.

use std::fs;
use std::path::Path;

use super::{AuditEntry, AuditEvent, Journal};
use crate::folder::{RunFolder, Unreadable};
use crate::run::Outcome;

/// Writes down every run under `state_directory` that was lost and of which the journal says nothing yet.
pub fn note_lost(state_directory: &Path, journal: &Journal) {
    let entries = fs::read_dir(state_directory.join("runs")).into_iter().flatten().flatten();
    for folder in entries.filter_map(|entry| RunFolder::at(&entry.path()).ok()) {
        note_if_lost(&folder, journal);
    }
}

/// Writes down that a run was lost, where it was.
pub(crate) fn note_if_lost(folder: &RunFolder, journal: &Journal) {
    // The lock before the records: a keeper writes its ending and then lets go of the lock.
    if folder.is_held() || !matches!(folder.ending(), Err(Unreadable::Missing)) {
        return;
    }
    let Some(record) = folder.request().ok().filter(|record| record.journaled) else { return };
    if !folder.claim_lost() {
        return;
    }
    let mut entry = AuditEntry::new(AuditEvent::End);
    (entry.run, entry.session) = (Some(record.id), record.session);
    entry.outcome = Some(Outcome::Lost.word().to_owned());
    // Whoever wants to know will see that it cannot be written.
    let _ = journal.append(entry);
}
