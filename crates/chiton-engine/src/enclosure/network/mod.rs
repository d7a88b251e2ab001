//! Network by name: a session has a network of its own, in which only allowed names lead anywhere.
//!
//! 1. [`inside`]: a process that has entered the new network makes every address local and opens sockets: a resolver, a
//!    listener for each port that a rule names.
//! 2. [`broker`]: a small process outside gets those sockets and its plan. It answers questions for names ([`dns`]): a
//!    name that a rule allows ([`rules`]) gets an address that stands for it ([`names`]), any other does not exist.
//! 3. Whatever is dialled inside arrives at the broker, which knows the name by the address, asks where it leads
//!    ([`resolver`]), refuses addresses that no name may lead to ([`addresses`]) and TLS for another name ([`hello`]), dials
//!    outside, through the machine's own proxy where it has one ([`Upstream`]), and moves bytes both ways ([`relay`]).
//! 4. Where no such network can be made, the same broker is a proxy for programs that use one ([`proxy`]).
//! 5. What was refused is reported ([`events`]), also where the kernel did it by itself ([`bare`]).
//!
//! Programs need no proxy variables for this, and no library of ours. When the broker is gone nothing is let through: its
//! listeners are closed, and there is no other way out. Making the namespace and starting the process are left to others.

mod addresses;
mod bare;
pub(crate) mod broker;
mod dns;
pub(crate) mod events;
mod hello;
pub(crate) mod inside;
mod names;
mod parcel;
mod proxy;
mod relay;
pub(crate) mod resolver;
mod rules;
mod seed;
#[cfg(test)]
mod tests;

#[cfg(doc)]
use crate::sandbox::Upstream;
use crate::sandbox::policy::HostRule;

/// The ports at which [`inside::set_up`] has to listen for these rules.
pub(crate) fn ports(rules: &[HostRule]) -> Vec<u16> {
    rules::Rules::new(rules).ports()
}
