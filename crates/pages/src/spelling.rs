//! Common misspellings in prose, each with the one word that was meant.
//!
//! The dictionary knows wrong words, not right ones: a word it has never seen is left alone.
//! `assets/README.md` says where it comes from.

use std::collections::HashSet;
use std::io::Read as _;
use std::ops::Range;
use std::sync::OnceLock;

use flate2::read::DeflateDecoder;

use crate::markdown::Page;

static PACKED: &[u8] = include_bytes!("../assets/misspellings.bin");
/// Far above what the dictionary unpacks to; a bound all the same.
const MAX_UNPACKED_BYTES: u64 = 16 * 1024 * 1024;
/// Front matter that is written for readers.
const PROSE_KEYS: &[&str] = &["title", "description", "summary", "subtitle", "excerpt"];
/// Fewer words than this do not show what language they are in.
const MIN_WORDS_TO_JUDGE: usize = 40;
/// Words that English cannot do without and its neighbours do not have.
const ENGLISH: &[&str] =
    &["the", "and", "of", "to", "with", "this", "you", "that", "from", "are", "your", "when", "it"];

/// A word that is spelled wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misspelling {
    pub range: Range<usize>,
    pub word: String,
    /// In the case of the word that it replaces.
    pub correction: String,
}

/// Words that are names in this tree, however wrong they look.
#[derive(Debug, Default)]
pub struct Words(HashSet<&'static str>);

impl Words {
    /// Learns the words in the code of a page: identifiers, options, field names.
    pub fn learn(&mut self, page: &Page, text: &str) {
        for code in page.code.iter().filter_map(|range| text.get(range.clone())) {
            for word in code.split(|c: char| !c.is_ascii_alphabetic()) {
                // Only words that would else be corrected are kept, so the set cannot outgrow the dictionary.
                self.0.extend(dictionary().row(&word.to_ascii_lowercase()).map(|(word, _)| word));
            }
        }
    }
}

/// The misspelled words of a page's prose, in their order. A page that is not in English has none.
pub fn misspellings(page: &Page, text: &str, known: &Words) -> Vec<Misspelling> {
    let titles = page.front.values.iter().filter(|value| PROSE_KEYS.contains(&value.key.as_str()));
    let ranges: Vec<Range<usize>> =
        titles.map(|value| value.range.clone()).chain(page.prose.iter().cloned()).collect();
    if !is_english(text, &ranges) {
        return Vec::new();
    }
    let tokens = ranges.into_iter().flat_map(|range| tokens(text, range));
    tokens.filter_map(|range| judge(text, range, known)).collect()
}

fn judge(text: &str, range: Range<usize>, known: &Words) -> Option<Misspelling> {
    let word = text.get(range.clone())?;
    let rest = word.get(1..)?;
    if !word.bytes().all(|byte| byte.is_ascii_alphabetic())
        || rest.bytes().any(|byte| byte.is_ascii_uppercase())
    {
        return None;
    }
    let (wrong, right) = dictionary().row(&word.to_ascii_lowercase())?;
    if known.0.contains(wrong) || is_part_of_a_name(text, &range) {
        return None;
    }
    let mut correction = right.to_owned();
    if word.starts_with(|c: char| c.is_ascii_uppercase()) {
        correction[..1].make_ascii_uppercase();
    }
    Some(Misspelling { word: word.to_owned(), correction, range })
}

/// Runs of letters, digits and underscores. Marks of other scripts count, so that no word is cut in two.
fn tokens(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || ('\u{300}'..='\u{36f}').contains(&c);
    let part = &text[range.clone()];
    part.split(move |c| !is_word(c)).filter(|word| !word.is_empty()).map(move |word| {
        let start = range.start + (word.as_ptr() as usize - part.as_ptr() as usize);
        start..start + word.len()
    })
}

/// File names, options, package names, handles and the like are made of words and are none.
fn is_part_of_a_name(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].chars().next_back();
    let mut behind = text[range.end..].chars();
    let (next, after_next) = (behind.next(), behind.next());
    let glued = |c: Option<char>| {
        c.is_some_and(|c| "-/\\@#$_~%=&+`".contains(c) || (!c.is_ascii() && c.is_alphanumeric()))
    };
    let dotted = next.is_some_and(|c| ".:".contains(c)) && after_next.is_some_and(char::is_alphanumeric);
    glued(before) || before == Some('.') || glued(next) || dotted || next == Some('(')
}

fn is_english(text: &str, ranges: &[Range<usize>]) -> bool {
    let (mut words, mut english) = (0_usize, 0_usize);
    for range in ranges.iter().flat_map(|range| tokens(text, range.clone())) {
        words += 1;
        english += usize::from(ENGLISH.iter().any(|word| word.eq_ignore_ascii_case(&text[range.clone()])));
    }
    words < MIN_WORDS_TO_JUDGE || english * 33 >= words
}

struct Dictionary {
    /// Lines of a wrong and a right word, sorted.
    rows: Vec<(&'static str, &'static str)>,
}

impl Dictionary {
    fn row(&self, word: &str) -> Option<(&'static str, &'static str)> {
        let at = self.rows.binary_search_by_key(&word, |(wrong, _)| wrong).ok()?;
        Some(self.rows[at])
    }
}

fn dictionary() -> &'static Dictionary {
    static TEXT: OnceLock<String> = OnceLock::new();
    static DICTIONARY: OnceLock<Dictionary> = OnceLock::new();
    let unpack = || {
        let mut text = String::new();
        // The asset is part of the program; a test unpacks it, so an error here is out of the question.
        let _ = DeflateDecoder::new(PACKED).take(MAX_UNPACKED_BYTES).read_to_string(&mut text);
        text
    };
    DICTIONARY.get_or_init(|| {
        let text = TEXT.get_or_init(unpack);
        Dictionary { rows: text.lines().filter_map(|line| line.split_once(' ')).collect() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let page = Page::parse("a.md", text);
        let mut known = Words::default();
        known.learn(&page, text);
        let found = misspellings(&page, text, &known);
        let found: Vec<_> = found.iter().map(|m| (m.word.as_str(), m.correction.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_dictionary_is_whole_and_sorted() {
        let rows = &dictionary().rows;
        assert!(rows.len() > 50_000, "{}", rows.len());
        assert!(rows.is_sorted() && rows.iter().all(|(wrong, right)| wrong != right && wrong.len() >= 3));
    }

    #[test]
    fn words_in_prose() {
        check("You recieve it.", &[("recieve", "receive")]);
        check("Recieve it", &[("Recieve", "Receive")]);
        check("the [seperate](x.md) page", &[("seperate", "separate")]);
        check("---\ntitle: Recieve\nslug: recieve\n---\n", &[("Recieve", "Receive")]);
        check("(recieve), \"seperate\"", &[("recieve", "receive"), ("seperate", "separate")]);
    }

    #[test]
    fn what_is_no_prose_is_left() {
        for text in [
            "RECIEVE",
            "reCieve",
            "recieve_it",
            "recieve2",
            "`recieve`",
            "see https://a.b/recieve",
            "[x](recieve.md)",
            "me@recieve.com",
            "<a title=\"recieve\">",
            "recieve.md",
            "--recieve",
            "my-recieve-hook",
            "a/recieve",
            "recieve()",
            "```\nrecieve\n```\n",
            "the `recieve` option: recieve is a name here",
            "{{ recieve }}",
            "ärecieve",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn a_page_in_another_language_is_left() {
        let french = "Vous pouvez recieve une adresse seperate dans le fichier de configuration du projet. ";
        check(&french.repeat(5), &[]);
        let english = "You can send the file to the server with this option and then it is kept, and you recieve a note. ";
        check(&english.repeat(2), &[("recieve", "receive"), ("recieve", "receive")]);
    }
}
