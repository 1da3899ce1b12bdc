//! Encodes times, lists and counts for columns, the same in both databases.

use std::time::Duration;

use jiff::Timestamp;

use crate::{Result, StoreError};

pub(crate) fn from_ms(ms: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(ms).map_err(|_| damaged("a time"))
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| damaged("a list"))
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> String {
    // Lists and maps of strings cannot fail to become JSON.
    serde_json::to_string(value).unwrap_or_default()
}

/// Columns are signed: a larger count becomes the largest signed number.
pub(crate) fn to_signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Milliseconds of a wait. The bound keeps a sum with the present time from overflowing.
pub(crate) fn milliseconds(wait: Duration) -> i64 {
    i64::try_from(wait.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 2)
}

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::Database(format!("{what} in the database cannot be read; was it written by hand?"))
}
