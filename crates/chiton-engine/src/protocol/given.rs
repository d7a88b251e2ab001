//! The descriptors that travel with an order.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;

use super::messages::Order;

/// What came with an order.
pub(crate) struct GivenFiles {
    /// The run's folder, locked: as long as it is open, the run is alive. Not where the folder is still to be made.
    pub(crate) folder: Option<OwnedFd>,
    pub(crate) loader: OwnedFd,
    /// Where it reads its command: a pipe, where it waits for that.
    pub(crate) script: OwnedFd,
    /// Standard input.
    pub(crate) more: Option<OwnedFd>,
}

impl GivenFiles {
    /// The order and what goes with it.
    pub(crate) fn read(descriptors: Vec<OwnedFd>) -> io::Result<(Order, Self)> {
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| io::Error::other("a descriptor is missing"));
        let mut order = File::from(next()?);
        let (loader, script) = (next()?, next()?);
        let rest: Vec<OwnedFd> = descriptors.collect();
        let mut bytes = Vec::new();
        order.rewind()?;
        order.read_to_end(&mut bytes)?;
        let order = postcard::from_bytes(&bytes).map_err(|_| io::Error::other("the order cannot be read"))?;
        let mut rest = rest.into_iter();
        let folder = if matches!(order, Order::Run(..)) { rest.next() } else { None };
        Ok((order, Self { folder, loader, script, more: rest.next() }))
    }
}
