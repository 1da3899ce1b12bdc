//! The evidence of a finding: bounded counts by day, path and referrer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// The days that evidence keeps. Older days are dropped first.
pub const MAX_DAYS: usize = 400;
pub const MAX_MEMBERS: usize = 50;
pub const MAX_REFERRERS: usize = 5;
pub const MAX_PAGES: usize = 50;

/// The requests of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    pub day: Date,
    pub human: u64,
    pub ai: u64,
}

impl Day {
    pub fn total(&self) -> u64 {
        self.human.saturating_add(self.ai)
    }
}

/// One of the paths that a finding groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub path: String,
    pub human: u64,
    pub ai: u64,
}

impl Member {
    pub fn total(&self) -> u64 {
        self.human.saturating_add(self.ai)
    }
}

/// What a finding rests on. The fields are public for reading; [`Evidence::set_day`], [`Evidence::add`] and
/// [`Evidence::merge`] keep the order and the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Evidence {
    /// Days with requests, in ascending order, each at most once.
    pub days: Vec<Day>,
    /// The most requested paths, in descending order, then by path.
    pub members: Vec<Member>,
    /// Paths of the group that `members` has no space for.
    pub more_members: u64,
    /// The pages that most requests came from, in descending order, then by name.
    pub referrers: Vec<(String, u64)>,
    pub first_seen: Option<Date>,
    pub last_seen: Option<Date>,
    /// Pages that have the fault, such as those that link to a missing page.
    pub pages: Vec<String>,
    /// Pages that `pages` has no space for.
    pub more_pages: u64,
}

impl Evidence {
    /// Replaces the counts of a day, so that counting a day twice is harmless.
    pub fn set_day(&mut self, day: Day) {
        match self.days.binary_search_by_key(&day.day, |known| known.day) {
            Ok(at) if day.total() == 0 => drop(self.days.remove(at)),
            Ok(at) => self.days[at] = day,
            Err(_) if day.total() == 0 => return,
            Err(at) => self.days.insert(at, day),
        }
        self.note_seen_days();
    }

    /// Adds the requests of a path.
    pub fn add(&mut self, path: &str, days: &[Day], referrers: &[(String, u64)]) {
        let total = |count: fn(&Day) -> u64| days.iter().map(count).fold(0, u64::saturating_add);
        let member = Member { path: path.to_owned(), human: total(|day| day.human), ai: total(|day| day.ai) };
        self.add_days(days);
        self.add_members(vec![member]);
        self.add_referrers(referrers);
    }

    /// Adds a page that has the fault.
    pub fn add_page(&mut self, page: &str) {
        self.add_pages(&[page.to_owned()]);
    }

    /// Adds the counts of other evidence. Days and totals are exact; the bounded lists keep their largest entries.
    pub fn merge(&mut self, other: &Self) {
        self.add_days(&other.days);
        self.first_seen = [self.first_seen, other.first_seen].into_iter().flatten().min();
        self.last_seen = self.last_seen.max(other.last_seen);
        self.more_members = self.more_members.saturating_add(other.more_members);
        self.add_members(other.members.clone());
        self.add_referrers(&other.referrers);
        self.more_pages = self.more_pages.saturating_add(other.more_pages);
        self.add_pages(&other.pages);
    }

    /// Requests from `first` to `last`, both included.
    pub fn requests_between(&self, first: Date, last: Date) -> u64 {
        let days = self.days.iter().filter(|day| (first..=last).contains(&day.day));
        days.map(Day::total).fold(0, u64::saturating_add)
    }

    /// Days with requests from `first` to `last`, both included.
    pub fn active_days_between(&self, first: Date, last: Date) -> usize {
        self.days.iter().filter(|day| (first..=last).contains(&day.day) && day.total() > 0).count()
    }

    pub fn human(&self) -> u64 {
        self.days.iter().map(|day| day.human).fold(0, u64::saturating_add)
    }

    pub fn ai(&self) -> u64 {
        self.days.iter().map(|day| day.ai).fold(0, u64::saturating_add)
    }

    fn add_days(&mut self, days: &[Day]) {
        for day in days.iter().filter(|day| day.total() > 0) {
            match self.days.binary_search_by_key(&day.day, |known| known.day) {
                Ok(at) => {
                    let known = &mut self.days[at];
                    known.human = known.human.saturating_add(day.human);
                    known.ai = known.ai.saturating_add(day.ai);
                }
                Err(at) => self.days.insert(at, *day),
            }
        }
        self.note_seen_days();
    }

    fn note_seen_days(&mut self) {
        let (first, last) = (self.days.first().map(|day| day.day), self.days.last().map(|day| day.day));
        self.first_seen = [self.first_seen, first].into_iter().flatten().min();
        self.last_seen = self.last_seen.max(last);
        let surplus = self.days.len().saturating_sub(MAX_DAYS);
        self.days.drain(..surplus);
    }

    fn add_members(&mut self, members: Vec<Member>) {
        for member in members {
            match self.members.iter_mut().find(|known| known.path == member.path) {
                Some(known) => {
                    known.human = known.human.saturating_add(member.human);
                    known.ai = known.ai.saturating_add(member.ai);
                }
                None => self.members.push(member),
            }
        }
        self.members.sort_by(|a, b| (Reverse(a.total()), &a.path).cmp(&(Reverse(b.total()), &b.path)));
        let surplus = self.members.len().saturating_sub(MAX_MEMBERS);
        self.members.truncate(MAX_MEMBERS);
        self.more_members = self.more_members.saturating_add(surplus as u64);
    }

    fn add_referrers(&mut self, referrers: &[(String, u64)]) {
        if referrers.is_empty() {
            return;
        }
        let mut counts: BTreeMap<String, u64> = std::mem::take(&mut self.referrers).into_iter().collect();
        for (referrer, requests) in referrers {
            let count = counts.entry(referrer.clone()).or_default();
            *count = count.saturating_add(*requests);
        }
        self.referrers = counts.into_iter().collect();
        self.referrers.sort_by_key(|(_, requests)| Reverse(*requests));
        self.referrers.truncate(MAX_REFERRERS);
    }

    fn add_pages(&mut self, pages: &[String]) {
        for page in pages {
            match self.pages.binary_search(page) {
                Ok(_) => {}
                Err(_) if self.pages.len() >= MAX_PAGES => {
                    self.more_pages = self.more_pages.saturating_add(1)
                }
                Err(at) => self.pages.insert(at, page.clone()),
            }
        }
    }
}
