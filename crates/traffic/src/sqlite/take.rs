//! Taking in a batch. It runs in one savepoint of the writer: an error undoes all of it.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::event::Event;
use crate::views::Receipt;

/// How long an event id is remembered.
const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Rows a statement: enough that statements cost little, few enough for SQLite's 32,766 values.
const CHUNK: usize = 500;

/// Half of SHA-256: ids come from outside, so nobody must be able to make two that collide.
type Hash = [u8; 16];
type Words = HashMap<String, i64>;

pub(super) async fn take(
    connection: &mut SqliteConnection,
    project: &str,
    events: Vec<Event>,
    now: i64,
) -> Result<Receipt, sqlx::Error> {
    let accepted = events.len();
    let project = project_id(connection, project).await?;
    prune(connection, accepted, now).await?;
    let fresh = without_duplicates(connection, project, events, now).await?;
    let words = words(connection, project, &fresh).await?;
    for chunk in fresh.chunks(CHUNK) {
        insert(connection, project, chunk, &words, now).await?;
    }
    let duplicates = accepted - fresh.len();
    Ok(Receipt { accepted: accepted as u64, duplicates: duplicates as u64 })
}

async fn project_id(connection: &mut SqliteConnection, name: &str) -> Result<i64, sqlx::Error> {
    sqlx::query("INSERT INTO project (name) VALUES (?) ON CONFLICT DO NOTHING")
        .bind(name)
        .execute(&mut *connection)
        .await?;
    sqlx::query_scalar("SELECT id FROM project WHERE name = ?").bind(name).fetch_one(connection).await
}

/// Forgets old ids, a bounded number at a time: more than this batch can add, so that they do
/// not pile up, and few enough that nobody waits for it.
async fn prune(connection: &mut SqliteConnection, batch: usize, now: i64) -> Result<(), sqlx::Error> {
    let most = i64::try_from(2 * batch + CHUNK).unwrap_or(i64::MAX);
    sqlx::query(
        "DELETE FROM seen WHERE (project, hash) IN
            (SELECT project, hash FROM seen WHERE received < ? ORDER BY received LIMIT ?)",
    )
    .bind(now - REMEMBERED_MS)
    .bind(most)
    .execute(connection)
    .await?;
    Ok(())
}

async fn without_duplicates(
    connection: &mut SqliteConnection,
    project: i64,
    mut events: Vec<Event>,
    now: i64,
) -> Result<Vec<Event>, sqlx::Error> {
    let distinct: HashSet<Hash> = events.iter().filter_map(hash).collect();
    let distinct: Vec<Hash> = distinct.into_iter().collect();
    let mut new = HashSet::with_capacity(distinct.len());
    for chunk in distinct.chunks(CHUNK) {
        new.extend(remember(connection, project, chunk, now).await?);
    }
    // The first event that bears a new id uses it up.
    events.retain(|event| hash(event).is_none_or(|hash| new.remove(hash.as_slice())));
    Ok(events)
}

/// Answers those of `hashes` that were not remembered, or that were too long ago.
async fn remember(
    connection: &mut SqliteConnection,
    project: i64,
    hashes: &[Hash],
    now: i64,
) -> Result<Vec<Vec<u8>>, sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO seen (project, hash, received) ");
    query.push_values(hashes, |mut row, hash| {
        row.push_bind(project).push_bind(hash.as_slice()).push_bind(now);
    });
    query
        .push(" ON CONFLICT DO UPDATE SET received = excluded.received WHERE seen.received < ")
        .push_bind(now - REMEMBERED_MS)
        .push(" RETURNING hash");
    query.build_query_scalar().fetch_all(connection).await
}

fn hash(event: &Event) -> Option<Hash> {
    let digest = Sha256::digest(event.event_id.as_ref()?);
    digest.first_chunk().copied()
}

/// The numbers of all paths, user agents and referrers of a batch.
async fn words(
    connection: &mut SqliteConnection,
    project: i64,
    events: &[Event],
) -> Result<Words, sqlx::Error> {
    let texts: HashSet<&str> = events.iter().flat_map(texts).collect();
    let texts: Vec<&str> = texts.into_iter().collect();
    let mut words = Words::with_capacity(texts.len());
    for chunk in texts.chunks(CHUNK) {
        add_words(connection, project, chunk).await?;
        words.extend(find_words(connection, project, chunk).await?);
    }
    Ok(words)
}

fn texts(event: &Event) -> impl Iterator<Item = &str> {
    let optional = [&event.user_agent, &event.referrer];
    std::iter::once(event.path.as_str()).chain(optional.into_iter().flatten().map(String::as_str))
}

async fn add_words(
    connection: &mut SqliteConnection,
    project: i64,
    texts: &[&str],
) -> Result<(), sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO word (project, text) ");
    query.push_values(texts, |mut row, text| {
        row.push_bind(project).push_bind(*text);
    });
    query.push(" ON CONFLICT DO NOTHING").build().execute(connection).await?;
    Ok(())
}

async fn find_words(
    connection: &mut SqliteConnection,
    project: i64,
    texts: &[&str],
) -> Result<Vec<(String, i64)>, sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT text, id FROM word WHERE project = ");
    query.push_bind(project).push(" AND text IN (");
    let mut list = query.separated(", ");
    for text in texts {
        list.push_bind(*text);
    }
    query.push(")").build_query_as().fetch_all(connection).await
}

async fn insert(
    connection: &mut SqliteConnection,
    project: i64,
    events: &[Event],
    words: &Words,
    now: i64,
) -> Result<(), sqlx::Error> {
    let word = |text: &Option<String>| text.as_ref().and_then(|text| words.get(text)).copied();
    let mut query = QueryBuilder::<Sqlite>::new(
        "INSERT INTO event (project, at, received, path, agent, referrer, status, kind, class, markdown) ",
    );
    query.push_values(events, |mut row, event| {
        row.push_bind(project)
            .push_bind(event.at)
            .push_bind(now)
            .push_bind(words.get(&event.path).copied())
            .push_bind(word(&event.user_agent))
            .push_bind(word(&event.referrer))
            .push_bind(event.status)
            .push_bind(event.kind as u8)
            .push_bind(event.class.code())
            .push_bind(event.markdown);
    });
    query.build().execute(connection).await?;
    Ok(())
}
