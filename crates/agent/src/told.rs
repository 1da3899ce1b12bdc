//! What an attempt that was cut off had told the model already. A follow-up that came after it is still to be told:
//! the model's kept answers know nothing of it.

use crate::model::Message;
use crate::{Prompt, Said, fence};

/// How many of the prompts of this run, in their order, are in what was said in it. The first words hold those that
/// waited then, and each later one is a message of its own; what is not found is told once more.
pub fn told(before: &[Said], prompts: &[Prompt]) -> usize {
    let mut said = before.iter().filter(|said| said.this_run).filter_map(|said| match &said.message {
        Message::User(text) => Some(text),
        _ => None,
    });
    let Some(first) = said.next() else { return 0 };
    let task = |count: usize| fence::task(&Prompt::joined(&prompts[..count]).instruction_text());
    let begins_with = |count: &usize| first.starts_with(&task(*count));
    let at_first = (1..=prompts.len()).rev().find(begins_with).unwrap_or_default();
    said.fold(at_first, |told, text| match prompts.get(told) {
        Some(next) if *text == next.render() => told + 1,
        _ => told,
    })
}
