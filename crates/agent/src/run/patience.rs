//! How long a model that gets nowhere is borne with.

use std::collections::HashMap;

use crate::AgentError;
use crate::model::ToolCall;

/// Calls that could not be carried out, one after the other.
const MAX_LOST: u32 = 8;
/// The same call since something was last changed: from here on it is told so, and here it ends.
const WARN_AT: u32 = 3;
const END_AT: u32 = 6;

#[derive(Default)]
pub(super) struct Patience {
    lost: u32,
    talked: bool,
    calls: HashMap<String, u32>,
}

impl Patience {
    /// Nothing came of it.
    pub(super) fn lost(&mut self) -> Result<(), AgentError> {
        self.lost += 1;
        if self.lost >= MAX_LOST {
            return Err(AgentError::Ended(
                "the model called for things that cannot be done, again and again; another model may do better".into(),
            ));
        }
        Ok(())
    }

    /// Something came of it. Answers whether the model is to be told that it repeats itself.
    pub(super) fn called(&mut self, call: &ToolCall, changed: bool) -> Result<bool, AgentError> {
        (self.lost, self.talked) = (0, false);
        if changed {
            self.calls.clear();
            return Ok(false);
        }
        let count = self.calls.entry(format!("{} {:?}", call.name, call.arguments)).or_default();
        *count += 1;
        if *count >= END_AT {
            return Err(AgentError::Ended(format!(
                "the model called {} for the same thing {count} times; another model may do better",
                call.name
            )));
        }
        Ok(*count >= WARN_AT)
    }

    /// The model spoke and called for nothing. Answers whether it did so before.
    pub(super) fn talked(&mut self) -> bool {
        std::mem::replace(&mut self.talked, true)
    }
}
