//! The conversation of a job with its model. A worker that takes the job over replays it instead of paying for it again.

use jiff::Timestamp;
use serde_json::Value;

use crate::encoding::from_ms;
use crate::{Result, StoreError};

/// The length limit of one entry's JSON.
pub const MAX_ENTRY_BYTES: usize = 4 << 20;

/// Tokens of a request. `cached` is the part of `input` that the provider had cached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

impl Tokens {
    /// The tokens that count against the month's budget.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// One entry of a job's conversation. Numbered from 1 over all runs of the job, without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationEntry {
    pub run: u32,
    pub number: u32,
    pub entry: Value,
    pub tokens: Tokens,
    /// `None`: the entry is older than this column.
    pub at: Option<Timestamp>,
    /// The number of the job's last event at that time.
    pub after: u64,
}

/// Encodes an entry. Refuses one that could not be decoded again: it would make the whole conversation unreadable.
pub(crate) fn encode_entry(entry: &Value) -> Result<String> {
    let text = entry.to_string();
    if text.len() > MAX_ENTRY_BYTES {
        let length = text.len();
        return Err(StoreError::BadEntry(format!("is longer than 4 MiB ({length} bytes)")));
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(StoreError::BadEntry("is nested too deeply".into())),
    }
}

/// The calendar month, UTC.
pub(crate) fn month_of(now: i64) -> Result<String> {
    Ok(from_ms(now)?.strftime("%Y-%m").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries() {
        #[track_caller]
        fn check(entry: &Value, expected: Result<usize, &str>) {
            let encoded = encode_entry(entry).map(|text| text.len()).map_err(|error| error.to_string());
            assert_eq!(encoded, expected.map_err(|why| format!("an entry of the conversation {why}")));
        }
        let nested = |depth| (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        check(&Value::String("x".repeat(MAX_ENTRY_BYTES - 2)), Ok(MAX_ENTRY_BYTES));
        let long = Value::String("x".repeat(MAX_ENTRY_BYTES - 1));
        check(&long, Err("is longer than 4 MiB (4194305 bytes)"));
        check(&nested(127), Ok(2 * 127 + 4));
        check(&nested(128), Err("is nested too deeply"));
    }
}
