//! Limits the new pages that one network can add per day, so that a single sender cannot use up the quota of
//! a project.
//!
//! Kept only in memory: no address is stored.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One network may add one tenth of the project's new pages of a day.
const NETWORKS_PER_QUOTA: u32 = 10;
/// Networks that are counted separately, over all projects: about 4 MiB.
const MAX_NETWORKS: usize = 65_536;

/// The /24 of an IPv4 address, or the /48 of an IPv6 address: the size that one customer gets.
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

/// The new pages that a network may add per day, if the project may have `new_pages`.
pub(crate) fn quota_per_network(new_pages: u32) -> u32 {
    (new_pages / NETWORKS_PER_QUOTA).max(1)
}

/// The new pages that each network added today, by project.
pub(crate) struct NewPageQuota {
    day: i64,
    /// `None` counts all networks beyond `max_networks`.
    used: HashMap<(i64, Option<Network>), u32>,
    max_networks: usize,
}

impl Default for NewPageQuota {
    fn default() -> Self {
        Self { day: i64::MIN, used: HashMap::new(), max_networks: MAX_NETWORKS }
    }
}

impl NewPageQuota {
    /// Resets the counts on a new day.
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
        let is_tracked = self.used.len() < self.max_networks || self.used.contains_key(&own);
        if is_tracked { own } else { (project, None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_one_customer_are_one_network() {
        assert_eq!(network("192.0.2.1"), network("192.0.2.255"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.9"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:2:ffff::2"));
        assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:1:1::1"));
    }

    #[test]
    fn quotas_reset_daily_and_the_number_of_networks_is_bounded() {
        let mut quota = NewPageQuota { max_networks: 2, ..NewPageQuota::default() };
        quota.set_day(1);
        let [one, two, three, four] = [1, 2, 3, 4].map(|n| network(&format!("192.0.{n}.1")));
        for (network, pages) in [(one, 1), (two, 2), (three, 3), (four, 4)] {
            quota.add(7, network, pages);
        }
        assert_eq!([one, two, three, four].map(|network| quota.used(7, network)), [1, 2, 7, 7]);
        assert_eq!((quota.used.len(), quota.used(8, three)), (3, 0));
        quota.set_day(2);
        assert_eq!(quota.used(7, one), 0);
        assert_eq!((quota_per_network(100_000), quota_per_network(5)), (10_000, 1));
    }
}
