//! The table of known agents, `assets/agents.tsv`, and how a user-agent string is looked up in it.
//!
//! One pass finds every token; when several match, the winner is decided in this order:
//! what the agent calls itself beats what stands in a link (`+http://…/bingbot.htm`), a named
//! agent beats the tool it was built with (`HeadlessChrome … Googlebot`), a longer token beats
//! a shorter one (`Applebot-Extended`, `Applebot`), and the first in the string beats the rest.

use std::cmp::Reverse;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Match};

use crate::classify::Class;

const ROWS: &str = include_str!("../assets/agents.tsv");

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(ROWS));

/// What a row of the table says of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Known(Class),
    /// A library or command line: whose read it is depends on what is read.
    Tool,
}

struct Agent {
    kind: Kind,
    /// The token must stand as a word of its own.
    whole: bool,
}

struct Table {
    agents: Vec<Agent>,
    /// `None` only if the tokens could not be compiled, which a test rules out.
    tokens: Option<AhoCorasick>,
}

/// What the table knows of this user-agent string.
pub(crate) fn find(user_agent: &str) -> Option<Kind> {
    TABLE.find(user_agent)
}

impl Table {
    fn parse(rows: &str) -> Self {
        let (tokens, agents): (Vec<&str>, Vec<Agent>) = rows.lines().filter_map(row).unzip();
        let tokens = AhoCorasick::builder().ascii_case_insensitive(true).build(tokens).ok();
        Self { agents, tokens }
    }

    fn find(&self, user_agent: &str) -> Option<Kind> {
        let text = user_agent.as_bytes();
        self.tokens
            .as_ref()?
            .find_overlapping_iter(text)
            .filter_map(|found| Some((found, self.agents.get(found.pattern().as_usize())?)))
            .filter(|(found, agent)| !agent.whole || stands_alone(text, found))
            .filter(|(found, _)| !text[..found.start()].ends_with(b"like "))
            .max_by_key(|(found, agent)| {
                let named = agent.kind != Kind::Tool;
                (!in_link(text, found), named, found.len(), Reverse(found.start()))
            })
            .map(|(_, agent)| agent.kind)
    }
}

/// A line of the table; `None` for comments, the heading and what never appears in a string.
fn row(line: &str) -> Option<(&str, Agent)> {
    let mut columns = line.split('\t');
    let token = columns.next().filter(|token| !token.is_empty())?;
    let kind = match columns.nth(1)? {
        "tool" => Kind::Tool,
        class => Kind::Known(Class::from_name(class)?),
    };
    let whole = match columns.nth(1)? {
        "substring" => false,
        "product-token" => true,
        _ => return None,
    };
    Some((token, Agent { kind, whole }))
}

/// `Code/` in `Code/1.2` and `(Code/1.2)`, but not in `VSCode/1.2`; `Devin` not in `Devinci`.
fn stands_alone(text: &[u8], found: &Match) -> bool {
    let part_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let before = text[..found.start()].last();
    let after = text.get(found.end());
    let open = text[..found.end()].ends_with(b"/");
    !before.is_some_and(part_of_word) && (open || !after.is_some_and(part_of_word))
}

fn in_link(text: &[u8], found: &Match) -> bool {
    let word = text[..found.start()].iter().rposition(|byte| b" ;,()".contains(byte));
    let word = &text[word.map_or(0, |space| space + 1)..found.start()];
    word.windows(3).any(|bytes| bytes == b"://") || word.starts_with(b"www.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_understood() {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        let mut listed = 0;
        for line in rows {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(columns.len(), 7, "{line}");
            let never = columns[4] == "never-in-ua";
            assert_eq!(row(line).is_none(), never, "{line}");
            assert!(!never || !columns[6].is_empty(), "no reason given: {line}");
            listed += usize::from(!never);
        }
        assert!(TABLE.tokens.is_some());
        assert_eq!(TABLE.agents.len(), listed);
    }

    #[test]
    fn no_token_stands_twice() {
        let mut tokens: Vec<String> =
            ROWS.lines().filter_map(row).map(|(token, _)| token.to_lowercase()).collect();
        let rows = tokens.len();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), rows);
    }

    #[test]
    fn which_row_wins() {
        #[track_caller]
        fn check(user_agent: &str, expected: Option<Kind>) {
            assert_eq!(find(user_agent), expected, "{user_agent}");
        }
        let known = |class| Some(Kind::Known(class));
        check("Applebot/0.1", known(Class::AiSearch));
        check("Applebot-Extended/0.1", known(Class::AiTraining));
        check("gptbot", known(Class::AiTraining));
        check("curl/8.5.0", Some(Kind::Tool));
        check("curl/8.5.0 (GPTBot)", known(Class::AiTraining));
        check("HeadlessChrome/120 (compatible; Googlebot/2.1)", known(Class::SearchEngine));
        check("AhrefsBot/7.0 (+https://example.org/ChatGPT-User)", known(Class::Bot));
        check("SomeBot/1.0 (+http://search.msn.com/msnbot.htm)", known(Class::SearchEngine));
        check("Feedly/1.0 (1 subscriber; like FeedFetcher-Google)", known(Class::Bot));
        check("Code/1.96.0", known(Class::Assistant));
        check("Mozilla/5.0 Code/1.96.0 Chrome/128", known(Class::Assistant));
        check("Codec/1.2", None);
        check("VSCode/1.2", None);
        check("QR Code reader", None);
        check("Devinci/2", None);
        check("recurl/1", None);
        check("", None);
    }
}
