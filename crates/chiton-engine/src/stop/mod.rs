//! Stopping a whole tree of processes, and knowing that it is gone.
//!
//! 1. Ask: SIGTERM to the command's group and to every other descendant, then SIGCONT, so that stopped ones can die.
//! 2. Wait for the grace; what is printed meanwhile is captured like any output.
//! 3. Force: SIGKILL to all, again and again, until the keeper has no child left. Since every orphan of the tree
//!    becomes the keeper's child, that is the proof, and only then is the end reported.
//!
//! Timeout, cancel and kill share this one ladder. Signals go to our own unreaped children or through a pidfd whose
//! process was checked to be a descendant; a number alone is never trusted.

mod descendants;
mod ladder;

pub(crate) use descendants::{
    LeaderAlone, alive, children, is_child, is_dead, is_only_child, kill_child_of, kill_group, list as descendants,
    list_of as descendants_of, own_id, signal_child, signal_run,
};
pub(crate) use ladder::Ladder;
