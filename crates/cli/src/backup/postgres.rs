//! How to back up and restore what is on PostgreSQL, with PostgreSQL's own programs.

use server::Settings;
use store::DatabaseUrl;

use crate::args::quoted;

/// What to do about the database, for somebody who has backed up the data directory.
pub(super) fn dump_words(url: &DatabaseUrl) -> String {
    format!(
        "Everything but page views is on PostgreSQL ({url}) and not in this backup. Back it up as well: pg_dump --format=custom --file=docwright.pgdump {}",
        arguments(url)
    )
}

pub(super) fn restore_words(settings: &Settings) -> String {
    let arguments = match &settings.database_url {
        Some(url) => arguments(url),
        None => "--dbname=DATABASE".into(),
    };
    format!(
        "This backup holds the data directory alone. Restore the database from its dump of about the same time: pg_restore --clean --if-exists {arguments} docwright.pgdump"
    )
}

fn arguments(url: &DatabaseUrl) -> String {
    let arguments: Vec<_> = url.arguments().iter().map(|argument| quoted(argument)).collect();
    arguments.join(" ")
}
