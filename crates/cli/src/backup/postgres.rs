//! Writes instructions to back up and restore a PostgreSQL database with `pg_dump` and `pg_restore`.

use server::Settings;
use store::DatabaseUrl;

use crate::args::quote;

pub(super) fn dump_instructions(url: &DatabaseUrl) -> String {
    format!(
        "Everything except page views is in PostgreSQL ({url}), and not in this backup. Also back it up: {}",
        dump_command(url)
    )
}

pub(crate) fn dump_command(url: &DatabaseUrl) -> String {
    format!("pg_dump --format=custom --file=docwright.pgdump {}", arguments(url))
}

pub(super) fn restore_instructions(settings: &Settings) -> String {
    let arguments = match &settings.database_url {
        Some(url) => arguments(url),
        None => "--dbname=DATABASE".into(),
    };
    format!(
        "This backup has only the data directory. Restore the database from a dump of about the same time: pg_restore --clean --if-exists {arguments} docwright.pgdump"
    )
}

fn arguments(url: &DatabaseUrl) -> String {
    let arguments: Vec<_> = url.arguments().iter().map(|argument| quote(argument)).collect();
    arguments.join(" ")
}
