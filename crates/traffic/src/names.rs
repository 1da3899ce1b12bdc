//! Counts rows by name: products, referring hosts, missing and redirected paths, and verified products.

use std::collections::BTreeMap;

use crate::block::{Block, PathRef, Row};
use crate::cells::CLASSES;
use crate::classify::{Class, product};
use crate::event::Kind;
use crate::name_counts::NameCounts;
use crate::range_parts::DAY;
use crate::ranges::Verification;

/// Further names of a day count as other.
pub(crate) const MAX_NAMES_PER_DAY: usize = 10_000;
/// Further names of a report count as other.
pub(crate) const MAX_NAMES_PER_REPORT: usize = 100_000;
/// The referrer of reads without one.
pub(crate) const NO_REFERRER: &str = "(none)";

pub(crate) const VERIFIED: &str = "verified";
pub(crate) const CLAIMED: &str = "claimed";

/// The kind of a name. The numbers are stored on disk and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum NameKind {
    /// Products of all classes.
    Agents = 0,
    /// Referring hosts of humans and assistants.
    Hosts = 1,
    /// Missing paths that humans and assistants requested: the path, a tab, and the referring page, if any.
    Missing = 2,
    /// Redirected paths that humans and assistants requested.
    Redirected = 3,
    /// Products of all classes whose address was checked: the product, a tab, and `verified` or `claimed`.
    Verifications = 4,
}

/// Names by kind and by day since 1970.
pub(crate) type DailyNames = BTreeMap<(NameKind, i64), NameCounts>;

/// Counts the names in a block's rows.
pub(crate) fn count_block(block: &Block) -> DailyNames {
    count_rows(block, block.rows.iter())
}

fn count_rows<'b>(block: &Block, rows: impl Iterator<Item = &'b Row>) -> DailyNames {
    let mut found: Vec<_> = rows.flat_map(row_names).collect();
    found.sort_unstable();
    let mut days = DailyNames::new();
    for same in found.chunk_by(|name, next| name == next) {
        let (about, day, texts, class) = same[0];
        let mut times = [0; CLASSES];
        times[usize::from(class.code())] = same.len() as u64;
        let names = days.entry((about, day)).or_insert_with(|| NameCounts::with_capacity(MAX_NAMES_PER_DAY));
        names.add(&name(block, about, texts), &times);
    }
    days
}

/// The names in a row, as numbers of texts, or of a text and a verification.
fn row_names(row: &Row) -> impl Iterator<Item = (NameKind, i64, (u32, u32), Class)> {
    let counted = matches!(row.class, Class::Human | Class::Assistant);
    let verification = row.verification;
    let names = match (row.kind, row.path) {
        (Kind::Read, _) => [
            Some((NameKind::Agents, (row.agent, 0))),
            counted.then_some((NameKind::Hosts, (row.referrer, 0))),
            (verification != Verification::Unknown)
                .then_some((NameKind::Verifications, (row.agent, verification as u32))),
        ],
        (Kind::NotFound, PathRef::Text(path)) => {
            [counted.then_some((NameKind::Missing, (path, row.referrer))), None, None]
        }
        (Kind::Redirected, PathRef::Text(path)) => {
            [counted.then_some((NameKind::Redirected, (path, 0))), None, None]
        }
        _ => [None, None, None],
    };
    let (day, class) = (row.at.div_euclid(DAY), row.class);
    names.into_iter().flatten().map(move |(about, texts)| (about, day, texts, class))
}

fn name(block: &Block, about: NameKind, (first, second): (u32, u32)) -> String {
    let text = |number| block.texts.get(number);
    match about {
        NameKind::Agents => product(text(first)).to_owned(),
        NameKind::Hosts => text(first).map_or(NO_REFERRER, host).to_owned(),
        NameKind::Missing => {
            format!("{}\t{}", text(first).unwrap_or_default(), text(second).unwrap_or_default())
        }
        NameKind::Redirected => text(first).unwrap_or_default().to_owned(),
        NameKind::Verifications => {
            let is_verified = second == Verification::Verified as u32;
            format!("{}\t{}", product(text(first)), if is_verified { VERIFIED } else { CLAIMED })
        }
    }
}

/// The host of a referrer, which is stored as host and path.
fn host(referrer: &str) -> &str {
    referrer.split('/').next().unwrap_or_default()
}

/// Adds the names of the rows whose time is `within` the range.
pub(crate) fn add_rows(sum: &mut NameCounts, block: &Block, about: NameKind, within: impl Fn(i64) -> bool) {
    let rows = block.rows.iter().filter(|row| within(row.at));
    let found = count_rows(block, rows).into_iter().filter(|((of, _), _)| *of == about);
    found.for_each(|(_, names)| names.iter().for_each(|(name, times)| sum.add(name, times)));
}
