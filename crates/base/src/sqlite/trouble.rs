//! Maps SQLite's result codes to trouble of the machine, such as a full disk.

use std::fs::File;

use machine::{Cause, Trouble};
use sqlx::sqlite::SqliteError;

/// The name of the location of SQLite's files in error messages.
pub const DATA_DIRECTORY: &str = "the data directory";

const READONLY: u32 = 8;
const IOERR: u32 = 10;
const FULL: u32 = 13;
const CANTOPEN: u32 = 14;

/// The trouble of the machine behind an error of SQLite, or of a connection to another database.
pub fn trouble(error: &sqlx::Error) -> Option<Trouble> {
    let of_sqlite =
        error.as_database_error().filter(|error| error.try_downcast_ref::<SqliteError>().is_some());
    let Some(reported) = of_sqlite else { return Trouble::find(error) };
    let code: u32 = reported.code()?.parse().ok()?;
    let cause = cause(code)?;
    Some(Trouble::new(cause, format_args!("{reported} (SQLite's code {code})")).at(DATA_DIRECTORY))
}

/// The low byte of a code is the primary result code; the other bits are details.
fn cause(code: u32) -> Option<Cause> {
    match code & 0xff {
        READONLY => Some(Cause::ReadOnly),
        // SQLite does not distinguish I/O errors: EIO, EROFS, EDQUOT and EFBIG have the same code.
        IOERR => Some(Cause::DiskError),
        FULL => Some(Cause::DiskFull),
        // SQLite gives no reason here. Too many open files is trouble of the machine; a missing file is not.
        CANTOPEN => File::open("/dev/null").err().as_ref().and_then(Cause::from_io),
        _ => None,
    }
}
