//! Finds common misspellings in prose, and their corrections.
//!
//! The dictionary lists wrong words, not right ones. Unknown words are left alone.
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
/// Far above the size of the unpacked dictionary.
const MAX_UNPACKED_BYTES: u64 = 16 * 1024 * 1024;
/// In a shorter text, one of [`ENGLISH`] and no letter outside of ASCII show that it is English.
const MIN_WORDS_FOR_SHARE: usize = 40;
/// How far the context of a word is searched.
const MAX_CONTEXT_BYTES: usize = 400;
/// Common English words that similar languages don't have.
const ENGLISH: &[&str] =
    &["the", "and", "of", "to", "with", "this", "you", "that", "from", "are", "your", "when", "it"];

/// A misspelled word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misspelling {
    pub range: Range<usize>,
    pub word: String,
    /// In the same case as the word.
    pub correction: String,
}

/// The misspellings of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelling {
    /// In their order.
    pub misspellings: Vec<Misspelling>,
    /// Whether the page is clearly English. In another language the words can be right.
    pub is_english: bool,
}

/// Words that are names in this tree, even if they look misspelled: identifiers, options, names of packages.
///
/// A word is a name in a code span and in an address, because the author marked it as one. Code blocks also have
/// comments and messages, which can be misspelled like prose. There, a word is a name if it's written as an
/// identifier, or if several blocks have it.
#[derive(Debug, Default)]
pub struct KnownWords {
    names: HashSet<&'static str>,
    /// Words of code blocks that may be misspelled.
    in_one_block: HashSet<&'static str>,
}

impl KnownWords {
    pub fn add_page(&mut self, page: &Page, text: &str) {
        let links = page.links.iter().map(|link| &link.range);
        for name in page.addresses.iter().chain(links).filter_map(|range| text.get(range.clone())) {
            self.names.extend(dictionary_words(name).map(|(_, word)| word));
        }
        for code in page.code.iter().filter_map(|range| text.get(range.clone())) {
            match code.contains('\n') {
                true => self.add_block(code),
                false => self.names.extend(dictionary_words(code).map(|(_, word)| word)),
            }
        }
    }

    fn add_block(&mut self, code: &str) {
        let (names, others): (Vec<_>, Vec<_>) =
            dictionary_words(code).partition(|(range, _)| is_identifier(code, range));
        self.names.extend(names.into_iter().map(|(_, word)| word));
        for word in others.into_iter().map(|(_, word)| word).collect::<HashSet<_>>() {
            if !self.in_one_block.insert(word) {
                self.names.insert(word);
            }
        }
    }
}

/// The words of a text that the dictionary has, in its spelling. So a set of them can't outgrow it.
fn dictionary_words(text: &str) -> impl Iterator<Item = (Range<usize>, &'static str)> {
    text.split(|c: char| !c.is_ascii_alphabetic()).filter_map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let (wrong, _) = dictionary().row(&word.to_ascii_lowercase())?;
        Some((start..start + word.len(), wrong))
    })
}

/// Whether a word of a code block is written as an identifier: a part of a longer name, a call, a quoted text
/// without spaces, the target of an assignment, or a key.
fn is_identifier(code: &str, range: &Range<usize>) -> bool {
    let (before, after) = (&code[..range.start], &code[range.end..]);
    let quotes = ['"', '\'', '`'];
    let quoted = before.ends_with(quotes) && after.starts_with(quotes);
    let line_before = before.rsplit('\n').next().unwrap_or_default();
    let is_key = after.starts_with(':') && line_before.trim_matches([' ', '\t', '-', '{', ',']).is_empty();
    let is_assigned =
        after.trim_start_matches([' ', '\t']).starts_with(['=', ':']) && !after.starts_with(':');
    quoted || is_key || is_assigned || is_part_of_name(code, range)
}

/// The misspelled words of a page's prose.
pub fn misspellings(page: &Page, text: &str, known: &KnownWords) -> Spelling {
    // Tags are names in links, although readers see them.
    let is_text =
        |value: &&Value| value.is_prose(text) && !["tags", "keywords"].contains(&value.key.as_str());
    let titles = page.front.values.iter().filter(is_text);
    let ranges: Vec<Range<usize>> =
        titles.map(|value| value.range.clone()).chain(page.prose.iter().cloned()).collect();
    let is_english = is_english(text, &ranges);
    let tokens = ranges.into_iter().flat_map(|range| tokens(text, range));
    let misspellings = tokens.filter_map(|range| check_word(text, range, known)).collect();
    Spelling { misspellings, is_english }
}

fn check_word(text: &str, range: Range<usize>, known: &KnownWords) -> Option<Misspelling> {
    let word = text.get(range.clone())?;
    let rest = word.get(1..)?;
    if !word.bytes().all(|byte| byte.is_ascii_alphabetic())
        || rest.bytes().any(|byte| byte.is_ascii_uppercase())
    {
        return None;
    }
    let (wrong, right) = dictionary().row(&word.to_ascii_lowercase())?;
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    if known.names.contains(wrong)
        || is_part_of_name(text, &range)
        || is_mentioned(text, &range, right)
        // A capitalized word inside a sentence is a name.
        || (capital && !begins_sentence(&text[..range.start]))
    {
        return None;
    }
    let mut correction = right.to_owned();
    if capital {
        correction[..1].make_ascii_uppercase();
    }
    Some(Misspelling { word: word.to_owned(), correction, range })
}

/// Runs of letters, digits and underscores. Combining marks count too, so that no word is split.
fn tokens(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || ('\u{300}'..='\u{36f}').contains(&c);
    let part = &text[range.clone()];
    part.split(move |c| !is_word(c)).filter(|word| !word.is_empty()).map(move |word| {
        let start = range.start + (word.as_ptr() as usize - part.as_ptr() as usize);
        start..start + word.len()
    })
}

/// Whether a word is part of a file name, an option, a package name or a handle.
fn is_part_of_name(text: &str, range: &Range<usize>) -> bool {
    name_continues_before(text, range.start) || name_continues_after(text, range.end)
}

/// Whether a name continues before the word that begins at `at`: `x/word`, `--word`, `.word`.
pub fn name_continues_before(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(|c| c == '.' || joins_name(c))
}

/// Whether a name continues after the word that ends at `at`: `word/x`, `word@1`, `word.md`, `word:x`, `word()`.
pub fn name_continues_after(text: &str, at: usize) -> bool {
    let mut rest = text[at..].chars();
    let (next, after_next) = (rest.next(), rest.next());
    let dotted = next.is_some_and(|c| ".:".contains(c)) && after_next.is_some_and(char::is_alphanumeric);
    dotted || next.is_some_and(|c| c == '(' || joins_name(c))
}

fn joins_name(c: char) -> bool {
    "-/\\@#$_~%=&+`".contains(c) || (!c.is_ascii() && c.is_alphanumeric())
}

/// Whether a word is in quotes, part of a contraction, or near its correction. Such a text mentions the word.
fn is_mentioned(text: &str, range: &Range<usize>, right: &str) -> bool {
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let quotes = ['"', '\'', '“', '”', '‘', '’', '«', '»', '„'];
    let quoted = before.ends_with(quotes) && after.starts_with(quotes);
    let apostrophe = ['\'', '’'];
    let contracted = before.strip_suffix(apostrophe).is_some_and(|rest| rest.ends_with(char::is_alphabetic))
        || after.strip_prefix(apostrophe).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    // "The" is near "teh" by chance.
    let has_correction = |part: &str| !ENGLISH.contains(&right) && part.to_ascii_lowercase().contains(right);
    let line_before = last_bytes(before).rsplit('\n').next().unwrap_or_default();
    let line_after = first_bytes(after).split('\n').next().unwrap_or_default();
    quoted || contracted || has_correction(line_before) || has_correction(line_after)
}

/// Whether the text before a word ends a sentence, begins a block, or begins a cell of a table.
fn begins_sentence(before: &str) -> bool {
    let mut lines = last_bytes(before).rsplit('\n');
    let line = lines.next().unwrap_or_default();
    if matches(opening(), line) {
        return true;
    }
    let last = lines.next().unwrap_or_default().trim();
    let continues = last.ends_with(|c: char| c.is_alphanumeric() || ",;-–—)\"'”’*_`]".contains(c));
    matches(line_start(), line) && (!continues || last.starts_with(['#', '<', '|', '!', ':']))
}

/// The end of a text. Lines can be as long as a file.
fn last_bytes(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_CONTEXT_BYTES))..]
}

fn first_bytes(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_CONTEXT_BYTES)]
}

fn matches(pattern: Option<&Regex>, line: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(line))
}

pattern!(
    /// A marker of a list, a heading or a quote, the end of a sentence, the border of a cell, or a tag.
    opening,
    r#"(?:^\s*(?:[#>*+\-]+\s+|\d+[.)]\s+|\[[ xX]\]\s+)+|[.!?:…][)"'\]*_”]*\s+|[|>]\s*)"#,
    r#"["'(\[*_“‘]*$"#,
);

pattern!(
    /// The beginning of a line, with no marks except those of emphasis or a link.
    line_start,
    r#"^\s*["'(\[*_“‘]*$"#,
);

fn is_english(text: &str, ranges: &[Range<usize>]) -> bool {
    let (mut words, mut english, mut plain) = (0_usize, 0_usize, true);
    for word in ranges.iter().flat_map(|range| tokens(text, range.clone())).map(|range| &text[range]) {
        words += 1;
        english += usize::from(ENGLISH.iter().any(|common| common.eq_ignore_ascii_case(word)));
        plain &= word.is_ascii();
    }
    match words < MIN_WORDS_FOR_SHARE {
        true => english > 0 && plain,
        false => english * 33 >= words,
    }
}

struct Dictionary {
    /// Pairs of a wrong and a right word, sorted.
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
        // The asset is part of the program, and a test unpacks it, so this can't fail.
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
    fn the_dictionary_is_complete_and_sorted() {
        let rows = &dictionary().rows;
        assert!(rows.len() > 50_000, "{}", rows.len());
        assert!(
            rows.is_sorted()
                && rows.iter().all(|(wrong, right)| wrong != right && (wrong.len() >= 5 || wrong.len() == 3))
        );
    }
}
