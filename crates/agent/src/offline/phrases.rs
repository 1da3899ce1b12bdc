//! The turns of phrase that instructions have in common: where, whether in code, and what can be fixed.

use super::command::Command;
use super::lexer::{Kind, Token};

const PLACES: &[&str] = &["in", "across", "throughout", "on", "within", "inside", "under", "below", "over"];
const BELOW: &[&str] = &["under", "below", "inside", "within"];
const DETERMINERS: &[&str] =
    &["all", "every", "each", "of", "the", "our", "my", "your", "this", "entire", "whole", "only", "any"];
const NOUNS: &[&str] = &[
    "docs",
    "documentation",
    "doc",
    "pages",
    "page",
    "files",
    "file",
    "site",
    "repo",
    "repository",
    "project",
    "website",
    "markdown",
    "mdx",
    "prose",
    "text",
    "tree",
];
const FOLDERS: &[&str] = &["folder", "folders", "directory", "directories", "dir", "section"];
const MATCHING: &[&str] = &["matching", "named", "called", "like", "under", "in", "inside", "below"];
const CODE: &[&str] = &["code", "snippets", "codeblocks"];
const CODE_KINDS: &[&str] =
    &["blocks", "block", "spans", "samples", "examples", "snippets", "fences", "listings"];
const IN_CODE: &[&str] = &[
    "in", "inside", "within", "the", "all", "any", "inline", "of", "from", "touch", "touching", "change",
    "changing",
];

/// Whether code is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Included,
    LeftAlone,
}

/// Tokens with a place in them.
pub(super) struct Phrases<'a> {
    tokens: &'a [Token],
    pub(super) at: usize,
}

impl<'a> Phrases<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn is_mark(&self) -> bool {
        self.peek().is_some_and(|token| matches!(token.kind, Kind::Comma | Kind::Stop))
    }

    /// Takes the end of a sentence or a comma.
    pub(super) fn mark(&mut self) -> Option<()> {
        self.is_mark().then(|| self.at += 1)
    }

    pub(super) fn comma(&mut self) -> bool {
        let is_comma = self.peek().is_some_and(|token| token.kind == Kind::Comma);
        self.at += usize::from(is_comma);
        is_comma
    }

    pub(super) fn peek_any(&self, words: &[&str]) -> bool {
        self.peek().is_some_and(|token| words.iter().any(|word| token.is(word)))
    }

    /// Takes the next token when it is one of `words`, and gives it in lower case.
    pub(super) fn any_of(&mut self, words: &[&str]) -> Option<String> {
        let found = self.peek_any(words);
        self.next_if(found).map(|token| token.text.to_lowercase())
    }

    fn next_if(&mut self, wanted: bool) -> Option<&'a Token> {
        if wanted { self.next() } else { None }
    }

    /// Takes exactly these words, or nothing.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let rest = &self.tokens[self.at.min(self.tokens.len())..];
        let found = rest.len() >= words.len() && rest.iter().zip(words).all(|(token, word)| token.is(word));
        self.at += if found { words.len() } else { 0 };
        found
    }

    fn skip(&mut self, words: &[&str]) -> usize {
        let start = self.at;
        while self.any_of(words).is_some() {}
        self.at - start
    }

    /// Takes what `read` reads, or stays where it is.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let found = read(self);
        if found.is_none() {
            self.at = start;
        }
        found
    }

    /// `including code`, `in code blocks too`, `but not in code`.
    pub(super) fn code_phrase(&mut self) -> Option<Code> {
        self.attempt(Self::prose_and_code).or_else(|| self.attempt(Self::with_or_without_code))
    }

    fn prose_and_code(&mut self) -> Option<Code> {
        self.any_of(&["both"]);
        self.any_of(&["in"]);
        self.skip(&["both"]);
        self.any_of(&["prose", "text"])?;
        self.any_of(&["and"])?;
        self.code_noun()?;
        Some(Code::Included)
    }

    fn with_or_without_code(&mut self) -> Option<Code> {
        self.comma();
        let before = self.attempt(|phrase| phrase.code_marker());
        self.skip(IN_CODE);
        self.code_noun()?;
        let after = self.any_of(&["too", "also", "included", "alone", "untouched", "unchanged"]);
        let as_well = self.words(&["as", "well"]);
        match (before, after.as_deref()) {
            (Some(Code::LeftAlone), _) => Some(Code::LeftAlone),
            (None, Some("alone" | "untouched" | "unchanged")) => None,
            (Some(Code::Included), _) | (None, Some(_)) => Some(Code::Included),
            (None, None) => as_well.then_some(Code::Included),
        }
    }

    fn code_marker(&mut self) -> Option<Code> {
        let without = &[
            "not",
            "except",
            "excluding",
            "without",
            "outside",
            "don't",
            "don’t",
            "dont",
            "never",
            "leave",
            "skip",
            "skipping",
            "ignoring",
        ];
        let joined = self.skip(&["and", "but", "do", "also"]) > 0;
        if self.skip(without) > 0 {
            return Some(Code::LeftAlone);
        }
        if self.skip(&["including", "include", "even", "incl"]) > 0 {
            return Some(Code::Included);
        }
        // "and in code", "also in code".
        joined.then_some(Code::Included)
    }

    fn code_noun(&mut self) -> Option<()> {
        self.skip(&["the", "inline"]);
        self.any_of(CODE)?;
        self.skip(CODE_KINDS);
        Some(())
    }

    /// `everywhere`, `in install.md`, `under guides/`, `in all files matching *.mdx`. Empty means all pages.
    pub(super) fn scope_phrase(&mut self) -> Option<Vec<String>> {
        match self.any_of(&["everywhere", "globally"]) {
            Some(_) => Some(Vec::new()),
            None => self.attempt(Self::place),
        }
    }

    fn place(&mut self) -> Option<Vec<String>> {
        self.any_of(&["only"]);
        let below = BELOW.contains(&self.any_of(PLACES)?.as_str());
        self.skip(DETERMINERS);
        let nouns = self.skip(NOUNS);
        let folder = self.skip(FOLDERS) > 0;
        self.words(&["that", "match"]);
        let matching = if nouns > 0 { self.skip(MATCHING) > 0 } else { false };
        self.skip(DETERMINERS);
        let any_name = below || folder || matching || self.names_a_folder();
        match self.attempt(|phrase| phrase.path(any_name)) {
            Some(first) => Some(self.more_paths(first)),
            None => (nouns > 0 && !matching && !folder).then(Vec::new),
        }
    }

    /// `in the guides folder`.
    fn names_a_folder(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| token.is_one_of(FOLDERS))
    }

    fn path(&mut self, any_name: bool) -> Option<String> {
        let token = self.next()?;
        let found = match token.kind {
            Kind::Quoted => !token.text.trim().is_empty(),
            Kind::Word => looks_like_a_path(&token.text) || any_name,
            Kind::Comma | Kind::Stop => false,
        };
        let mut path = token.text.clone();
        if self.skip(FOLDERS) > 0 && !path.ends_with('/') {
            path.push('/');
        }
        self.skip(&["file", "files", "page", "pages", "only"]);
        found.then_some(path)
    }

    fn more_paths(&mut self, first: String) -> Vec<String> {
        let mut paths = vec![first];
        while let Some(path) = self.attempt(|phrase| {
            let comma = phrase.comma();
            let joined = phrase.any_of(&["and", "or"]).is_some();
            phrase.any_of(&["in"]);
            if comma || joined { phrase.path(false) } else { None }
        }) {
            paths.push(path);
        }
        paths
    }

    /// `all the broken links`, `typos`, `common spelling mistakes`.
    pub(super) fn fixable(&mut self) -> Option<Command> {
        self.skip(&[
            "all",
            "any",
            "the",
            "every",
            "each",
            "common",
            "obvious",
            "simple",
            "our",
            "your",
            "my",
            "of",
            "remaining",
        ]);
        self.skip(&[
            "broken", "dead", "internal", "stale", "bad", "invalid", "wrong", "relative", "faulty", "rotten",
        ]);
        if self.skip(&["links", "link", "anchors", "anchor", "hyperlinks", "cross-references", "crosslinks"])
            > 0
        {
            return Some(Command::FixLinks);
        }
        if self
            .any_of(&["typos", "typo", "misspellings", "misspelling", "mis-spellings", "typographical"])
            .is_some()
        {
            self.skip(&["errors", "mistakes"]);
            return Some(Command::FixSpelling);
        }
        if self.words(&["misspelled", "words"]) || self.words(&["misspelt", "words"]) {
            return Some(Command::FixSpelling);
        }
        self.any_of(&["spelling", "spellings"])?;
        self.skip(&["mistakes", "mistake", "errors", "error", "issues", "problems"]);
        Some(Command::FixSpelling)
    }
}

impl Token {
    fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

fn looks_like_a_path(word: &str) -> bool {
    word.contains(['/', '*']) || pages::is_page(word)
}
