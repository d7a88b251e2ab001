//! Orders to a keeper, and files in memory: what travels with them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use zeroize::{Zeroize, Zeroizing};

use super::keeper_process::Keeper;
use crate::protocol::{ORDER, Order, announcement};
use crate::sys::messages;

/// Sends an order with what belongs to it.
pub(crate) fn give_order(keeper: &Keeper, mut order: Order, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let encoded = postcard::to_stdvec(&order).map_err(|error| io::Error::other(error.to_string()))?;
    let encoded = Zeroizing::new(encoded);
    let (Order::Run(shell, _) | Order::Prepare(shell, _)) = &mut order;
    for (_, value) in shell.masks.drain(..) {
        value.into_vec().zeroize();
    }
    let order = memory_file(&encoded)?;
    let files: Vec<BorrowedFd<'_>> = [order.as_fd()].into_iter().chain(files.iter().copied()).collect();
    messages::send(&keeper.connection, &announcement(ORDER), &files)
}

/// A file in memory with `content`, to be read from its beginning.
pub(crate) fn memory_file(content: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = rustix::fs::memfd_create("chiton", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(descriptor);
    file.write_all(content)?;
    let descriptor = OwnedFd::from(file);
    rustix::fs::seek(&descriptor, rustix::fs::SeekFrom::Start(0))?;
    Ok(descriptor)
}
