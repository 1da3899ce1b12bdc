//! Limits the missing and redirected paths that one network can add to a day, so that a single sender cannot use up the
//! names that the day keeps.
//!
//! Kept only in memory: no address is stored. A restart forgets what networks added, as it does for new pages.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::classify::Class;
use crate::event::{Event, Kind};
use crate::names::MAX_NAMES_PER_DAY;
use crate::new_page_quota::Network;
use crate::range_parts::DAY;

/// One network may add one tenth of the names that a day keeps.
const NETWORKS_PER_DAY: usize = 10;
/// Networks and days that are counted separately, over all projects: about 4 MiB.
const MAX_COUNTS: usize = 65_536;
/// Names that are remembered, over all projects: about 16 MiB.
const MAX_KNOWN_NAMES: usize = 1 << 20;

/// Project, kind and day, counted like the names of `names.rs`.
type NamesDay = (i64, u8, i64);

/// The names that networks added today.
pub(crate) struct NewNameQuota {
    today: i64,
    added: NewNames,
    hasher: RandomState,
    max_counts: usize,
}

/// Names of events that are not committed yet.
#[derive(Default)]
pub(crate) struct NewNames {
    /// Hashes of names with their days.
    known: HashSet<u64>,
    /// `None` counts all networks beyond the maximum.
    used: HashMap<(NamesDay, Option<Network>), usize>,
}

impl Default for NewNameQuota {
    fn default() -> Self {
        let (added, hasher) = (NewNames::default(), RandomState::new());
        Self { today: i64::MIN, added, hasher, max_counts: MAX_COUNTS }
    }
}

impl NewNameQuota {
    /// Forgets everything on a new day.
    pub(crate) fn set_day(&mut self, today: i64) {
        if today != self.today {
            (self.today, self.added) = (today, NewNames::default());
        }
    }

    /// Whether an event counts under no name of its own, because its network has no quota left for a new one. Otherwise,
    /// the name becomes known. Senders without an address use an API key and have no quota.
    pub(crate) fn is_other(&self, project: i64, event: &Event, pending: &mut NewNames) -> bool {
        let is_named = matches!(event.kind, Kind::NotFound | Kind::Redirected);
        if !is_named || !matches!(event.class, Class::Human | Class::Assistant) {
            return false;
        }
        let day = (project, event.kind as u8, event.at.div_euclid(DAY));
        let referrer = event.referrer.as_deref().filter(|_| event.kind == Kind::NotFound);
        let name = self.hasher.hash_one((day, &event.path, referrer));
        if self.added.known.contains(&name) || pending.known.contains(&name) {
            return false;
        }
        if let Some(address) = event.address {
            let key = self.key(day, Network::of(address));
            let used = pending.used.entry(key).or_default();
            if self.added.used.get(&key).copied().unwrap_or_default() + *used
                >= MAX_NAMES_PER_DAY / NETWORKS_PER_DAY
            {
                return true;
            }
            *used += 1;
        }
        pending.known.insert(name);
        false
    }

    /// Adds names whose events are committed.
    pub(crate) fn add(&mut self, names: NewNames) {
        if self.added.known.len() + names.known.len() > MAX_KNOWN_NAMES {
            self.added.known.clear();
        }
        self.added.known.extend(names.known);
        for (key, used) in names.used {
            *self.added.used.entry(key).or_default() += used;
        }
    }

    fn key(&self, day: NamesDay, network: Network) -> (NamesDay, Option<Network>) {
        let own = (day, Some(network));
        let used = &self.added.used;
        let is_tracked = used.len() < self.max_counts || used.contains_key(&own);
        if is_tracked { own } else { (day, None) }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::event::{RawEvent, parse_event};

    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

    fn request(path: &str, status: u16, ip: &str) -> Event {
        let raw = RawEvent {
            path: Some(path.into()),
            status: Some(status),
            user_agent: Some(FIREFOX.into()),
            ip: Some(ip.to_owned()).filter(|ip| !ip.is_empty()),
            ..RawEvent::default()
        };
        parse_event(raw, Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(500_000)).unwrap()
    }

    /// The number of these requests that count under a name of their own.
    fn named(quota: &mut NewNameQuota, paths: std::ops::Range<usize>, status: u16, ip: &str) -> usize {
        let mut pending = NewNames::default();
        let named = paths
            .filter(|path| !quota.is_other(7, &request(&format!("/{path}"), status, ip), &mut pending))
            .count();
        quota.add(pending);
        named
    }

    #[test]
    fn a_network_has_a_tenth_of_the_names_of_each_kind_and_day() {
        let mut quota = NewNameQuota::default();
        quota.set_day(1);
        let flood = 0..3_000;
        assert_eq!(named(&mut quota, flood.clone(), 404, "192.0.2.1"), 1_000);
        assert_eq!(named(&mut quota, flood.clone(), 404, "192.0.2.9"), 1_000, "the same names again");
        assert_eq!(named(&mut quota, 5_000..5_001, 404, "192.0.2.9"), 0);
        assert_eq!(named(&mut quota, 5_000..5_001, 404, "198.51.100.1"), 1);
        assert_eq!(named(&mut quota, 5_000..5_001, 404, "192.0.2.9"), 1, "a name that another network added");
        assert_eq!(named(&mut quota, flood.clone(), 308, "192.0.2.1"), 1_000);
        assert_eq!(named(&mut quota, flood.clone(), 404, ""), 3_000);
        assert_eq!(named(&mut quota, flood.clone(), 200, "192.0.2.1"), 3_000);
        quota.set_day(2);
        assert_eq!(named(&mut quota, flood, 404, "192.0.2.1"), 1_000);
    }

    #[test]
    fn what_is_not_committed_does_not_count_and_memory_is_bounded() {
        let mut quota = NewNameQuota { max_counts: 1, ..NewNameQuota::default() };
        let mut dropped = NewNames::default();
        assert!(!quota.is_other(7, &request("/a", 404, "192.0.2.1"), &mut dropped));
        drop(dropped);
        assert!(quota.added.known.is_empty() && quota.added.used.is_empty());
        assert_eq!(named(&mut quota, 0..600, 404, "192.0.2.1"), 600);
        // The other networks share a quota.
        assert_eq!(named(&mut quota, 1_000..1_600, 404, "198.51.100.1"), 600);
        assert_eq!(named(&mut quota, 2_000..2_600, 404, "203.0.113.1"), 400);
        assert_eq!(quota.added.used.len(), 2);
    }
}
