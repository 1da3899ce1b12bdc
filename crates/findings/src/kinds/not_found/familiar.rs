//! Tells paths that a reader may mean from made-up ones.

use super::super::meaning::words;
use crate::SitePages;

/// Names that readers and agents try on any docs site, by their stems.
const COMMON_STEMS: [&str; 40] = [
    "quick", "start", "getti", "begin", "tutor", "guide", "howto", "how", "insta", "setup", "downl", "intro",
    "overv", "conce", "refer", "api", "sdk", "cli", "confi", "setti", "authe", "autho", "login", "error",
    "troub", "faq", "help", "suppo", "chang", "relea", "migra", "upgra", "deplo", "examp", "integ", "prici",
    "secur", "usage", "llms", "opena",
];
/// No English word has more consonants in a row; random letters often have.
const MAX_CONSONANTS: usize = 5;

/// Whether the last segment of a key has a word of the site or a common one, or looks like words below a folder that
/// has.
pub(super) fn is_familiar(key: &str, site: &SitePages) -> bool {
    let is_known =
        |text: &str| site.has_word_of(text) || words(text).any(|word| COMMON_STEMS.contains(&word.stem()));
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    site.is_empty() || name.is_empty() || is_known(name) || looks_like_words(name) && is_known(folder)
}

fn looks_like_words(name: &str) -> bool {
    name.split(|char: char| !char.is_alphanumeric()).all(|word| {
        let is_consonant = |char: char| char.is_ascii() && !"aeiouy".contains(char);
        let longest_run = word.split(|char| !is_consonant(char)).map(str::len).max();
        word.chars().all(char::is_alphabetic) && longest_run.unwrap_or_default() <= MAX_CONSONANTS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_names_are_unfamiliar() {
        let site = SitePages::new(["/guides/installation", "/sso"]);
        #[track_caller]
        fn check(site: &SitePages, key: &str, expected: bool) {
            assert_eq!(is_familiar(key, site), expected, "{key}");
        }
        check(&site, "/", true);
        check(&site, "/install", true);
        check(&site, "/sso-setup", true);
        check(&site, "/quickstart", true);
        check(&site, "/guides/zapier", true);
        check(&site, "/guides/über-uns", true);
        check(&site, "/zapier", false);
        check(&site, "/guides/x7f3q9zk", false);
        check(&site, "/guides/xkcdqwrtz", false);
        check(&site, "/x7f3q9zk", false);
        check(&SitePages::default(), "/x7f3q9zk", true);
    }
}
