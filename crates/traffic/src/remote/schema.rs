//! Creates and upgrades the tables in ClickHouse, and checks its version.
//!
//! `views` has the raw events. Three rollups are filled by materialized views: reads by page and day, reads by page and
//! hour, and names by day. A row has the generation of its day: a rewrite adds rows of a new generation, and the ledger
//! decides which generation counts.

use super::engine::{Engine, EngineError};
use super::rows::Answer;
use crate::views::{Failure, Unavailable};

/// The oldest version that deduplicates rollups by token.
const MIN_VERSION: (u32, u32) = (25, 3);
pub(super) const TABLES: [&str; 4] = ["views", "views_daily", "views_hourly", "views_names"];
const MIGRATIONS: &[fn(&Dialect) -> Vec<String>] = &[first, second];

/// The forms of a statement on a single server and on a cluster.
struct Dialect<'a> {
    cluster: Option<&'a str>,
}

impl Dialect<'_> {
    fn on(&self) -> String {
        self.cluster.map(|name| format!(" ON CLUSTER '{name}'")).unwrap_or_default()
    }

    fn table(&self, name: &str, columns: &str, family: &str, rest: &str) -> String {
        // 100,000 tokens are remembered, on a cluster for at most 30 days. By default, it is an hour, and a later retry
        // counts twice. A single server writes rows to the disk before it answers, which is not the default; a cluster has them on a quorum.
        let (engine, window) = match self.cluster {
            None => (
                family.to_owned(),
                "non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1",
            ),
            Some(_) => (
                format!("Replicated{family}"),
                "replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 2592000",
            ),
        };
        format!(
            "CREATE TABLE IF NOT EXISTS {name}{} ({columns}) ENGINE = {engine} {rest} SETTINGS {window}",
            self.on()
        )
    }

    fn rollup(&self, name: &str, columns: &str, key: &str, select: &str) -> [String; 2] {
        let columns = format!("{columns}, class UInt8, generation UInt32, n UInt64");
        let table =
            self.table(name, &columns, "SummingMergeTree", &format!("ORDER BY ({key}, class, generation)"));
        let filled = format!(
            "CREATE MATERIALIZED VIEW IF NOT EXISTS {name}_filled{} TO {name} AS SELECT {key}, class, generation, count() AS n FROM {select} GROUP BY {key}, class, generation",
            self.on()
        );
        [table, filled]
    }
}

pub(super) const DAY_OF_AT: &str = "toUInt32(intDiv(toUnixTimestamp64Milli(at), 86400000))";
const HOUR_OF_AT: &str = "toUInt32(intDiv(toUnixTimestamp64Milli(at), 3600000))";
/// The names of a raw event, each with its kind: see `names.rs`. Names that are `folded` count as other.
pub(super) fn names_of_row(folded: &str) -> String {
    NAMES_OF_ROW.replace("folded", folded)
}

const NAMES_OF_ROW: &str = "arrayJoin(arrayConcat(
    if(kind = 0, [(0, toString(product))], []),
    if(kind = 0 AND class < 2, [(1, if(folded, '(other)', if(referrer = '', '(none)', splitByChar('/', toString(referrer))[1])))], []),
    if(kind = 1 AND class < 2, [(2, if(folded, '(other)', concat(path, '\\t', referrer)))], []),
    if(kind = 3 AND class < 2, [(3, if(folded, '(other)', toString(path)))], []),
    if(kind = 0 AND verification > 0, [(4, concat(product, '\\t', if(verification = 2, 'verified', 'claimed')))], [])
)) AS entry";

fn first(dialect: &Dialect) -> Vec<String> {
    let raw = "project UInt64, at DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1)), path LowCardinality(String), \
        kind UInt8, class UInt8, markdown Bool, status UInt16, agent LowCardinality(String), \
        product LowCardinality(String), referrer LowCardinality(String), verification UInt8, visitor UInt64, \
        folded Bool, generation UInt32";
    let mut statements =
        vec![dialect.table("views", raw, "MergeTree", "PARTITION BY toYYYYMM(at) ORDER BY (project, at)")];
    let reads = |unit: &str| format!("(SELECT *, {unit} FROM views WHERE kind = 0)");
    let by_path = |unit: &str| format!("project UInt64, {unit} UInt32, path LowCardinality(String)");
    statements.extend(dialect.rollup(
        "views_daily",
        &by_path("day"),
        "project, day, path",
        &reads(&format!("{DAY_OF_AT} AS day")),
    ));
    statements.extend(dialect.rollup(
        "views_hourly",
        &by_path("hour"),
        "project, hour, path",
        &reads(&format!("{HOUR_OF_AT} AS hour")),
    ));
    let names = format!(
        "(SELECT project, {DAY_OF_AT} AS day, class, generation, {}, toUInt8(entry.1) AS about, entry.2 AS name FROM views)",
        names_of_row("folded")
    );
    statements.extend(dialect.rollup(
        "views_names",
        "project UInt64, about UInt8, day UInt32, name String",
        "project, about, day, name",
        &names,
    ));
    statements
}

fn second(dialect: &Dialect) -> Vec<String> {
    vec![dialect.table("docwright_ledger", "id String", "MergeTree", "ORDER BY id")]
}

/// Brings the tables up to date. Every statement can be repeated, so two servers may do this at the same time.
pub(super) async fn prepare(engine: &Engine) -> Result<(), Failure> {
    check_version(engine).await?;
    let dialect = Dialect { cluster: engine.cluster.as_deref() };
    // On a cluster, a statement that creates a table waits for all replicas, even if the table exists.
    if !has_table(engine, "docwright_schema").await? {
        let versions = dialect.table("docwright_schema", "version UInt32", "MergeTree", "ORDER BY version");
        engine.execute(versions, &[]).await?;
    }
    let found = engine.query("SELECT max(version) FROM docwright_schema".into()).await?;
    let found = Answer::new(&found).u32()? as usize;
    if found > MIGRATIONS.len() {
        let text = format!("its tables have version {found}, and this program knows {}", MIGRATIONS.len());
        return Err(EngineError::Refused(text).into());
    }
    for (number, migration) in (1..).zip(MIGRATIONS).skip(found) {
        for statement in migration(&dialect) {
            engine.execute(statement, &[]).await?;
        }
        let record = format!("INSERT INTO docwright_schema VALUES ({number})");
        engine.execute(record, &[("async_insert", "0")]).await?;
    }
    Ok(())
}

/// Checks the version, and returns it. Creates nothing.
pub(super) async fn check_version(engine: &Engine) -> Result<String, Failure> {
    let answer = engine.query("SELECT version()".into()).await?;
    let version = Answer::new(&answer).string()?;
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    let found = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if found < MIN_VERSION {
        let (major, minor) = MIN_VERSION;
        let text = format!("ClickHouse {version} is too old: install {major}.{minor} or later");
        return Err(Failure::new(Unavailable(text)));
    }
    Ok(version.to_owned())
}

/// Whether all tables exist.
pub(super) async fn has_tables(engine: &Engine) -> Result<bool, Failure> {
    has_table(engine, "docwright_ledger").await
}

async fn has_table(engine: &Engine, name: &str) -> Result<bool, Failure> {
    let tables =
        format!("SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = '{name}'");
    let found = engine.query(tables).await?;
    Ok(Answer::new(&found).u64()? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_single_server_and_of_a_cluster() {
        let single = first(&Dialect { cluster: None });
        assert_eq!(single.len(), 7);
        assert_eq!(
            single[1],
            "CREATE TABLE IF NOT EXISTS views_daily (project UInt64, day UInt32, path LowCardinality(String), class UInt8, generation UInt32, n UInt64) ENGINE = SummingMergeTree ORDER BY (project, day, path, class, generation) SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1"
        );
        assert_eq!(
            single[2],
            "CREATE MATERIALIZED VIEW IF NOT EXISTS views_daily_filled TO views_daily AS SELECT project, day, path, class, generation, count() AS n FROM (SELECT *, toUInt32(intDiv(toUnixTimestamp64Milli(at), 86400000)) AS day FROM views WHERE kind = 0) GROUP BY project, day, path, class, generation"
        );
        let cluster = first(&Dialect { cluster: Some("docs") });
        for (one, many) in single.iter().zip(&cluster) {
            assert!(many.contains(" ON CLUSTER 'docs'") && !one.contains("ON CLUSTER"), "{many}");
            if many.starts_with("CREATE TABLE") {
                let window = "SETTINGS replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 2592000";
                assert!(many.contains("ENGINE = Replicated") && many.ends_with(window), "{many}");
            }
        }
    }
}
