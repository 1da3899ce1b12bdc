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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PromptPart;
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
            let quoted = PromptPart::Quotation { source: "a".into(), text: "b".into() };
            let two = PromptPart::Instruction("two".into());
            let third = Prompt::new(vec![two, quoted]);
            let prompts = [Prompt::instruction("one"), Prompt::instruction("two"), third];
            assert_eq!(told(&before, &prompts), expected, "{said:?}");
        }
        check(&[], 0);
        check(&["<task>\none\n</task>\n\n<map>\n</map>\n"], 1);
        check(&["<task>\none\n\ntwo\n</task>\n"], 2);
        check(&["<task>\none\n</task>\n", "Use the tools.", "<task>\ntwo\n</task>\n"], 2);
        let third = "<task>\ntwo\n</task>\n\n<quoted source=\"a\">\nb\n</quoted>\n";
        check(&["<task>\none\n\ntwo\n</task>\n", third], 3);
        check(&["<task>\none\n\ntwo\n</task>\n", "<task>\ntwo\n</task>\n"], 2);
        check(&["<task>\none\n\ntwo\n\ntwo\n</task>\n\n<quoted source=\"a\">\nb\n</quoted>\n"], 3);
        check(&["<task>\nsomething else\n</task>\n"], 0);
    }
}
