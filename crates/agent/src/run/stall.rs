//! Ends a run whose model makes no progress: calls that fail in a row, the same call repeated, text without calls.

use std::collections::HashMap;

use crate::editor::AgentError;
use crate::model::ToolCall;

/// Failed calls in a row.
const MAX_FAILURES: u32 = 8;
/// Repetitions of a call since the last edit: the first count adds a warning to the result, the second ends the run.
const WARN_AT: u32 = 3;
const END_AT: u32 = 6;

#[derive(Default)]
pub(super) struct StallDetector {
    failures: u32,
    had_text_only: bool,
    calls: HashMap<String, u32>,
}

impl StallDetector {
    /// Counts a call or a response that had no effect.
    pub(super) fn count_failure(&mut self) -> Result<(), AgentError> {
        self.failures += 1;
        if self.failures >= MAX_FAILURES {
            return Err(AgentError::Ended(format!(
                "the model made {MAX_FAILURES} calls in a row that failed: try another model"
            )));
        }
        Ok(())
    }

    /// Counts a call that succeeded. Returns whether the model repeats itself and needs a warning.
    pub(super) fn count_call(&mut self, call: &ToolCall, changed: bool) -> Result<bool, AgentError> {
        (self.failures, self.had_text_only) = (0, false);
        if changed {
            self.calls.clear();
            return Ok(false);
        }
        let count = self.calls.entry(format!("{} {:?}", call.name, call.arguments)).or_default();
        *count += 1;
        if *count >= END_AT {
            return Err(AgentError::Ended(format!(
                "the model called {} with the same arguments {count} times: try another model",
                call.name
            )));
        }
        Ok(*count >= WARN_AT)
    }

    /// Records a response without calls. Returns whether the previous response had none either.
    pub(super) fn record_text_only(&mut self) -> bool {
        std::mem::replace(&mut self.had_text_only, true)
    }
}
