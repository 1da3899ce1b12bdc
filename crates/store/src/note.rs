//! What a run tells of itself: kept in one step however much of it there is, since a commit costs an fsync whatever
//! it holds.

use serde_json::Value;

use crate::conversation::written;
use crate::{Change, NewEvent, Result, Tokens};

#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    Event(NewEvent),
    /// An entry of the conversation, as one of the current run, and what it cost: that goes to the project's
    /// calendar month (UTC).
    Said(Value, Tokens),
    /// The branch to merge into, and the commit that the run starts from; noted before it starts.
    Base(String, String),
    /// The change, noted before it is pushed, and the number of the last message that it answers.
    Change(Box<Change>, u32),
    /// The change is on its branch, where others may add to it from now on.
    Pushed,
}

/// A [`Note`] that can be kept.
pub(crate) enum Checked {
    Event(NewEvent),
    Said(String, Tokens),
    Base(String, String),
    Change(Box<Change>, u32),
    Pushed,
}

/// Fails before anything is written.
pub(crate) fn checked(notes: Vec<Note>) -> Result<Vec<Checked>> {
    let check = |note| {
        Ok(match note {
            Note::Event(event) => Checked::Event(event),
            Note::Said(entry, tokens) => Checked::Said(written(&entry)?, tokens),
            Note::Base(base_ref, commit) => Checked::Base(base_ref, commit),
            Note::Change(change, read) => Checked::Change(change, read),
            Note::Pushed => Checked::Pushed,
        })
    };
    notes.into_iter().map(check).collect()
}
