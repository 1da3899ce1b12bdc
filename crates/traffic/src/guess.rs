//! Heuristics for user-agent strings that are not in the table of agents.
//!
//! A person must never be classified as a bot, so each sign of a bot below is one that no browser has: a word
//! that crawlers use, a link or a contact address, a `compatible; name` that is not a browser's. Any other
//! string is a browser if it names one, and a tool otherwise.

mod words;

use words::{BOT_WORDS, BROWSERS, COMPATIBLE_BROWSERS, CONTACTS, DEVICES, LINKS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guess {
    Browser,
    Tool,
    Bot,
}

pub(crate) fn guess(user_agent: &str) -> Guess {
    let text = user_agent.to_ascii_lowercase();
    if is_bot(&text) {
        Guess::Bot
    } else if is_browser(&text) {
        Guess::Browser
    } else {
        Guess::Tool
    }
}

fn is_bot(text: &str) -> bool {
    // In Internet Explorer, toolbars and embedders add their own names and links.
    let explorer = text.contains("msie ");
    contains(text, BOT_WORDS)
        || has_bot_suffix(text)
        || contains(text, CONTACTS)
        || has_email_address(text)
        || (!explorer && (contains(text, LINKS) || has_compatible_name(text)))
}

fn is_browser(text: &str) -> bool {
    let known = BROWSERS.iter().any(|name| text.starts_with(name));
    (known && !is_bare(text)) || DEVICES.iter().any(|device| has_word(text, device))
}

/// Scripts send a bare `Mozilla/5.0` to pass filters.
fn is_bare(text: &str) -> bool {
    let rest = text.split_once(' ').map_or("", |(_, rest)| rest.trim());
    text.starts_with("mozilla/") && matches!(rest, "" | "(compatible)" | "(compatible;)")
}

fn contains(text: &str, any: &[&str]) -> bool {
    any.iter().any(|word| text.contains(word))
}

/// Matches `word` only at the start of a word: `roku` does not match `heroku`, and `ios/` does not match
/// `axios/`.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(|last: char| last.is_ascii_alphanumeric()))
}

/// Matches `bot` at the end of a word: `somebot/1.0`, `bots`, `bot_v2`; but not `bottle`, and not `cubot`, a
/// phone.
fn has_bot_suffix(text: &str) -> bool {
    text.match_indices("bot").any(|(at, _)| {
        let rest = text[at + 3..].strip_prefix('s').unwrap_or(&text[at + 3..]);
        let ends = !rest.starts_with(|next: char| next.is_ascii_alphabetic());
        ends && !text[..at].ends_with("cu")
    })
}

/// Whether the text has an email address. Letters must follow the `@`, because some browsers write `ios@9.2`.
fn has_email_address(text: &str) -> bool {
    text.match_indices('@').any(|(at, _)| {
        let host = text[at + 1..].split(|next: char| !(next.is_ascii_alphanumeric() || "-.".contains(next)));
        let host = host.into_iter().next().unwrap_or_default();
        host.starts_with(|first: char| first.is_ascii_alphabetic())
            && host.trim_end_matches('.').contains('.')
    })
}

/// Matches `compatible; Name`, unless the name is a browser's. Televisions name their engine there, so they
/// are excluded.
fn has_compatible_name(text: &str) -> bool {
    let television = contains(text, &["hbbtv", "smart-tv", "smarttv", "netcast"]);
    !television
        && text.match_indices("compatible;").any(|(at, found)| {
            let name = text[at + found.len()..].trim_start();
            let named = name.starts_with(|first: char| first.is_ascii_alphanumeric());
            named && !COMPATIBLE_BROWSERS.iter().any(|browser| name.starts_with(browser))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_by_user_agent() {
        #[track_caller]
        fn check(user_agent: &str, expected: Guess) {
            assert_eq!(guess(user_agent), expected, "{user_agent}");
        }
        check("", Guess::Tool);
        check("Mozilla/5.0", Guess::Tool);
        check("Mozilla/5.0 (compatible;)", Guess::Tool);
        check("my-axios/1.0", Guess::Tool);
        check("heroku-cli/8.0", Guess::Tool);
        check("Bottle/0.12", Guess::Tool);
        check("Acme App/3.1 (iPhone; iOS 17.5; Scale/3.00)", Guess::Browser);
        check("Acme/3.1 CFNetwork/1494.0.7 Darwin/23.4.0", Guess::Browser);
        check("Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/99.0", Guess::Browser);
        check("Mozilla/5.0 (Linux; Android 9; CUBOT X19) Chrome/90", Guess::Browser);
        check("Mozilla/5.0 (X11) Chrome/90 (Ecosia ios@9.2.3.1367)", Guess::Browser);
        check("Mozilla/4.0 (compatible; GoogleToolbar 4.0; Windows XP 5.1; MSIE 6.0)", Guess::Browser);
        check("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; CrawlBot)", Guess::Bot);
        check("Mozilla/5.0 (compatible; Unheard/1.0)", Guess::Bot);
        check("Mozilla/5.0 Chrome/90 (https://example.org)", Guess::Bot);
        check("Mozilla/5.0 Chrome/90 someone@example.org", Guess::Bot);
        check("Mozilla/5.0 Chrome/90 Google-Unheard", Guess::Bot);
        check("bots", Guess::Bot);
        check("a_bot_v2", Guess::Bot);
        check("é@é bot", Guess::Bot);
        check("@", Guess::Tool);
    }
}
