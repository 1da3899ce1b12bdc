//! Bounds the names of a day in the rollups: further names count as other. Each server counts the names that it ships.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Shared;
use super::rows::{Answer, path, text};
use super::sql::quote;
use crate::block::{Block, Row};
use crate::classify::Class;
use crate::event::Kind;
use crate::name_counts::OTHER_NAMES;
use crate::names::{MAX_NAMES_PER_DAY, NO_REFERRER, NameKind};
use crate::range_parts::DAY;
use crate::views::Failure;

/// Days that are remembered, with up to [`MAX_NAMES_PER_DAY`] names each.
const MAX_DAYS: usize = 2_000;

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

#[derive(Default)]
pub(super) struct NameFolds(HashMap<NamesDay, HashSet<u64>>);

impl NameFolds {
    /// A known name keeps its own count, however many names follow.
    pub(super) fn is_folded(&mut self, name: &RowName) -> bool {
        let names = self.0.entry(name.day).or_default();
        let hash = hash(&name.name);
        if names.len() >= MAX_NAMES_PER_DAY && !names.contains(&hash) {
            return true;
        }
        names.insert(hash);
        false
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

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

impl Shared {
    /// Loads the names that ClickHouse has of the days of some blocks.
    pub(super) async fn load_name_folds(&self, blocks: &[(i64, Block)]) -> Result<(), Failure> {
        let mut folds = self.name_folds.lock().await;
        let mut missing = HashSet::new();
        for (project, block) in blocks {
            let names = block.rows.iter().filter_map(|row| RowName::of(*project, block, row));
            missing.extend(names.map(|name| name.day).filter(|day| !folds.0.contains_key(day)));
        }
        if missing.is_empty() {
            return Ok(());
        }
        if folds.0.len() + missing.len() > MAX_DAYS {
            folds.0.clear();
        }
        let days = missing.iter().map(|(project, about, day)| format!("({project}, {about}, {day})"));
        let days = days.collect::<Vec<_>>().join(", ");
        let names = self.ready().await?.query(format!(
            "SELECT DISTINCT project, about, day, name FROM views_names WHERE (project, about, day) IN ({days}) AND name != {}",
            quote(OTHER_NAMES)
        ));
        let names = names.await?;
        for day in missing {
            folds.0.entry(day).or_default();
        }
        let mut answer = Answer::new(&names);
        while !answer.is_empty() {
            let day = (answer.u64()?.cast_signed(), answer.u8()?, i64::from(answer.u32()?));
            let name = hash(answer.string()?);
            folds.0.entry(day).or_default().insert(name);
        }
        Ok(())
    }
}
