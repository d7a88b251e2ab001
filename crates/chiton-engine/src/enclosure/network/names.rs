//! Which address stands for which name.
//!
//! A name gets an address of its own, out of a network that is for measurements and leads nowhere. Whoever dials that
//! address inside dials the name.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// The first address that stands for a name, in 198.18.0.0/15. The 256 before it are for the network itself.
const FIRST: u32 = Ipv4Addr::new(198, 18, 1, 0).to_bits();

/// How many names have an address at a time. A rule with a wildcard allows names without end; the one that got its
/// address first loses it then.
const MAXIMUM: usize = 16 * 1024;

/// The names that were asked for.
#[derive(Default)]
pub(super) struct Names {
    places: HashMap<String, usize>,
    /// By place: the name whose address is that far behind the first.
    by_place: Vec<Option<String>>,
    next: usize,
}

impl Names {
    /// The address of a name, which it keeps. `taken` says which addresses mean themselves.
    pub(super) fn address_of(&mut self, name: &str, taken: impl Fn(IpAddr) -> bool) -> Ipv4Addr {
        if let Some(place) = self.places.get(name) {
            return address_at(*place);
        }

        while taken(address_at(self.next).into()) {
            self.advance();
        }
        let place = self.next;
        self.advance();
        if self.by_place.len() <= place {
            self.by_place.resize(place + 1, None);
        }

        if let Some(former) = self.by_place[place].replace(name.to_owned()) {
            self.places.remove(&former);
        }
        self.places.insert(name.to_owned(), place);
        address_at(place)
    }

    fn advance(&mut self) {
        self.next = (self.next + 1) % MAXIMUM;
    }

    /// The name that an address stands for.
    pub(super) fn name_of(&self, address: IpAddr) -> Option<&str> {
        let IpAddr::V4(address) = address else { return None };
        let place = usize::try_from(address.to_bits().checked_sub(FIRST)?).ok()?;
        self.by_place.get(place)?.as_deref()
    }
}

fn address_at(place: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST + u32::try_from(place).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_address_and_each_address_one_name() {
        let mut names = Names::default();
        let reserved = IpAddr::from([198, 18, 1, 1]);
        let mut ask = |name: &str| names.address_of(name, |address| address == reserved);
        let (one, two) = (ask("one.example"), ask("two.example"));
        assert_eq!((one, two), (Ipv4Addr::new(198, 18, 1, 0), Ipv4Addr::new(198, 18, 1, 2)));
        assert_eq!(ask("one.example"), one);

        assert_eq!(names.name_of(two.into()), Some("two.example"));
        for unknown in ["198.18.0.1", "198.18.1.1", "198.18.1.3", "198.19.255.255", "1.1.1.1", "::1"] {
            assert_eq!(names.name_of(unknown.parse().unwrap()), None, "{unknown}");
        }
    }

    #[test]
    fn names_without_end_take_a_fixed_amount_of_memory() {
        let mut names = Names::default();
        let first = names.address_of("first.example", |_| false);
        for number in 0..MAXIMUM {
            names.address_of(&format!("{number}.example"), |_| false);
        }
        assert_eq!((names.by_place.len(), names.places.len()), (MAXIMUM, MAXIMUM));
        assert_ne!(names.name_of(first.into()), Some("first.example"));
        assert_ne!(names.address_of("first.example", |_| false), first);
    }
}
