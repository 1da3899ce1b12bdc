//! Collects what the first start of this version changes, and prints it.

use std::path::PathBuf;

use base::SchemaChange;
use serde::Serialize;
use serde_json::{Value, json};

use crate::doctor::report::Report;
use crate::output;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A database, and what the first start of this version changes in it.
pub(super) struct DatabasePlan {
    pub(super) name: &'static str,
    /// Whether it is a file in the data directory.
    pub(super) is_file: bool,
    pub(super) schema: usize,
    /// The schema that this version needs.
    pub(super) needed: usize,
    pub(super) changes: Vec<SchemaChange>,
    pub(super) bytes: u64,
    /// How many servers, workers, and commands use a PostgreSQL database.
    pub(super) users: u64,
}

/// The backup that was verified, with its times.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackupFacts {
    pub(super) path: PathBuf,
    pub(super) created_at: String,
    pub(super) docwright: String,
    pub(super) includes_newest_write: bool,
}

pub(super) struct Plan {
    data: PathBuf,
    pub(super) databases: Vec<DatabasePlan>,
    pub(super) backup: Option<BackupFacts>,
    /// The last write to the databases in the data directory.
    pub(super) newest_write: Option<jiff::Timestamp>,
}

impl Plan {
    pub(super) fn new(data: PathBuf) -> Self {
        Self { data, databases: Vec::new(), backup: None, newest_write: None }
    }

    pub(super) fn changes_something(&self) -> bool {
        self.databases.iter().any(|database| !database.changes.is_empty())
    }

    /// Databases in the data directory that change. `docwright backup` copies them.
    pub(super) fn changed_files(&self) -> impl Iterator<Item = &DatabasePlan> {
        self.databases.iter().filter(|database| database.is_file && !database.changes.is_empty())
    }

    pub(super) fn to_json(&self, is_ready: bool, checks: &impl Serialize) -> Value {
        let change = |change: &SchemaChange| json!({ "number": change.number, "change": change.summary, "rewritesRows": change.rewrites_rows });
        let database = |database: &DatabasePlan| {
            json!({
                "name": database.name,
                "schema": database.schema,
                "neededSchema": database.needed,
                "changes": database.changes.iter().map(change).collect::<Vec<_>>(),
            })
        };
        json!({
            "ready": is_ready,
            "docwright": VERSION,
            "data": self.data.to_string_lossy(),
            "databases": self.databases.iter().map(database).collect::<Vec<_>>(),
            "newestWrite": self.newest_write.map(output::format_timestamp),
            "backup": self.backup,
            "checks": checks,
        })
    }

    pub(super) fn print(&self, report: &Report) -> anyhow::Result<()> {
        for DatabasePlan { name, schema, needed, changes, .. } in &self.databases {
            if changes.is_empty() {
                output::print_line(format!(
                    "{name} has schema {schema}. Docwright {VERSION} needs {needed}."
                ))?;
                continue;
            }
            output::print_line(format!(
                "{name} has schema {schema}. Docwright {VERSION} needs {needed}, and its first start makes these changes:"
            ))?;
            for change in changes {
                output::print_line(format!("  {:>3}  {}", change.number, change.summary))?;
            }
        }
        output::print_line("")?;
        report.print()?;
        output::print_line("")?;
        output::print_line(match (report.has_failures(), self.changes_something()) {
            (true, _) => "Not ready: do what the lines marked `fail` say, then check again.",
            (false, true) => "Ready: the next start of `docwright serve` makes these changes.",
            (false, false) => "Ready: there is nothing to change.",
        })
    }
}
