//! Limits the new pages that one network can name within a day, so that no single sender uses up what all
//! senders of a project may name together. In memory alone: no address is on disk.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One network may name this part of the new pages of a project and a day.
const PART: u32 = 10;
/// Networks that are counted apart, of all projects together: about 4 MiB.
const MAX_NETWORKS: usize = 65_536;

/// The /24 of an IPv4 address, or the /48 of an IPv6 address: that is what one customer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(four) => Ipv4Addr::from_bits(four.to_bits() & (u32::MAX << 8)).into(),
            IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & (u128::MAX << 80)).into(),
        })
    }
}

/// How many new pages a network may name within a day, of `new_pages` of the project.
pub(crate) fn share_of(new_pages: u32) -> u32 {
    (new_pages / PART).max(1)
}

/// The new pages that each network has named today, by project.
pub(crate) struct NewPageShares {
    day: i64,
    /// `None` counts all networks for which there is no room.
    used: HashMap<(i64, Option<Network>), u32>,
    max_networks: usize,
}

impl Default for NewPageShares {
    fn default() -> Self {
        Self { day: i64::MIN, used: HashMap::new(), max_networks: MAX_NETWORKS }
    }
}

impl NewPageShares {
    /// Begins anew when it is another day.
    pub(crate) fn set_day(&mut self, day: i64) {
        if day != self.day {
            (self.day, self.used) = (day, HashMap::new());
        }
    }

    pub(crate) fn used(&self, project: i64, network: Network) -> u32 {
        self.used.get(&self.key(project, network)).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, project: i64, network: Network, pages: u32) {
        let key = self.key(project, network);
        *self.used.entry(key).or_default() += pages;
    }

    fn key(&self, project: i64, network: Network) -> (i64, Option<Network>) {
        let own = (project, Some(network));
        let has_room = self.used.len() < self.max_networks || self.used.contains_key(&own);
        if has_room { own } else { (project, None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    #[test]
    fn neighbors_are_one_network() {
        assert_eq!(network("192.0.2.1"), network("192.0.2.255"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.9"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:2:ffff::2"));
        assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:1:1::1"));
    }

    #[test]
    fn shares_are_of_a_day_and_bounded() {
        let mut shares = NewPageShares { max_networks: 2, ..NewPageShares::default() };
        shares.set_day(1);
        let [one, two, three, four] = [1, 2, 3, 4].map(|n| network(&format!("192.0.{n}.1")));
        for (network, pages) in [(one, 1), (two, 2), (three, 3), (four, 4)] {
            shares.add(7, network, pages);
        }
        assert_eq!([one, two, three, four].map(|network| shares.used(7, network)), [1, 2, 7, 7]);
        assert_eq!((shares.used.len(), shares.used(8, three)), (3, 0));
        shares.set_day(2);
        assert_eq!(shares.used(7, one), 0);
        assert_eq!((share_of(100_000), share_of(5)), (10_000, 1));
    }
}
