//! Common misspellings in prose, each with the one word that was meant.
//!
//! The dictionary knows wrong words, not right ones: a word it has never seen is left alone.
//! `assets/README.md` says where it comes from.

use std::collections::HashSet;
use std::io::Read as _;
use std::ops::Range;
use std::sync::OnceLock;

use flate2::read::DeflateDecoder;
use regex::Regex;

use crate::frontmatter::Value;
use crate::markdown::Page;
use crate::pattern;

static PACKED: &[u8] = include_bytes!("../assets/misspellings.bin");
/// Far above what the dictionary unpacks to; a bound all the same.
const MAX_UNPACKED_BYTES: u64 = 16 * 1024 * 1024;
/// Fewer words than this hardly show what language they are in: one of [`ENGLISH`] must be among them and no foreign letter.
const MIN_WORDS_TO_JUDGE: usize = 40;
/// How far around a word is looked for what says that it is meant as it is.
const MAX_CONTEXT_BYTES: usize = 400;
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

/// What the dictionary says of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelling {
    /// In their order.
    pub wrong: Vec<Misspelling>,
    /// Whether the page shows that it is in English; in another language those words may be right.
    pub is_english: bool,
}

/// Words that are names in this tree, however wrong they look.
#[derive(Debug, Default)]
pub struct Words(HashSet<&'static str>);

impl Words {
    /// Learns the words in the code and the addresses of a page: identifiers, options, names of packages.
    pub fn learn(&mut self, page: &Page, text: &str) {
        let links = page.links.iter().map(|link| &link.range);
        let names = page.code.iter().chain(&page.addresses).chain(links);
        for name in names.filter_map(|range| text.get(range.clone())) {
            for word in name.split(|c: char| !c.is_ascii_alphabetic()) {
                // Only words that would else be corrected are kept, so the set cannot outgrow the dictionary.
                self.0.extend(dictionary().row(&word.to_ascii_lowercase()).map(|(word, _)| word));
            }
        }
    }
}

/// The misspelled words of a page's prose.
pub fn misspellings(page: &Page, text: &str, known: &Words) -> Spelling {
    // Tags are names to whoever links to them, though they are read.
    let is_text =
        |value: &&Value| value.is_prose(text) && !["tags", "keywords"].contains(&value.key.as_str());
    let titles = page.front.values.iter().filter(is_text);
    let ranges: Vec<Range<usize>> =
        titles.map(|value| value.range.clone()).chain(page.prose.iter().cloned()).collect();
    let is_english = is_english(text, &ranges);
    let tokens = ranges.into_iter().flat_map(|range| tokens(text, range));
    Spelling { wrong: tokens.filter_map(|range| judge(text, range, known)).collect(), is_english }
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
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    if known.0.contains(wrong)
        || is_part_of_a_name(text, &range)
        || is_spoken_of(text, &range, right)
        // A capital in the middle of a sentence makes a name.
        || (capital && !begins_a_sentence(&text[..range.start]))
    {
        return None;
    }
    let mut correction = right.to_owned();
    if capital {
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
    name_goes_on_before(text, range.start) || name_goes_on_behind(text, range.end)
}

/// Whether the word that begins at `at` is the rest of a name: `x/word`, `--word`, `.word`.
pub fn name_goes_on_before(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(|c| c == '.' || joins(c))
}

/// Whether the word that ends at `at` goes on as a name: `word/x`, `word@1`, `word.md`, `word:x`, `word()`.
pub fn name_goes_on_behind(text: &str, at: usize) -> bool {
    let mut behind = text[at..].chars();
    let (next, after_next) = (behind.next(), behind.next());
    let dotted = next.is_some_and(|c| ".:".contains(c)) && after_next.is_some_and(char::is_alphanumeric);
    dotted || next.is_some_and(|c| c == '(' || joins(c))
}

fn joins(c: char) -> bool {
    "-/\\@#$_~%=&+`".contains(c) || (!c.is_ascii() && c.is_alphanumeric())
}

/// Whether a word is in quotes, part of a contraction, or stands beside its correction: such a line is about the word.
fn is_spoken_of(text: &str, range: &Range<usize>, right: &str) -> bool {
    let (before, behind) = (&text[..range.start], &text[range.end..]);
    let quotes = ['"', '\'', '“', '”', '‘', '’', '«', '»', '„'];
    let quoted = before.ends_with(quotes) && behind.starts_with(quotes);
    let apostrophe = ['\'', '’'];
    let contracted = before.strip_suffix(apostrophe).is_some_and(|rest| rest.ends_with(char::is_alphabetic))
        || behind.strip_prefix(apostrophe).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    // "The" stands beside "teh" by chance.
    let beside = |part: &str| !ENGLISH.contains(&right) && part.to_ascii_lowercase().contains(right);
    let line_before = last_bytes(before).rsplit('\n').next().unwrap_or_default();
    let line_behind = first_bytes(behind).split('\n').next().unwrap_or_default();
    quoted || contracted || beside(line_before) || beside(line_behind)
}

/// Whether what stands in front of a word is the end of a sentence, the beginning of a block, or a cell of a table.
fn begins_a_sentence(before: &str) -> bool {
    let mut lines = last_bytes(before).rsplit('\n');
    let line = lines.next().unwrap_or_default();
    if fits(opening(), line) {
        return true;
    }
    let last = lines.next().unwrap_or_default().trim();
    let goes_on = last.ends_with(|c: char| c.is_alphanumeric() || ",;-–—)\"'”’*_`]".contains(c));
    fits(margin(), line) && (!goes_on || last.starts_with(['#', '<', '|', '!', ':']))
}

/// The nearest text; lines can be as long as a file.
fn last_bytes(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_CONTEXT_BYTES))..]
}

fn first_bytes(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_CONTEXT_BYTES)]
}

fn fits(pattern: Option<&Regex>, line: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(line))
}

pattern!(
    /// A mark of a list, a heading or a quote, the end of a sentence, the edge of a cell, or a tag.
    opening,
    r#"(?:^\s*(?:[#>*+\-]+\s+|\d+[.)]\s+|\[[ xX]\]\s+)+|[.!?:…][)"'\]*_”]*\s+|[|>]\s*)"#,
    r#"["'(\[*_“‘]*$"#,
);

pattern!(
    /// The beginning of a line, with no mark but that of emphasis or a link.
    margin,
    r#"^\s*["'(\[*_“‘]*$"#,
);

fn is_english(text: &str, ranges: &[Range<usize>]) -> bool {
    let (mut words, mut english, mut plain) = (0_usize, 0_usize, true);
    for word in ranges.iter().flat_map(|range| tokens(text, range.clone())).map(|range| &text[range]) {
        words += 1;
        english += usize::from(ENGLISH.iter().any(|common| common.eq_ignore_ascii_case(word)));
        plain &= word.is_ascii();
    }
    match words < MIN_WORDS_TO_JUDGE {
        true => english > 0 && plain,
        false => english * 33 >= words,
    }
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

    #[test]
    fn the_dictionary_is_whole_and_sorted() {
        let rows = &dictionary().rows;
        assert!(rows.len() > 50_000, "{}", rows.len());
        assert!(
            rows.is_sorted()
                && rows.iter().all(|(wrong, right)| wrong != right && (wrong.len() >= 5 || wrong.len() == 3))
        );
    }
}
