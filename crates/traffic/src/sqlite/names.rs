//! Stores and sums the daily rollups by name: products, referring hosts, missing and redirected
//! paths, and verified products.

use std::collections::BTreeMap;

use base::sqlite::ReadPool;
use futures_util::TryStreamExt;
use sqlx::SqliteConnection;

use super::project::DAY;
use super::range_parts::Span;
use crate::block::{Block, PathRef, Row};
use crate::cells::CLASSES;
use crate::classify::{Class, product};
use crate::event::Kind;
use crate::name_counts::NameCounts;
use crate::ranges::Verification;
use crate::views::Failure;

/// Further names of a day count as other.
const MAX_NAMES_PER_DAY: usize = 10_000;
/// Further names of a report count as other.
const MAX_NAMES_PER_REPORT: usize = 100_000;
/// The referrer of reads without one.
pub(super) const NO_REFERRER: &str = "(none)";

pub(super) const VERIFIED: &str = "verified";
pub(super) const CLAIMED: &str = "claimed";

/// The kind of a name. The numbers are stored on disk and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum NameKind {
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
pub(super) type DailyNames = BTreeMap<(NameKind, i64), NameCounts>;

/// Counts the names in a block's rows.
pub(super) fn count_block(block: &Block) -> DailyNames {
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

/// Adds names to the stored rollups of their days.
pub(super) async fn add(
    connection: &mut SqliteConnection,
    project: i64,
    days: DailyNames,
) -> Result<(), Failure> {
    for ((about, day), names) in days {
        let kept: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT names FROM named WHERE project = ? AND about = ? AND day = ?")
                .bind(project)
                .bind(about as u8)
                .bind(day)
                .fetch_optional(&mut *connection)
                .await?;
        let mut all = NameCounts::with_capacity(MAX_NAMES_PER_DAY);
        kept.map(|kept| all.add_encoded(&kept)).transpose()?;
        names.iter().for_each(|(name, times)| all.add(name, times));
        sqlx::query(
            "INSERT INTO named (project, about, day, names) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET names = excluded.names",
        )
        .bind(project)
        .bind(about as u8)
        .bind(day)
        .bind(all.encode()?)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Sums the names of whole days and of the edges of a range. Streams the data, so memory is bounded for any
/// range.
pub(super) async fn sum(
    reads: &ReadPool,
    project: i64,
    about: NameKind,
    days: Span,
    edges: &[Span],
) -> Result<NameCounts, Failure> {
    let mut sum = NameCounts::with_capacity(MAX_NAMES_PER_REPORT);
    let kept =
        "SELECT names FROM named WHERE project = ? AND about = ? AND day >= ? AND day < ? ORDER BY day";
    let mut connection = reads.acquire().await?;
    let mut kept = sqlx::query_scalar::<_, Vec<u8>>(kept)
        .bind(project)
        .bind(about as u8)
        .bind(days.0)
        .bind(days.1)
        .fetch(&mut *connection);
    while let Some(names) = kept.try_next().await? {
        sum.add_encoded(&names)?;
    }
    drop(kept);
    for (from, to) in edges {
        let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ? ORDER BY id";
        let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(blocks)
            .bind(project)
            .bind(from)
            .bind(to)
            .fetch(&mut *connection);
        while let Some(block) = blocks.try_next().await? {
            add_rows(&mut sum, &Block::decode(&block)?, about, |at| (*from..*to).contains(&at));
        }
    }
    Ok(sum)
}

/// Adds the names of the rows whose time is `within` the range.
pub(super) fn add_rows(sum: &mut NameCounts, block: &Block, about: NameKind, within: impl Fn(i64) -> bool) {
    let rows = block.rows.iter().filter(|row| within(row.at));
    let found = count_rows(block, rows).into_iter().filter(|((of, _), _)| *of == about);
    found.for_each(|(_, names)| names.iter().for_each(|(name, times)| sum.add(name, times)));
}
