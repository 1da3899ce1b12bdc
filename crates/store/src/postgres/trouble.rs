//! What PostgreSQL's error codes say about the machine that it runs on.

use machine::{Cause, Trouble};

const DATABASE: &str = "the PostgreSQL server";

pub(crate) fn trouble(error: &sqlx::Error) -> Option<Trouble> {
    let reported = error.as_database_error()?;
    let cause = match reported.code()?.as_ref() {
        "53100" => Cause::DiskFull,
        // A transaction that may only read: a standby, or a disk that the operator closed.
        "25006" => Cause::ReadOnly,
        "58030" => Cause::DiskError,
        _ => return None,
    };
    Some(Trouble::new(cause, reported).at(DATABASE))
}
