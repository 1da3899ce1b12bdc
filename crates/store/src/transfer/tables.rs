//! Lists the tables, in an order in which a row comes after the rows that it refers to.

/// A table that is copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableSpec {
    pub(super) name: &'static str,
    /// Columns of PostgreSQL whose value isn't the column of the same name in SQLite, with the expression on SQLite.
    pub(super) expressions: &'static [(&'static str, &'static str)],
}

const fn table(name: &'static str) -> TableSpec {
    TableSpec { name, expressions: &[] }
}

pub(super) const TABLES: &[TableSpec] = &[
    table("organizations"),
    table("projects"),
    table("deletions"),
    table("keys"),
    table("people"),
    table("sign_in_networks"),
    table("invites"),
    table("login_links"),
    table("sessions"),
    table("deeds"),
    table("secrets"),
    table("jobs"),
    table("job_events"),
    table("messages"),
    table("job_changes"),
    table("failed_diffs"),
    TableSpec {
        name: "conversation",
        // Entries of an early version have no time.
        expressions: &[("at", "coalesce(at, (SELECT created_at FROM jobs WHERE id = conversation.job))")],
    },
    table("tokens_by_month"),
    table("turns"),
    table("pulls"),
    table("proposals"),
    table("findings"),
    table("job_findings"),
    table("finding_settings"),
    table("site_scans"),
    table("project_chores"),
    table("answers"),
    TableSpec { name: "rates", expressions: &[("hour", "\"window\"")] },
];

/// Tables of either database that are not copied, and why.
#[cfg(test)]
const NOT_COPIED: &[(&str, &str)] = &[
    ("clocks", "its only row is that of the server, which has another name on PostgreSQL"),
    ("workers", "the workers are dead, and a lease without a worker is void"),
    ("docwright_schema", "the schema's version"),
    ("views_home", "the move claims the page views for the data directory"),
    ("views_engine", "the binding to ClickHouse is made with its first use"),
    ("views_projects", "page views are copied by `traffic`"),
    ("views_purges", "page views"),
    ("views_ids_a", "page views"),
    ("views_ids_b", "page views"),
    ("views_ids_current", "page views"),
    ("views_pages", "page views"),
    ("views_imports", "page views"),
    ("views_salts", "page views"),
    ("views_shipments", "page views"),
    ("views_outbox", "page views"),
    ("views_days", "page views"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base::sqlite::{Database, Schema};

    use super::*;
    use crate::{postgres, sqlite};

    /// The names of the tables that migrations leave, without a database.
    fn created_tables(migrations: &[&str]) -> BTreeSet<String> {
        let mut tables = BTreeSet::new();
        for line in migrations.iter().flat_map(|migration| migration.lines()) {
            let words: Vec<&str> = line.trim().trim_end_matches(';').split([' ', '(']).collect();
            match words[..] {
                ["CREATE", "TABLE", name, ..] => drop(tables.insert(name.to_owned())),
                ["DROP", "TABLE", name, ..] => drop(tables.remove(name)),
                ["ALTER", "TABLE", old, "RENAME", "TO", new] => {
                    tables.remove(old);
                    tables.insert(new.to_owned());
                }
                _ => {}
            }
        }
        tables
    }

    fn listed() -> BTreeSet<&'static str> {
        let copied = TABLES.iter().map(|table| table.name);
        copied.chain(NOT_COPIED.iter().map(|(name, _)| *name)).collect()
    }

    /// A table that a later migration adds must be copied, or have a reason here.
    #[test]
    fn every_table_of_both_databases_is_listed() {
        for migrations in [sqlite::MIGRATIONS, postgres::MIGRATIONS] {
            let tables = created_tables(migrations);
            assert!(tables.len() > 25, "{tables:?}");
            for table in tables {
                assert!(listed().contains(&*table), "the table {table} is neither copied nor left out");
            }
        }
        let copied: BTreeSet<_> = TABLES.iter().map(|table| table.name.to_owned()).collect();
        for migrations in [sqlite::MIGRATIONS, postgres::MIGRATIONS] {
            let missing: Vec<_> = copied.difference(&created_tables(migrations)).cloned().collect();
            assert_eq!(missing, Vec::<String>::new(), "a copied table is in one database only");
        }
    }

    #[tokio::test]
    async fn the_tables_of_sqlite_are_those_of_its_migrations() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("docwright.db");
        let db = Database::open(&path, sqlite::MIGRATIONS, Schema::Migrate).await.unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
        let tables: Vec<String> =
            sqlx::query_scalar(tables).fetch_all(&mut *db.reads().acquire().await.unwrap()).await.unwrap();
        assert_eq!(tables.into_iter().collect::<BTreeSet<_>>(), created_tables(sqlite::MIGRATIONS));
    }
}
