//! Bounds the names of a day in the rollups: further names count as other. Each server counts the names that it ships.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hasher;

use tokio::sync::MutexGuard;

use super::Shared;
use super::engine::{EngineError, QueryLimits};
use super::rows::{Answer, path, text};
use super::sql::quote;
use crate::block::{Block, Row};
use crate::classify::Class;
use crate::event::Kind;
use crate::name_counts::OTHER_NAMES;
use crate::names::{MAX_NAMES_PER_DAY, NO_REFERRER, NameKind};
use crate::range_parts::DAY;
use crate::views::Failure;

/// Names that are remembered, over all days: about 40 MB. A shipment can have more days than that.
const MAX_NAMES: usize = 2_000_000;
/// What a day without names takes of it.
const DAY_WEIGHT: usize = 16;
/// Days of one query. Its answer has about 80 kB for a day that is full.
const DAYS_PER_QUERY: usize = 64;

/// Project, kind and day.
type NamesDay = (i64, u8, i64);

/// The name of a row in its rollup, as `schema.rs` makes it. Products are not folded: their number is bounded.
pub(super) struct RowName {
    day: NamesDay,
    name: String,
}

impl RowName {
    pub(super) fn of(project: i64, block: &Block, row: &Row) -> Option<Self> {
        if !matches!(row.class, Class::Human | Class::Assistant) {
            return None;
        }
        let referrer = text(block, row.referrer);
        let (about, name) = match row.kind {
            Kind::Read if referrer.is_empty() => (NameKind::Hosts, NO_REFERRER.to_owned()),
            Kind::Read => (NameKind::Hosts, referrer.split('/').next().unwrap_or_default().to_owned()),
            Kind::NotFound => (NameKind::Missing, format!("{}\t{referrer}", path(block, row))),
            Kind::Redirected => (NameKind::Redirected, path(block, row).to_owned()),
            Kind::Other => return None,
        };
        Some(Self { day: (project, about as u8, row.at.div_euclid(DAY)), name })
    }
}

/// The names of one day that are remembered, as hashes.
#[derive(Default)]
struct DayNames {
    names: HashSet<u64>,
    /// All names of the day.
    count: usize,
    /// Whether `names` has all names of the day, and not only those of the present shipment.
    is_complete: bool,
    last_shipment: u64,
}

pub(super) struct NameFolds {
    days: HashMap<NamesDay, DayNames>,
    shipment: u64,
    /// What the days take of `max_names`.
    weight: usize,
    max_names: usize,
}

impl Default for NameFolds {
    fn default() -> Self {
        Self { days: HashMap::new(), shipment: 0, weight: 0, max_names: MAX_NAMES }
    }
}

impl NameFolds {
    /// A known name keeps its own count, however many names follow.
    pub(super) fn is_folded(&mut self, name: &RowName) -> bool {
        let day = self.days.entry(name.day).or_default();
        let hash = hash(&name.name);
        if day.names.contains(&hash) {
            return false;
        }
        if day.count >= MAX_NAMES_PER_DAY {
            return true;
        }
        day.names.insert(hash);
        day.count += 1;
        false
    }

    /// Forgets the days that were not used for the longest time, and returns the days of these blocks that are not
    /// remembered, with the names in the blocks.
    fn begin_shipment(&mut self, blocks: &[(i64, Block)]) -> BTreeMap<NamesDay, HashSet<u64>> {
        self.shipment += 1;
        self.days.retain(|_, day| day.is_complete);
        let mut missing = BTreeMap::<NamesDay, HashSet<u64>>::new();
        for (project, block) in blocks {
            for name in block.rows.iter().filter_map(|row| RowName::of(*project, block, row)) {
                match self.days.get_mut(&name.day) {
                    Some(day) => day.last_shipment = self.shipment,
                    None => {
                        missing.entry(name.day).or_default().insert(hash(&name.name));
                    }
                }
            }
        }
        self.evict();
        missing
    }

    fn evict(&mut self) {
        let weight = |day: &DayNames| day.names.len() + DAY_WEIGHT;
        self.weight = self.days.values().map(weight).sum();
        // Days that are loaded next need some place.
        let max = self.max_names / 8 * 7;
        if self.weight <= max {
            return;
        }
        let mut days: Vec<_> = self.days.iter().map(|(key, day)| (day.last_shipment, *key)).collect();
        days.sort_unstable();
        for (_, key) in days.iter().take_while(|(last, _)| *last < self.shipment) {
            if self.weight <= max {
                break;
            }
            self.weight -= self.days.remove(key).map_or(0, |day| weight(&day));
        }
    }

    /// Remembers the names that ClickHouse has of a day. If they are too many, only those of the shipment, until the next
    /// shipment.
    fn insert(&mut self, key: NamesDay, names: Vec<u64>, of_shipment: &HashSet<u64>) {
        let is_complete = self.weight + names.len() + DAY_WEIGHT <= self.max_names;
        let is_kept = |name: &u64| is_complete || of_shipment.contains(name);
        let (count, last_shipment) = (names.len(), self.shipment);
        let names: HashSet<u64> = names.into_iter().filter(is_kept).collect();
        self.weight += names.len() + DAY_WEIGHT;
        self.days.insert(key, DayNames { names, count, is_complete, last_shipment });
    }
}

/// The names of days that got no further ones.
#[derive(Default)]
pub(super) struct FullDays(HashMap<NamesDay, HashSet<u64>>);

impl FullDays {
    pub(super) fn add(&mut self, day: NamesDay, names: &[String]) {
        self.0.insert(day, names.iter().map(|name| hash(name)).collect());
    }

    /// Whether the row's name counts as other.
    pub(super) fn is_folded(&self, project: i64, block: &Block, row: &Row) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let name = RowName::of(project, block, row);
        let names = name.and_then(|name| Some((self.0.get(&name.day)?, hash(&name.name))));
        names.is_some_and(|(names, hash)| !names.contains(&hash))
    }
}

/// As `sipHash64` of ClickHouse.
fn hash(name: &str) -> u64 {
    #[expect(deprecated, reason = "the default hasher may change")]
    let mut hasher = std::hash::SipHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl Shared {
    /// Loads the names that ClickHouse has of the days of some blocks. They stay loaded as long as the lock is held.
    pub(super) async fn load_name_folds(
        &self,
        blocks: &[(i64, Block)],
    ) -> Result<MutexGuard<'_, NameFolds>, Failure> {
        let mut folds = self.name_folds.lock().await;
        let missing = folds.begin_shipment(blocks);
        let days: Vec<NamesDay> = missing.keys().copied().collect();
        let (mut rest, mut size) = (&days[..], DAYS_PER_QUERY);
        while !rest.is_empty() {
            let (some, later) = rest.split_at(size.min(rest.len()));
            let limits = if some.len() > 1 { QueryLimits::PART } else { QueryLimits::REPORT };
            let names = match self.ready().await?.query_within(names_query(some), limits).await {
                Err(EngineError::TooLarge(_) | EngineError::TooSlow(_)) if some.len() > 1 => {
                    self.engine.check_silence().await?;
                    // Each try takes up to five seconds.
                    size = (some.len() / 4).max(1);
                    continue;
                }
                names => names?,
            };
            let mut answer = Answer::new(&names);
            let none = HashSet::new();
            while !answer.is_empty() {
                let day = (answer.u64()?.cast_signed(), answer.u8()?, i64::from(answer.u32()?));
                folds.insert(day, answer.u64s()?, missing.get(&day).unwrap_or(&none));
            }
            for day in some {
                if !folds.days.contains_key(day) {
                    folds.insert(*day, Vec::new(), &none);
                }
            }
            rest = later;
        }
        Ok(folds)
    }
}

/// A hash of a name is shorter than the name.
fn names_query(days: &[NamesDay]) -> String {
    let days = days.iter().map(|(project, about, day)| format!("({project}, {about}, {day})"));
    let days = days.collect::<Vec<_>>().join(", ");
    format!(
        "SELECT project, about, day, groupUniqArray(sipHash64(name)) FROM views_names \
         WHERE (project, about, day) IN ({days}) AND name != {} GROUP BY project, about, day",
        quote(OTHER_NAMES)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [(i64, Block); 0] = [];

    fn is_folded(folds: &mut NameFolds, day: i64, name: &str) -> bool {
        folds.is_folded(&RowName { day: (7, 2, day), name: name.into() })
    }

    fn full_day() -> Vec<u64> {
        (0..MAX_NAMES_PER_DAY).map(|number| hash(&number.to_string())).collect()
    }

    #[test]
    fn the_days_that_were_used_last_are_remembered() {
        let mut folds = NameFolds { max_names: 25_000, ..NameFolds::default() };
        for day in 1..=2 {
            folds.begin_shipment(&NONE);
            folds.insert((7, 2, day), full_day(), &HashSet::new());
            assert!(is_folded(&mut folds, day, "new") && !is_folded(&mut folds, day, "17"));
        }
        // More than is remembered: only the names of the shipment, until the next one.
        let wanted = HashSet::from([hash("17"), hash("new")]);
        folds.insert((7, 2, 3), full_day(), &wanted);
        assert!(is_folded(&mut folds, 3, "new") && !is_folded(&mut folds, 3, "17"));
        assert_eq!(folds.days[&(7, 2, 3)].names.len(), 1);
        folds.begin_shipment(&NONE);
        assert_eq!(folds.days.keys().map(|(_, _, day)| day).sum::<i64>(), 1 + 2);

        for number in 0..6_000 {
            assert!(!is_folded(&mut folds, 4, &number.to_string()));
        }
        folds.days.get_mut(&(7, 2, 4)).unwrap().is_complete = true;
        folds.days.get_mut(&(7, 2, 4)).unwrap().last_shipment = folds.shipment;
        folds.begin_shipment(&NONE);
        assert!(!folds.days.contains_key(&(7, 2, 1)) && folds.days.len() == 2, "the oldest is forgotten");
        assert!(folds.weight <= folds.max_names);
    }
}
