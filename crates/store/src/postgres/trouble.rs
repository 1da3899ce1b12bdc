//! Recognizes problems of the database's machine by PostgreSQL's error codes.

use machine::{Cause, Trouble};

const DATABASE: &str = "the PostgreSQL server";

pub(crate) fn trouble(error: &sqlx::Error) -> Option<Trouble> {
    let reported = error.as_database_error()?;
    let cause = match reported.code()?.as_ref() {
        "53100" => Cause::DiskFull,
        // A read-only transaction: a standby, or an operator's setting.
        "25006" => Cause::ReadOnly,
        "58030" => Cause::DiskError,
        _ => return None,
    };
    Some(Trouble::new(cause, reported).at(DATABASE))
}
