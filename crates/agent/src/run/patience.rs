//! Decides when a model that makes no progress has had enough chances. It counts answers, not calls: the model learns
//! what was wrong with its calls only after its answer.

use std::collections::{BTreeSet, HashMap};

use crate::model::{ToolCall, Turn};

/// Answers in a row of which every call failed.
const MAX_FAILED_ANSWERS: u32 = 8;
/// Answers in a row that contain no call: empty, cut off, only text, or too slow.
const MAX_UNUSABLE_ANSWERS: u32 = 3;
/// Answers that repeat a call since the last edit: the first count adds a warning to the result, the second ends the
/// run.
const WARN_AT: u32 = 3;
const END_AT: u32 = 6;

pub(super) const TOO_SLOW: &str =
    "Your answer took too long and was stopped. Answer in smaller steps: one short call at a time.";

/// Why the run ends although the model did not finish. Contains a sentence.
pub(super) struct Stalled(pub(super) String);

/// Why an answer can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    Empty,
    OnlyText,
    CutOff,
    TooSlow,
}

#[derive(Default)]
pub(super) struct Patience {
    failed: u32,
    unusable: u32,
    /// How many answers contained a call, since the last edit.
    repeated: HashMap<String, u32>,
    /// The calls of the current answer.
    current: BTreeSet<String>,
}

impl Patience {
    /// Counts a call that succeeded. Returns whether the model repeats itself and needs a warning.
    pub(super) fn count_call(&mut self, call: &ToolCall, changed: bool) -> bool {
        (self.failed, self.unusable) = (0, 0);
        if changed {
            self.repeated.clear();
            return false;
        }
        let key = format!("{} {:?}", call.name, call.arguments);
        let count = self.repeated.get(&key).copied().unwrap_or_default();
        self.current.insert(key);
        count + 1 >= WARN_AT
    }

    /// Ends an answer with calls. Fails if the model makes no progress.
    pub(super) fn end_answer(&mut self, has_success: bool) -> Result<(), Stalled> {
        for key in std::mem::take(&mut self.current) {
            let count = self.repeated.entry(key).or_default();
            *count += 1;
            if *count >= END_AT {
                return Err(Stalled(format!("the model made the same call in {count} answers")));
            }
        }
        self.replay_results(has_success);
        match self.failed {
            MAX_FAILED_ANSWERS.. => Err(Stalled(format!(
                "every call of the model failed, in {MAX_FAILED_ANSWERS} answers in a row"
            ))),
            _ => Ok(()),
        }
    }

    /// Counts an answer without calls. Returns what to say to the model. Fails after too many of them.
    pub(super) fn count_unusable(&mut self, why: Unusable) -> Result<&'static str, Stalled> {
        self.unusable += 1;
        if self.unusable >= MAX_UNUSABLE_ANSWERS {
            let what = match why {
                Unusable::Empty => "the model's answers are empty",
                Unusable::OnlyText => "the model answers with text and does not use its tools",
                Unusable::CutOff => "the model's answers are cut off, because they are too long",
                Unusable::TooSlow => "the model's answers take too long",
            };
            return Err(Stalled(format!("{what}, {MAX_UNUSABLE_ANSWERS} times in a row")));
        }
        Ok(match why {
            Unusable::Empty => "Your answer was empty. Use the tools. When everything is done, call finish.",
            Unusable::OnlyText => "Use the tools. When everything is done, call finish.",
            Unusable::CutOff => {
                "Your answer was cut off, because it was too long. Continue in smaller steps."
            }
            Unusable::TooSlow => TOO_SLOW,
        })
    }

    /// Restores the count of answers in a row that had no success.
    pub(super) fn replay_results(&mut self, has_success: bool) {
        self.unusable = 0;
        self.failed = if has_success { 0 } else { self.failed + 1 };
    }

    /// Restores the count of answers without calls.
    pub(super) fn replay_turn(&mut self, turn: &Turn) {
        self.unusable += u32::from(turn.calls.is_empty());
    }
}
