//! Looks up user-agent strings in the table of known agents, `assets/agents.tsv`.
//!
//! One pass finds every token. When several match, these rules decide, in this order: a token outside a link
//! beats one inside a link (`+http://…/bingbot.htm`), a named agent beats the tool it was built with
//! (`HeadlessChrome … Googlebot`), a longer token beats a shorter one (`Applebot-Extended`, `Applebot`), and
//! an earlier token beats a later one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Match};

use crate::classify::Class;

const ROWS: &str = include_str!("../assets/agents.tsv");

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(ROWS));

/// The class of an agent in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Known(Class),
    /// A library or command-line tool: its class depends on the content that it reads.
    Tool,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) kind: Kind,
    /// The product name: its token, in the spelling of the first row that differs only in case.
    pub(crate) product: &'static str,
    operator: &'static str,
    /// The token must be a whole word.
    whole_word: bool,
}

struct Table {
    agents: Vec<Agent>,
    /// Operators by product.
    operators: HashMap<&'static str, &'static str>,
    /// `None` only if the tokens do not compile, which a test rules out.
    tokens: Option<AhoCorasick>,
}

/// The row of the table that matches this user-agent string.
pub(crate) fn find(user_agent: &str) -> Option<&'static Agent> {
    TABLE.find(user_agent)
}

/// The product of this name, whatever its case.
pub(crate) fn product_named(name: &str) -> Option<&'static str> {
    TABLE.operators.keys().copied().find(|product| product.eq_ignore_ascii_case(name))
}

/// The operator of a product.
pub(crate) fn operator(product: &str) -> Option<&'static str> {
    TABLE.operators.get(product).copied()
}

/// The version of the table: the date of its last change. `docwright reclassify` updates views that an older
/// version classified.
pub fn agents_version() -> &'static str {
    let version = ROWS.lines().find_map(|line| line.strip_prefix("# version: "));
    version.unwrap_or_default()
}

impl Table {
    fn parse(rows: &'static str) -> Self {
        let (tokens, mut agents): (Vec<&str>, Vec<Agent>) = rows.lines().filter_map(parse_row).unzip();
        let tokens = AhoCorasick::builder().ascii_case_insensitive(true).build(tokens).ok();
        let mut spellings = HashMap::new();
        for agent in &mut agents {
            agent.product = *spellings.entry(agent.product.to_ascii_lowercase()).or_insert(agent.product);
        }
        let operators = agents.iter().map(|agent| (agent.product, agent.operator)).collect();
        Self { agents, operators, tokens }
    }

    fn find(&self, user_agent: &str) -> Option<&Agent> {
        let text = user_agent.as_bytes();
        self.tokens
            .as_ref()?
            .find_overlapping_iter(text)
            .filter_map(|found| Some((found, self.agents.get(found.pattern().as_usize())?)))
            .filter(|(found, agent)| !agent.whole_word || is_whole_word(text, found))
            .filter(|(found, _)| !text[..found.start()].ends_with(b"like "))
            .max_by_key(|(found, agent)| {
                let named = agent.kind != Kind::Tool;
                (!is_in_link(text, found), named, found.len(), Reverse(found.start()))
            })
            .map(|(_, agent)| agent)
    }
}

/// Parses a line of the table. `None` for comments, the header and agents that never appear in a user-agent
/// string.
fn parse_row(line: &'static str) -> Option<(&'static str, Agent)> {
    let mut columns = line.split('\t');
    let token = columns.next().filter(|token| !token.is_empty())?;
    let (product, operator) = (token.trim_end_matches('/'), columns.next()?);
    let kind = match columns.next()? {
        "tool" => Kind::Tool,
        class => Kind::Known(Class::from_name(class)?),
    };
    let whole_word = match columns.nth(1)? {
        "substring" => false,
        "product-token" => true,
        _ => return None,
    };
    Some((token, Agent { kind, product, operator, whole_word }))
}

/// `Code/` in `Code/1.2` and `(Code/1.2)`, but not in `VSCode/1.2`; `Devin` not in `Devinci`.
fn is_whole_word(text: &[u8], found: &Match) -> bool {
    let part_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let before = text[..found.start()].last();
    let after = text.get(found.end());
    let open = text[..found.end()].ends_with(b"/");
    !before.is_some_and(part_of_word) && (open || !after.is_some_and(part_of_word))
}

fn is_in_link(text: &[u8], found: &Match) -> bool {
    let word = text[..found.start()].iter().rposition(|byte| b" ;,()".contains(byte));
    let word = &text[word.map_or(0, |space| space + 1)..found.start()];
    word.windows(3).any(|bytes| bytes == b"://") || word.starts_with(b"www.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_parses() {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        let mut listed = 0;
        for line in rows {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(columns.len(), 7, "{line}");
            let never = columns[4] == "never-in-ua";
            assert_eq!(parse_row(line).is_none(), never, "{line}");
            assert!(!never || !columns[6].is_empty(), "no reason given: {line}");
            listed += usize::from(!never);
        }
        assert!(TABLE.tokens.is_some());
        assert_eq!(TABLE.agents.len(), listed);
    }

    #[test]
    fn the_table_has_a_version_and_its_sources_have_dates() {
        let days: Vec<&str> = agents_version().split('-').collect();
        assert!(matches!(days[..], [year, month, day] if (year.len(), month.len(), day.len()) == (4, 2, 2)));
        let dated: Vec<&str> = ROWS.lines().filter_map(|line| line.strip_prefix("# source: ")).collect();
        for line in ROWS.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let source = line.split('\t').nth(5).unwrap_or_default();
            let has_date = dated.iter().any(|line| line.starts_with(&format!("{source}, 20")));
            assert!(has_date, "no date of {source}");
        }
    }

    #[test]
    fn every_product_has_an_operator() {
        let product = |user_agent| find(user_agent).map(|agent| agent.product);
        assert_eq!(product("claude-code/2.1"), product("Claude-Code"), "one product, however it is written");
        assert_eq!(product("Mozilla/5.0 Code/1.96.0 Chrome/128"), Some("Code"));
        assert_eq!(operator("ChatGPT-User"), Some("OpenAI"));
        assert_eq!(operator("Code"), Some("Microsoft/GitHub"));
        assert_eq!(operator("(browsers)"), None);
        for agent in &TABLE.agents {
            assert!(!agent.operator.is_empty() && operator(agent.product).is_some(), "{}", agent.product);
        }
    }

    #[test]
    fn tokens_are_unique() {
        let mut tokens: Vec<String> =
            ROWS.lines().filter_map(parse_row).map(|(token, _)| token.to_lowercase()).collect();
        let rows = tokens.len();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), rows);
    }

    #[test]
    fn precedence_of_matching_rows() {
        #[track_caller]
        fn check(user_agent: &str, expected: Option<Kind>) {
            assert_eq!(find(user_agent).map(|agent| agent.kind), expected, "{user_agent}");
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
