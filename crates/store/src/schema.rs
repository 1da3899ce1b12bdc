//! The schema versions that this program needs, and what it changes in an older database.

use base::{SchemaChange, pending_changes};

use crate::{postgres, sqlite};

/// The number of migrations of a `docwright.db` of this version.
pub const DATABASE_SCHEMA: usize = sqlite::MIGRATIONS.len();
/// The number of migrations of a PostgreSQL database of this version.
pub const POSTGRES_SCHEMA: usize = postgres::MIGRATIONS.len();

/// What the next start changes in a `docwright.db` of this schema version.
pub fn pending_sqlite_changes(schema: usize) -> Vec<SchemaChange> {
    pending_changes(sqlite::MIGRATIONS, schema)
}

/// What the next start changes in a PostgreSQL database of this schema version.
pub fn pending_postgres_changes(schema: usize) -> Vec<SchemaChange> {
    pending_changes(postgres::MIGRATIONS, schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_says_what_it_changes() {
        for migration in sqlite::MIGRATIONS.iter().chain(postgres::MIGRATIONS) {
            assert_eq!(base::description_problem(migration), None, "{migration}");
        }
    }

    /// A file that the list does not have would never be applied.
    #[test]
    fn every_file_of_a_migration_is_in_the_list() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        for (folder, migrations) in
            [(folder.clone(), sqlite::MIGRATIONS), (folder.join("postgres"), postgres::MIGRATIONS)]
        {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let files = entries.filter(|path| path.extension().is_some_and(|end| end == "sql"));
            let mut files: Vec<_> = files.collect();
            files.sort();
            let texts: Vec<_> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
            assert_eq!(texts, migrations);
        }
    }
}
