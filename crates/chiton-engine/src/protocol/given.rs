//! The descriptors that travel with an order, and the order itself, which is the first of them.
//!
//! The order is a file in memory rather than a message, since it may be larger than a socket takes at once.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;

use super::messages::Order;

/// The descriptors of one order, told apart.
pub(crate) struct GivenFiles {
    /// The run's folder, locked: as long as it is open, the run is alive. `None` where the keeper makes the folder.
    pub(crate) folder: Option<OwnedFd>,
    pub(crate) loader: OwnedFd,
    /// Where the shell reads its command: a file in memory, or a pipe where it waits for the command.
    pub(crate) script: OwnedFd,
    /// Standard input.
    pub(crate) more: Option<OwnedFd>,
    /// The namespaces and rules of the shell's sandbox, see [`super::EnclosedPlan`].
    pub(crate) enclosing: Vec<OwnedFd>,
}

impl GivenFiles {
    /// Reads the order, and tells the other descriptors apart by their places, see [`Order`].
    pub(crate) fn read(descriptors: Vec<OwnedFd>) -> io::Result<(Order, Self)> {
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| io::Error::other("a descriptor is missing"));
        let mut order = File::from(next()?);
        let (loader, script) = (next()?, next()?);
        let mut rest: Vec<OwnedFd> = descriptors.collect();

        let mut bytes = Vec::new();
        order.rewind()?;
        order.read_to_end(&mut bytes)?;
        let order: Order = postcard::from_bytes(&bytes).map_err(|_| io::Error::other("the order cannot be read"))?;

        let (Order::Run(shell, _) | Order::Prepare(shell, _)) = &order;
        let enclosing = shell.enclosed.as_ref().map_or(0, |enclosed| enclosed.descriptors());
        let Some(first) = rest.len().checked_sub(enclosing) else {
            return Err(io::Error::other("a descriptor of the sandbox is missing"));
        };
        let enclosing = rest.split_off(first);
        let mut rest = rest.into_iter();
        let folder = if matches!(order, Order::Run(..)) { rest.next() } else { None };
        Ok((order, Self { folder, loader, script, more: rest.next(), enclosing }))
    }
}
