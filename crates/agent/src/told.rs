//! What an attempt that was cut off had told the model already. A follow-up that came after it is still to be told:
//! the model's kept answers know nothing of it.

use crate::model::Message;
use crate::{Said, fence};

/// What people ask for in one run, as one prompt.
pub fn joined(prompts: &[&str]) -> String {
    prompts.join("\n\n")
}

/// How many of the prompts of this run, in their order, are in what was said in it. The first words hold those that
/// waited then, and each later one is a message of its own; what is not found is told once more.
pub fn told(before: &[Said], prompts: &[&str]) -> usize {
    let mut said = before.iter().filter(|said| said.this_run).filter_map(|said| match &said.message {
        Message::User(text) => Some(text),
        _ => None,
    });
    let Some(first) = said.next() else { return 0 };
    let begins_with = |count: &usize| first.starts_with(&fence::task(&joined(&prompts[..*count])));
    let at_first = (1..=prompts.len()).rev().find(begins_with).unwrap_or_default();
    said.fold(at_first, |told, text| match prompts.get(told) {
        Some(next) if *text == fence::task(next) => told + 1,
        _ => told,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Usage;

    #[test]
    fn prompts_are_told_in_their_order() {
        #[track_caller]
        fn check(said: &[&str], expected: usize) {
            let entry = |text: &&str| Said {
                this_run: true,
                message: Message::User((*text).to_owned()),
                usage: Usage::default(),
            };
            let before: Vec<_> = said.iter().map(entry).collect();
            assert_eq!(told(&before, &["one", "two", "two"]), expected, "{said:?}");
        }
        check(&[], 0);
        check(&["<task>\none\n</task>\n\n<map>\n</map>\n"], 1);
        check(&["<task>\none\n\ntwo\n</task>\n"], 2);
        check(&["<task>\none\n</task>\n", "Use the tools.", "<task>\ntwo\n</task>\n"], 2);
        check(&["<task>\none\n\ntwo\n</task>\n", "<task>\ntwo\n</task>\n"], 3);
        check(&["<task>\nsomething else\n</task>\n"], 0);
    }
}
