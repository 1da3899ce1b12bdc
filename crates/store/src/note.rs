//! Notes: what a run reports about itself. Any number of notes is stored with one commit, because each commit costs an
//! fsync.

use serde_json::Value;

use crate::conversation::encode_entry;
use crate::{Change, NewEvent, Result, Tokens};

#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    Event(NewEvent),
    /// An entry of the current run's conversation and its tokens, which count for the project's calendar month (UTC).
    Entry(Value, Tokens),
    /// What the run does from now on. A lease begins with [`Activity::Working`], and that of a suspect with
    /// [`Activity::Waiting`].
    Activity(Activity),
    /// A suspect called its model, got no answer, and its worker lives. So it isn't a suspect any more, until another
    /// worker dies in this step. That counts once per step.
    Survived,
    /// The branch to merge into, and the commit that the run starts from. Stored before the run starts.
    Base(String, String),
    /// The change, stored before it is pushed, and the number of the last message that it answers.
    Change(Box<Change>, u32),
    /// The change is on its branch, where others can add commits.
    Pushed,
}

/// What a leased job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Local work.
    Working,
    /// It called its model.
    Calling,
    /// A suspect called its model a while ago, and other jobs run beside it until the call ends.
    Sharing,
    /// It waits for its turn, and does nothing that could stop its worker.
    Waiting,
}

impl Activity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Calling => "calling",
            Self::Sharing => "sharing",
            Self::Waiting => "waiting",
        }
    }
}

/// A [`Note`] that can be stored.
pub(crate) enum ValidNote {
    Event(NewEvent),
    Entry(String, Tokens),
    Activity(Activity),
    Survived,
    Base(String, String),
    Change(Box<Change>, u32),
    Pushed,
}

/// Fails before anything is written.
pub(crate) fn validate(notes: Vec<Note>) -> Result<Vec<ValidNote>> {
    let check = |note| {
        Ok(match note {
            Note::Event(event) => ValidNote::Event(event),
            Note::Entry(entry, tokens) => ValidNote::Entry(encode_entry(&entry)?, tokens),
            Note::Activity(activity) => ValidNote::Activity(activity),
            Note::Survived => ValidNote::Survived,
            Note::Base(base_ref, commit) => ValidNote::Base(base_ref, commit),
            Note::Change(change, read) => ValidNote::Change(change, read),
            Note::Pushed => ValidNote::Pushed,
        })
    };
    notes.into_iter().map(check).collect()
}
