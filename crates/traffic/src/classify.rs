//! Who read a page. The vocabulary is the API's; the rules are its truth table:
//! the agent decides first, and then whether HTML or Markdown was read.

use crate::agents::{self, Kind};
use crate::guess::{self, Guess};

/// The reader of a page. The numbers are on disk: none may change its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    Human = 0,
    /// Acts for someone: what the API counts as `ai`.
    Assistant = 1,
    AiSearch = 2,
    AiTraining = 3,
    AiOther = 4,
    SearchEngine = 5,
    Bot = 6,
}

impl Class {
    pub(crate) const ALL: [Class; 7] = [
        Self::Human,
        Self::Assistant,
        Self::AiSearch,
        Self::AiTraining,
        Self::AiOther,
        Self::SearchEngine,
        Self::Bot,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Assistant => "assistant",
            Self::AiSearch => "ai-search",
            Self::AiTraining => "ai-training",
            Self::AiOther => "ai-other",
            Self::SearchEngine => "search-engine",
            Self::Bot => "bot",
        }
    }

    /// The number that is kept on disk.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

/// `markdown`: the page's Markdown twin was read, or Markdown was asked for.
pub fn classify(user_agent: Option<&str>, markdown: bool) -> Class {
    let user_agent = user_agent.unwrap_or_default().trim();
    let kind = agents::find(user_agent).unwrap_or_else(|| match guess::guess(user_agent) {
        Guess::Browser => Kind::Known(Class::Human),
        Guess::Tool => Kind::Tool,
        Guess::Bot => Kind::Known(Class::Bot),
    });
    match (kind, markdown) {
        // Nobody reads Markdown in a browser: an agent borrowed its name.
        (Kind::Known(Class::Human) | Kind::Tool, true) => Class::Assistant,
        (Kind::Tool, false) => Class::Bot,
        (Kind::Known(class), _) => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_table() {
        #[track_caller]
        fn check(user_agent: Option<&str>, html: Class, markdown: Class) {
            assert_eq!(classify(user_agent, false), html, "{user_agent:?}, HTML");
            assert_eq!(classify(user_agent, true), markdown, "{user_agent:?}, Markdown");
        }
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        check(Some(firefox), Class::Human, Class::Assistant);
        check(Some("ChatGPT-User/1.0"), Class::Assistant, Class::Assistant);
        check(Some("Cursor/0.48"), Class::Assistant, Class::Assistant);
        check(Some("curl/8.5.0"), Class::Bot, Class::Assistant);
        check(Some("axios/1.7.2"), Class::Bot, Class::Assistant);
        check(Some("MyTool/1.0"), Class::Bot, Class::Assistant);
        check(None, Class::Bot, Class::Assistant);
        check(Some(""), Class::Bot, Class::Assistant);
        check(Some("  "), Class::Bot, Class::Assistant);
        check(Some("-"), Class::Bot, Class::Assistant);
        check(Some("OAI-SearchBot/1.3"), Class::AiSearch, Class::AiSearch);
        check(Some("GPTBot/1.2"), Class::AiTraining, Class::AiTraining);
        check(Some("Diffbot/1.0"), Class::AiOther, Class::AiOther);
        check(Some("Googlebot/2.1"), Class::SearchEngine, Class::SearchEngine);
        check(Some("UptimeRobot/2.0"), Class::Bot, Class::Bot);
        check(Some("lychee/0.15"), Class::Bot, Class::Bot);
        check(Some("UnheardOfBot/0.1"), Class::Bot, Class::Bot);
    }

    #[test]
    fn the_numbers_on_disk() {
        let codes = Class::ALL.map(|class| (class.code(), class.as_str()));
        assert_eq!(
            codes,
            [
                (0, "human"),
                (1, "assistant"),
                (2, "ai-search"),
                (3, "ai-training"),
                (4, "ai-other"),
                (5, "search-engine"),
                (6, "bot"),
            ]
        );
    }
}
