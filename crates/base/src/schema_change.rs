//! Describes schema migrations for people.
//!
//! The first line of each migration says what it does, so that the description cannot be forgotten or lost:
//! `-- Upgrade: Adds follow-ups.` A migration that also changes existing rows needs more disk space, and begins with
//! `-- Upgrade, rewrites rows: `.

const MARK: &str = "-- Upgrade: ";
const REWRITING_MARK: &str = "-- Upgrade, rewrites rows: ";
/// Statements that change existing rows.
const REWRITING_STATEMENTS: [&str; 3] = ["UPDATE ", "INSERT ", "DELETE "];

/// What one migration changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaChange {
    /// The schema version after the migration.
    pub number: usize,
    /// One sentence.
    pub summary: &'static str,
    pub rewrites_rows: bool,
}

/// The changes of all migrations that come after the first `applied` ones.
pub fn pending_changes(migrations: &[&'static str], applied: usize) -> Vec<SchemaChange> {
    let pending = migrations.iter().enumerate().skip(applied);
    pending
        .map(|(index, migration)| {
            let (rewrites_rows, summary) = describe(migration).unwrap_or((true, "Changes the tables."));
            SchemaChange { number: index + 1, summary, rewrites_rows }
        })
        .collect()
}

/// What is wrong with the description of a migration. Tests call it for each migration.
pub fn description_problem(migration: &'static str) -> Option<&'static str> {
    let Some((rewrites_rows, summary)) = describe(migration) else {
        return Some("the first line is not a description: -- Upgrade: Adds …");
    };
    let mut lines = migration.lines();
    let changes_rows =
        lines.any(|line| REWRITING_STATEMENTS.iter().any(|statement| line.starts_with(statement)));
    if changes_rows && !rewrites_rows {
        return Some("it changes rows: begin it with -- Upgrade, rewrites rows: …");
    }
    let is_sentence = summary.starts_with(|c: char| c.is_ascii_uppercase()) && summary.ends_with('.');
    (!is_sentence).then_some("the description is not a sentence")
}

/// Whether a migration rewrites rows, and its description.
fn describe(migration: &'static str) -> Option<(bool, &'static str)> {
    let line = migration.lines().next()?;
    let rewriting = line.strip_prefix(REWRITING_MARK).map(|summary| (true, summary));
    rewriting.or_else(|| line.strip_prefix(MARK).map(|summary| (false, summary)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_the_first_line() {
        let migrations = ["-- Upgrade: Adds a.\nCREATE", "-- Upgrade, rewrites rows: Fills b.\nUPDATE b"];
        let first = SchemaChange { number: 1, summary: "Adds a.", rewrites_rows: false };
        let second = SchemaChange { number: 2, summary: "Fills b.", rewrites_rows: true };
        assert_eq!(pending_changes(&migrations, 0), [first, second]);
        assert_eq!(pending_changes(&migrations, 1), [second]);
        assert_eq!(pending_changes(&migrations, 2), []);
        assert_eq!(pending_changes(&migrations, 1000), []);
        assert_eq!(migrations.map(description_problem), [None, None]);
    }

    #[test]
    fn a_missing_or_wrong_description_is_a_problem() {
        for migration in [
            "",
            "CREATE TABLE a (b)",
            "-- Adds a.\nCREATE TABLE a (b)",
            "\n-- Upgrade: Adds a.",
            "-- Upgrade: \nCREATE TABLE a (b)",
            "-- Upgrade: adds a.\nCREATE TABLE a (b)",
            "-- Upgrade: Adds a\nCREATE TABLE a (b)",
            "-- Upgrade: Adds a.\nUPDATE a SET b = 1",
        ] {
            assert!(description_problem(migration).is_some(), "{migration:?}");
        }
    }
}
