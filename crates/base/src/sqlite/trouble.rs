//! What SQLite's result codes say about the machine.

use std::fs::File;

use machine::{Cause, Trouble};
use sqlx::sqlite::SqliteError;

/// Where SQLite's files are.
pub const DATA_DIRECTORY: &str = "the data directory";

const READONLY: u32 = 8;
const IOERR: u32 = 10;
const FULL: u32 = 13;
const CANTOPEN: u32 = 14;

/// Trouble of the machine that SQLite reports, or that a connection to another database met.
pub fn trouble(error: &sqlx::Error) -> Option<Trouble> {
    let of_sqlite =
        error.as_database_error().filter(|error| error.try_downcast_ref::<SqliteError>().is_some());
    let Some(reported) = of_sqlite else { return Trouble::find(error) };
    let code: u32 = reported.code()?.parse().ok()?;
    let cause = cause(code)?;
    Some(Trouble::new(cause, format_args!("{reported} (SQLite's code {code})")).at(DATA_DIRECTORY))
}

/// The low byte of a code is the error; what is above it says more about where it was met.
fn cause(code: u32) -> Option<Cause> {
    match code & 0xff {
        READONLY => Some(Cause::ReadOnly),
        // SQLite does not tell which I/O error it was: EIO, EROFS, EDQUOT and EFBIG are the same to it.
        IOERR => Some(Cause::DiskError),
        FULL => Some(Cause::DiskFull),
        // It does not tell why either. A file that is not there is no trouble of the machine.
        CANTOPEN => File::open("/dev/null").err().as_ref().and_then(Cause::of_io),
        _ => None,
    }
}
