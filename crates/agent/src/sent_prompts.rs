//! Counts the prompts that an interrupted attempt already sent to the model.
//!
//! A follow-up that arrived after the interruption must still be sent: the stored responses don't consider it.

use crate::editor::PastMessage;
use crate::fence;
use crate::model::Message;
use crate::prompt::Prompt;

/// Returns how many of the run's prompts, in their order, the stored conversation contains. The first message of the
/// run contains the prompts that waited at its start. Each later prompt is a separate message. A prompt that is not
/// found counts as not sent.
pub fn count_sent_prompts(conversation: &[PastMessage], prompts: &[Prompt]) -> usize {
    let mut messages =
        conversation.iter().filter(|past| past.this_run).filter_map(|past| match &past.message {
            Message::User(text) => Some(text),
            _ => None,
        });
    let Some(first) = messages.next() else { return 0 };
    let task = |count: usize| fence::fence_task(&Prompt::joined(&prompts[..count]).instruction_text());
    let begins_with = |count: &usize| first.starts_with(&task(*count));
    let in_first = (1..=prompts.len()).rev().find(begins_with).unwrap_or_default();
    messages.fold(in_first, |sent, text| match prompts.get(sent) {
        Some(next) if *text == next.render() => sent + 1,
        _ => sent,
    })
}
