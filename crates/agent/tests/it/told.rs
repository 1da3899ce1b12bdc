//! What an attempt that was cut off had told the model already.

use agent::model::{Message, Usage};
use agent::{Prompt, PromptPart, Said, told};

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
