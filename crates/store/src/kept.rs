//! How things are written down, the same in every backend.

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

/// Numbers are kept with a sign: one that is too large stays the largest.
pub(crate) fn kept(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The end of a wait; one that is too long never ends.
pub(crate) fn end_of(wait: Duration, now: i64) -> i64 {
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::Database(format!("{what} in the database cannot be read; was it written by hand?"))
}
