//! Classifies readers by user agent: human, assistant, crawler and others, as the API defines them.
//!
//! The user agent decides first, and then whether HTML or Markdown was read.

use std::sync::{LazyLock, Mutex, PoisonError};

use crate::agents::{self, Kind};
use crate::cache::Cache;
use crate::guess::{self, Guess};

/// The class of a reader. The numbers are stored on disk and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    Human = 0,
    /// Acts on behalf of a person. The API counts it as `ai`.
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

    /// The number on disk.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

/// What the user-agent string alone says about the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AgentInfo {
    kind: Kind,
    product: &'static str,
}

/// A few strings are very frequent, and a cache hit is cheaper than a lookup.
static CACHE: LazyLock<Mutex<Cache<AgentInfo>>> = LazyLock::new(|| Mutex::new(Cache::new(4096, 512 * 1024)));

/// `markdown`: the reader requested the page as Markdown, by its extension or its `Accept` header.
pub fn classify(user_agent: Option<&str>, markdown: bool) -> Class {
    match (agent_info(user_agent).kind, markdown) {
        // People do not read Markdown in a browser, so an agent uses the browser's name.
        (Kind::Known(Class::Human) | Kind::Tool, true) => Class::Assistant,
        (Kind::Tool, false) => Class::Bot,
        (Kind::Known(class), _) => class,
    }
}

/// The product of a user agent: its name in the table of agents, or a group in parentheses.
pub(crate) fn product(user_agent: Option<&str>) -> &'static str {
    agent_info(user_agent).product
}

fn agent_info(user_agent: Option<&str>) -> AgentInfo {
    let user_agent = user_agent.unwrap_or_default().trim();
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(info) = cache().get(user_agent) {
        return info;
    }
    let info = identify(user_agent);
    cache().insert(user_agent, info);
    info
}

fn identify(user_agent: &str) -> AgentInfo {
    if let Some(agent) = agents::find(user_agent) {
        return AgentInfo { kind: agent.kind, product: agent.product };
    }
    let (kind, product) = match guess::guess(user_agent) {
        Guess::Browser => (Kind::Known(Class::Human), "(browsers)"),
        Guess::Bot => (Kind::Known(Class::Bot), "(other bots)"),
        Guess::Tool if matches!(user_agent, "" | "-") => (Kind::Tool, "(no user agent)"),
        Guess::Tool => (Kind::Tool, "(other tools)"),
    };
    AgentInfo { kind, product }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_user_agent_and_format() {
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
    fn products_by_user_agent() {
        let claude = "Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)";
        assert_eq!(product(Some(claude)), "Claude-Code");
        assert_eq!(product(Some("Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/99.0")), "(browsers)");
        assert_eq!(product(Some("UnheardOfBot/0.1")), "(other bots)");
        assert_eq!(product(Some("MyTool/1.0")), "(other tools)");
        assert_eq!([product(None), product(Some(" ")), product(Some("-"))], ["(no user agent)"; 3]);
    }

    #[test]
    fn a_flood_of_strings_does_not_grow_the_cache() {
        for n in 0..20_000 {
            classify(Some(&format!("Flood/{n} {}", "x".repeat(n % 1000))), false);
        }
        let (entries, bytes) = CACHE.lock().unwrap().size();
        assert!(entries <= 2 * 4096 && bytes <= 2 * 512 * 1024, "{entries} entries, {bytes} bytes");
    }

    #[test]
    fn class_numbers_on_disk_do_not_change() {
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
