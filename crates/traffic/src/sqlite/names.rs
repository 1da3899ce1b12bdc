//! What events say by name, a day at a time: written when they are folded, asked for by reports.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use sqlx::{SqliteConnection, SqlitePool};

use super::parts::Span;
use super::project::DAY;
use crate::block::{Block, Place, Row};
use crate::cells::CLASSES;
use crate::classify::{Class, product};
use crate::event::Kind;
use crate::names::Names;
use crate::views::Failure;

/// Names of one day that are kept apart.
const A_DAY: usize = 10_000;
/// Names of a whole range that are told apart.
const AN_ANSWER: usize = 100_000;
/// Of reads that came from nowhere.
pub(super) const NO_REFERRER: &str = "(none)";

/// What the names are of. The numbers are on disk: none may change its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum About {
    /// Products that read, in every class.
    Agents = 0,
    /// Hosts that people and assistants came from to read.
    Hosts = 1,
    /// What people and assistants did not find, a tab, and the page that they came from, if any.
    Missing = 2,
}

/// By day since 1970.
pub(super) type Days = BTreeMap<(About, i64), Names>;

/// The names in a block's rows, those that came first also first to find room.
pub(super) fn of_rows(block: &Block) -> Days {
    days_of(block, block.rows.iter())
}

fn days_of<'b>(block: &Block, rows: impl Iterator<Item = &'b Row>) -> Days {
    let mut met: Vec<_> = rows.flat_map(mentions).collect();
    met.sort_unstable();
    let mut days = Days::new();
    for same in met.chunk_by(|one, next| one == next) {
        let (about, day, texts, class) = same[0];
        let mut times = [0; CLASSES];
        times[usize::from(class.code())] = same.len() as u64;
        let names = days.entry((about, day)).or_insert_with(|| Names::with_room(A_DAY));
        names.add(&name(block, about, texts), &times);
    }
    days
}

/// What a row says, with the numbers of the texts that it says it by.
fn mentions(row: &Row) -> impl Iterator<Item = (About, i64, (u32, u32), Class)> {
    let counted = matches!(row.class, Class::Human | Class::Assistant);
    let said = match (row.kind, row.place) {
        (Kind::Read, _) => {
            [Some((About::Agents, (row.agent, 0))), counted.then_some((About::Hosts, (row.referrer, 0)))]
        }
        (Kind::NotFound, Place::Text(path)) => {
            [counted.then_some((About::Missing, (path, row.referrer))), None]
        }
        _ => [None, None],
    };
    let (day, class) = (row.at.div_euclid(DAY), row.class);
    said.into_iter().flatten().map(move |(about, texts)| (about, day, texts, class))
}

fn name(block: &Block, about: About, (first, second): (u32, u32)) -> String {
    let text = |number| block.texts.get(number);
    match about {
        About::Agents => product(text(first)).to_owned(),
        About::Hosts => text(first).map_or(NO_REFERRER, host).to_owned(),
        About::Missing => {
            format!("{}\t{}", text(first).unwrap_or_default(), text(second).unwrap_or_default())
        }
    }
}

/// Of a referrer, which is kept as host and path.
fn host(referrer: &str) -> &str {
    referrer.split('/').next().unwrap_or_default()
}

/// Adds names to what is kept of their days.
pub(super) async fn add(connection: &mut SqliteConnection, project: i64, days: Days) -> Result<(), Failure> {
    for ((about, day), names) in days {
        let kept: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT names FROM named WHERE project = ? AND about = ? AND day = ?")
                .bind(project)
                .bind(about as u8)
                .bind(day)
                .fetch_optional(&mut *connection)
                .await?;
        let mut all = Names::with_room(A_DAY);
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

/// The names of whole days, and of what a range cuts off the days before and after them. One piece at
/// a time is in memory, however long the range is.
pub(super) async fn sum(
    reads: &SqlitePool,
    project: i64,
    about: About,
    days: Span,
    edges: &[Span],
) -> Result<Names, Failure> {
    let mut sum = Names::with_room(AN_ANSWER);
    let kept =
        "SELECT names FROM named WHERE project = ? AND about = ? AND day >= ? AND day < ? ORDER BY day";
    let mut kept = sqlx::query_scalar::<_, Vec<u8>>(kept)
        .bind(project)
        .bind(about as u8)
        .bind(days.0)
        .bind(days.1)
        .fetch(reads);
    while let Some(names) = kept.try_next().await? {
        sum.add_encoded(&names)?;
    }
    for (from, to) in edges {
        let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ? ORDER BY id";
        let mut blocks =
            sqlx::query_scalar::<_, Vec<u8>>(blocks).bind(project).bind(from).bind(to).fetch(reads);
        while let Some(block) = blocks.try_next().await? {
            add_rows(&mut sum, &Block::decode(&block)?, about, |at| (*from..*to).contains(&at));
        }
    }
    Ok(sum)
}

/// Adds the names of the rows whose moment is `within`.
pub(super) fn add_rows(sum: &mut Names, block: &Block, about: About, within: impl Fn(i64) -> bool) {
    let rows = block.rows.iter().filter(|row| within(row.at));
    let found = days_of(block, rows).into_iter().filter(|((of, _), _)| *of == about);
    found.for_each(|(_, names)| names.iter().for_each(|(name, times)| sum.add(name, times)));
}
