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
/// Networks and days of a project that are counted separately. Further ones share the quota of a day, so a project that
/// imports a year of logs takes nothing from another one.
const MAX_COUNTS_PER_PROJECT: usize = 4_096;
/// Names of a project that are remembered, and as many of past days: about 1 MiB each.
const MAX_NAMES_PER_PROJECT: usize = 1 << 16;
/// Over all projects, about 16 MiB each. The projects that added no name for the longest time are forgotten.
const MAX_COUNTS: usize = 1 << 18;
const MAX_KNOWN_NAMES: usize = 1 << 20;

/// Kind and day, counted like the names of `names.rs`.
type NamesDay = (u8, i64);

/// The names that networks added today.
pub(crate) struct NewNameQuota {
    today: i64,
    projects: HashMap<i64, ProjectNames>,
    hasher: RandomState,
    /// The number of times that names were added.
    additions: u64,
    max_counts_per_project: usize,
    max_counts: usize,
}

/// Names of events that are not committed yet.
#[derive(Default)]
pub(crate) struct NewNames(HashMap<i64, ProjectNames>);

#[derive(Default)]
struct ProjectNames {
    /// Hashes of names with their days: of today and later, and of past days. An import of logs has many of those.
    known: [HashSet<u64>; 2],
    /// `None` counts all networks beyond the maximum.
    used: HashMap<(NamesDay, Option<Network>), usize>,
    last_addition: u64,
}

impl ProjectNames {
    fn count_known(&self) -> usize {
        self.known.iter().map(HashSet::len).sum()
    }

    fn count(&self, key: &(NamesDay, Option<Network>)) -> usize {
        self.used.get(key).copied().unwrap_or_default()
    }
}

impl Default for NewNameQuota {
    fn default() -> Self {
        Self {
            today: i64::MIN,
            projects: HashMap::new(),
            hasher: RandomState::new(),
            additions: 0,
            max_counts_per_project: MAX_COUNTS_PER_PROJECT,
            max_counts: MAX_COUNTS,
        }
    }
}

impl NewNameQuota {
    /// Forgets everything on a new day.
    pub(crate) fn set_day(&mut self, today: i64) {
        if today != self.today {
            (self.today, self.projects) = (today, HashMap::new());
        }
    }

    /// Whether an event counts under no name of its own, because its network has no quota left for a new one. Otherwise,
    /// the name becomes known. Senders without an address use an API key and have no quota.
    pub(crate) fn is_other(&self, project: i64, event: &Event, pending: &mut NewNames) -> bool {
        let is_named = matches!(event.kind, Kind::NotFound | Kind::Redirected);
        if !is_named || !matches!(event.class, Class::Human | Class::Assistant) {
            return false;
        }
        let day = (event.kind as u8, event.at.div_euclid(DAY));
        let referrer = event.referrer.as_deref().filter(|_| event.kind == Kind::NotFound);
        let name = self.hasher.hash_one((day, &event.path, referrer));
        let (none, pending) = (ProjectNames::default(), pending.0.entry(project).or_default());
        let added = self.projects.get(&project).unwrap_or(&none);
        let days = usize::from(day.1 < self.today);
        if added.known[days].contains(&name) || pending.known[days].contains(&name) {
            return false;
        }
        if let Some(address) = event.address {
            let key = self.key(added, pending, day, Network::of(address));
            if added.count(&key) + pending.count(&key) >= MAX_NAMES_PER_DAY / NETWORKS_PER_DAY {
                return true;
            }
            *pending.used.entry(key).or_default() += 1;
        }
        pending.known[days].insert(name);
        false
    }

    /// Adds names whose events are committed.
    pub(crate) fn add(&mut self, names: NewNames) {
        for (project, names) in names.0.into_iter().filter(|(_, names)| names.count_known() > 0) {
            self.additions += 1;
            let added = self.projects.entry(project).or_default();
            added.last_addition = self.additions;
            for (added, names) in added.known.iter_mut().zip(names.known) {
                if added.len() + names.len() > MAX_NAMES_PER_PROJECT {
                    added.clear();
                }
                added.extend(names);
            }
            for (key, used) in names.used {
                *added.used.entry(key).or_default() += used;
            }
        }
        self.evict();
    }

    /// Forgets the projects that added no name for the longest time, but not the last one.
    fn evict(&mut self) {
        let (mut counts, mut known) = (0, 0);
        for names in self.projects.values() {
            (counts, known) = (counts + names.used.len(), known + names.count_known());
        }
        if counts <= self.max_counts && known <= MAX_KNOWN_NAMES {
            return;
        }
        let mut projects: Vec<(u64, i64)> =
            self.projects.iter().map(|(project, names)| (names.last_addition, *project)).collect();
        projects.sort_unstable();
        projects.pop();
        for (_, project) in projects {
            // Some more, so that this is rare.
            if counts <= self.max_counts / 8 * 7 && known <= MAX_KNOWN_NAMES / 8 * 7 {
                break;
            }
            if let Some(names) = self.projects.remove(&project) {
                (counts, known) = (counts - names.used.len(), known - names.count_known());
            }
        }
    }

    /// What counts the names of a network. Past days have half of the counts, so that an import of logs leaves some to the
    /// networks of today.
    fn key(
        &self,
        added: &ProjectNames,
        pending: &ProjectNames,
        day: NamesDay,
        network: Network,
    ) -> (NamesDay, Option<Network>) {
        let max = self.max_counts_per_project;
        let max = if day.1 < self.today { max / 2 } else { max };
        let has_place = |max| added.used.len() + pending.used.len() < max;
        let is_counted = |key: &(NamesDay, Option<Network>)| {
            added.used.contains_key(key) || pending.used.contains_key(key)
        };
        let (own, of_day) = ((day, Some(network)), (day, None));
        if has_place(max) || is_counted(&own) {
            own
        } else if has_place(2 * self.max_counts_per_project) || is_counted(&of_day) {
            of_day
        } else {
            ((day.0, i64::MAX), None)
        }
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
        let mut quota = NewNameQuota { max_counts_per_project: 1, ..NewNameQuota::default() };
        let mut dropped = NewNames::default();
        assert!(!quota.is_other(7, &request("/a", 404, "192.0.2.1"), &mut dropped));
        drop(dropped);
        assert!(quota.projects.is_empty());
        assert_eq!(named(&mut quota, 0..600, 404, "192.0.2.1"), 600);
        // The other networks share a quota.
        assert_eq!(named(&mut quota, 1_000..1_600, 404, "198.51.100.1"), 600);
        assert_eq!(named(&mut quota, 2_000..2_600, 404, "203.0.113.1"), 400);
        assert_eq!(quota.projects[&7].used.len(), 2);
    }

    /// Requests by networks of their own, all for the same project.
    fn flood(quota: &mut NewNameQuota, project: i64, networks: u32) {
        let mut pending = NewNames::default();
        for network in 0..networks {
            let ip = std::net::Ipv4Addr::from_bits((10 << 24) + (network << 8)).to_string();
            quota.is_other(project, &request(&format!("/{network}"), 404, &ip), &mut pending);
        }
        quota.add(pending);
    }

    #[test]
    fn a_flood_of_one_project_leaves_the_networks_of_another_their_share() {
        let mut quota = NewNameQuota::default();
        flood(&mut quota, 8, 70_000);
        assert_eq!(quota.projects[&8].used.len(), MAX_COUNTS_PER_PROJECT + 1);
        // The test's project is 7.
        assert_eq!(named(&mut quota, 0..3_000, 404, "192.0.2.1"), 1_000);
        assert_eq!(named(&mut quota, 5_000..8_000, 404, "198.51.100.1"), 1_000);
    }

    #[test]
    fn an_import_of_logs_leaves_counts_to_the_networks_of_today() {
        let mut quota = NewNameQuota::default();
        quota.set_day(i64::MAX);
        flood(&mut quota, 7, 10_000);
        assert_eq!(quota.projects[&7].used.len(), MAX_COUNTS_PER_PROJECT / 2 + 1);
        quota.today = 0;
        assert_eq!(named(&mut quota, 20_000..23_000, 404, "192.0.2.1"), 1_000);
        assert_eq!(named(&mut quota, 30_000..33_000, 404, "198.51.100.1"), 1_000);
    }

    #[test]
    fn an_import_of_logs_leaves_the_names_of_today_known() {
        let mut quota = NewNameQuota::default();
        let day = request("/a", 404, "192.0.2.1").at.div_euclid(DAY);
        quota.set_day(day);
        assert_eq!(named(&mut quota, 0..1_000, 404, "192.0.2.1"), 1_000);
        quota.today = day + 1;
        let many = 10_000..10_000 + MAX_NAMES_PER_PROJECT;
        assert_eq!(named(&mut quota, many.clone(), 404, ""), many.len());
        assert_eq!(named(&mut quota, 0..1, 404, ""), 1);
        quota.today = day;
        assert_eq!(named(&mut quota, 0..1_000, 404, "192.0.2.1"), 1_000, "known names");
        assert_eq!(named(&mut quota, 1_000..2_000, 404, "192.0.2.1"), 0);
    }

    #[test]
    fn the_projects_that_were_active_last_are_remembered() {
        let mut quota = NewNameQuota { max_counts: 80, ..NewNameQuota::default() };
        for project in 0..9 {
            flood(&mut quota, project, 10);
        }
        let mut known: Vec<i64> = quota.projects.keys().copied().collect();
        known.sort_unstable();
        assert_eq!(known, [2, 3, 4, 5, 6, 7, 8]);
        flood(&mut quota, 100, 500);
        assert_eq!(quota.projects.keys().collect::<Vec<_>>(), [&100], "the last one stays");
    }
}
