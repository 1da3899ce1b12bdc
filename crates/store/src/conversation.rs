//! What a job and its model said to each other, kept so that whoever takes the job up replays it
//! instead of paying for it again.

use jiff::Timestamp;
use serde_json::Value;

use crate::encoding::from_ms;
use crate::{Result, StoreError};

/// The longest JSON of one entry.
pub const MAX_ENTRY_BYTES: usize = 4 << 20;

/// What something cost. `cached` are those of `input` that the provider had seen before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

impl Tokens {
    /// What counts against a month.
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
    /// `None` of entries that are older than this note.
    pub at: Option<Timestamp>,
    /// The last event that the job had by then.
    pub after: u64,
}

/// The entry as it is kept. One that could not be read back must not get in: it would take the
/// whole conversation with it.
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
