//! Tests which prompts of an interrupted attempt count as sent.

use agent::model::{Message, Usage};
use agent::{PastMessage, Prompt, PromptPart, count_sent_prompts};

#[test]
fn prompts_are_counted_in_their_order() {
    #[track_caller]
    fn check(sent: &[&str], expected: usize) {
        let entry = |text: &&str| PastMessage {
            this_run: true,
            message: Message::User((*text).to_owned()),
            usage: Usage::default(),
        };
        let conversation: Vec<_> = sent.iter().map(entry).collect();
        let quoted = PromptPart::Quotation { source: "a".into(), text: "b".into() };
        let two = PromptPart::Instruction("two".into());
        let third = Prompt::new(vec![two, quoted]);
        let prompts = [Prompt::instruction("one"), Prompt::instruction("two"), third];
        assert_eq!(count_sent_prompts(&conversation, &prompts), expected, "{sent:?}");
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
