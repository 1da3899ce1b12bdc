//! What a requested path means: the spelling that all variants of a path share.
//!
//! These are variants of `/guides/install`: another case, percent-encoding, a trailing slash or `index`, `.md`, `.mdx`,
//! `.html` or `.txt`, `/amp`, characters that the text around a link leaves at its end, and old prefixes such as `/docs`,
//! `/en`, `/latest` or `/v1`.

use std::collections::HashSet;

use pages::FileKind;
use percent_encoding::percent_decode_str;

/// The endings that servers give pages, besides those of their sources.
const SERVED_EXTENSIONS: [&str; 3] = [".html", ".htm", ".txt"];
/// Files for agents that are no twin of a page.
const TEXT_FILES: [&str; 2] = ["llms.txt", "llms-full.txt"];
const INDEX_NAMES: [&str; 2] = ["index", "readme"];
/// Prefixes that name all of the docs, or their default language or version.
const DEFAULT_PREFIXES: [&str; 13] = [
    "docs",
    "doc",
    "documentation",
    "en",
    "en-us",
    "en-gb",
    "latest",
    "stable",
    "current",
    "main",
    "master",
    "default",
    "html",
];
/// Languages. Other names of two letters, such as `go` and `js`, are often sections.
const LANGUAGES: [&str; 15] =
    ["de", "fr", "es", "it", "pt", "ja", "ko", "zh", "ru", "pl", "tr", "nl", "cs", "uk", "vi"];
/// What the text around a link leaves at its end.
const TRAILING: [char; 21] = [
    '.', ',', ';', ':', '!', '"', '\'', '`', '*', '…', '’', '”', '“', '»', '>', ']', '}', '|', '\\', '。',
    '）',
];
const ENTITIES: [&str; 7] = ["&quot;", "&quot", "&gt;", "&lt;", "&#39;", "&apos;", "&nbsp;"];
/// Stems are the first characters of a word, so that `installing` and `installation` share one.
const STEM_CHARS: usize = 5;
const MIN_WORD_BYTES: usize = 3;

/// The segments of a path in their common spelling, with prefixes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Meaning(Vec<String>);

impl Meaning {
    pub(crate) fn of(path: &str) -> Self {
        let end = path.find(['?', '#']).unwrap_or(path.len());
        let text = decode(&path[..end]).to_lowercase();
        let mut segments: Vec<_> =
            strip_junk(&text).split('/').filter(|segment| !segment.is_empty()).collect();
        while let Some(last) = segments.pop() {
            let name = strip_extension(strip_junk(last));
            let is_amp_page = name == "amp" && !segments.is_empty();
            if name.is_empty() || is_amp_page || INDEX_NAMES.contains(&name) {
                continue;
            }
            segments.push(name);
            if name == last {
                break;
            }
        }
        Self(segments.into_iter().map(str::to_owned).collect())
    }

    pub(crate) fn segments(&self) -> &[String] {
        &self.0
    }

    /// The key without old prefixes. A version or language that the site has pages in isn't old, and stays. Only a
    /// prefix before something else is one.
    pub(crate) fn key(&self, editions: &HashSet<String>) -> String {
        let is_old = |segment: &str| {
            DEFAULT_PREFIXES.contains(&segment) || is_edition(segment) && !editions.contains(segment)
        };
        let before_last = self.0.len().saturating_sub(1);
        // A default prefix can stand before an edition that stays: `/docs/v2/install`.
        let prefixes = self.0.iter().take(before_last).take_while(|segment| is_prefix(segment)).count();
        let (start, rest) = self.0.split_at(prefixes);
        let kept = start.iter().filter(|segment| !is_old(segment)).chain(rest);
        let key = kept.fold(String::new(), |key, segment| key + "/" + segment);
        if key.is_empty() { "/".to_owned() } else { key }
    }
}

/// The versions and languages that a path begins with.
pub(crate) fn edition_prefixes(meaning: &Meaning) -> impl Iterator<Item = String> {
    let prefixes = meaning.0.iter().take_while(|segment| is_prefix(segment));
    prefixes.filter(|segment| is_edition(segment)).cloned()
}

fn is_prefix(segment: &str) -> bool {
    DEFAULT_PREFIXES.contains(&segment) || is_edition(segment)
}

fn is_edition(segment: &str) -> bool {
    let language = segment.split_once(['-', '_']).map_or(segment, |(language, _)| language);
    let is_regional = segment.len() > language.len() && segment.len() <= "zh-hans".len();
    is_version(segment) || LANGUAGES.contains(&language) && (segment == language || is_regional)
}

/// Matches `v1`, `2.x`, `v1.2.3` and `12`, but no year.
fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or(segment);
    let is_number =
        |part: &str| !part.is_empty() && part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = number.split('.');
    parts.next().is_some_and(is_number) && parts.all(|part| part == "x" || is_number(part))
}

/// Decodes twice, because links that were encoded twice are common. Keeps what is not UTF-8.
fn decode(path: &str) -> String {
    let once = |text: &str| match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => decoded.into_owned(),
        Err(_) => text.to_owned(),
    };
    once(&once(path))
}

fn strip_extension(name: &str) -> &str {
    if TEXT_FILES.contains(&name) {
        return name;
    }
    let sources = FileKind::endings(FileKind::is_page);
    let bare = sources.chain(SERVED_EXTENSIONS).find_map(|extension| name.strip_suffix(extension));
    bare.filter(|bare| !bare.is_empty()).unwrap_or(name)
}

/// Cuts a path where the text around its link begins, and strips what is left of that text.
fn strip_junk(text: &str) -> &str {
    let end = ["](", "<", "\"", "&quot"].iter().filter_map(|mark| text.find(mark)).min();
    let mut rest = &text[..end.unwrap_or(text.len())];
    loop {
        let trimmed = strip_closing(rest.trim().trim_end_matches(TRAILING));
        let trimmed = ENTITIES.iter().find_map(|entity| trimmed.strip_suffix(entity)).unwrap_or(trimmed);
        if trimmed == rest {
            return rest;
        }
        rest = trimmed;
    }
}

/// Strips a `)` that closes nothing: `/wiki/Rust_(language)` keeps its own.
fn strip_closing(text: &str) -> &str {
    let count = |bracket: char| text.chars().filter(|char| *char == bracket).count();
    match text.strip_suffix(')') {
        Some(rest) if count(')') > count('(') => rest,
        _ => text.strip_suffix('(').unwrap_or(text),
    }
}

/// A word of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a>(&'a str);

impl<'a> Word<'a> {
    pub(crate) fn stem(self) -> &'a str {
        let end = self.0.char_indices().nth(STEM_CHARS).map_or(self.0.len(), |(at, _)| at);
        &self.0[..end]
    }
}

pub(crate) fn words(key: &str) -> impl Iterator<Item = Word<'_>> {
    let words = key.split(|char: char| !char.is_alphanumeric()).filter(|word| word.len() >= MIN_WORD_BYTES);
    words.filter(|word| !word.chars().all(char::is_numeric)).map(Word)
}
