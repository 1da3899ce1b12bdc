//! Reads the phrases that instructions have in common: whether code changes, and what to fix.

use pages::WordList;

use super::command::Command;
use super::lexer::{Kind, Token};

const CODE: WordList = WordList("code snippets codeblocks");
const CODE_KINDS: WordList = WordList("blocks block spans samples examples snippets fences listings");
const IN_CODE: WordList = WordList(
    "\
in inside within the all any inline of from touch touching change changing edit modify",
);
const WITHOUT: WordList = WordList(
    "\
not except excluding without outside don't don’t dont never leave skip skipping ignoring ignore",
);
const BROKEN: WordList = WordList("broken dead internal stale bad invalid wrong relative faulty rotten");
const LINKS: WordList = WordList("links link anchors anchor hyperlinks cross-references crosslinks");
const MISTAKES: WordList = WordList("mistakes mistake errors error issues problems");
const TYPOS: WordList = WordList("typos typo misspellings misspelling mis-spellings typographical");
const ANY: WordList = WordList("all any the every each common obvious simple our your my of remaining");

/// Tokens with a position.
pub(super) struct Phrases<'a> {
    tokens: &'a [Token],
    pub(super) at: usize,
}

impl<'a> Phrases<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn peek_second(&self) -> Option<&'a Token> {
        self.tokens.get(self.at + 1)
    }

    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn is_punctuation(&self) -> bool {
        self.peek().is_some_and(|token| matches!(token.kind, Kind::Comma | Kind::Colon | Kind::Stop))
    }

    /// Takes the end of a sentence, a colon or a comma.
    pub(super) fn punctuation(&mut self) -> Option<()> {
        self.is_punctuation().then(|| self.at += 1)
    }

    pub(super) fn comma(&mut self) -> bool {
        let is_comma = self.peek().is_some_and(|token| token.kind == Kind::Comma);
        self.at += usize::from(is_comma);
        is_comma
    }

    pub(super) fn peek_any(&self, words: impl Into<WordList>) -> bool {
        self.peek().is_some_and(|token| token.is_one_of(words))
    }

    /// Takes the next token if it is one of `words`. Returns it in lowercase.
    pub(super) fn any_of(&mut self, words: impl Into<WordList>) -> Option<String> {
        let token = self.peek().filter(|token| token.is_one_of(words))?;
        self.at += 1;
        Some(token.text.to_lowercase())
    }

    /// Takes exactly these words, or nothing.
    pub(super) fn words(&mut self, words: impl Into<WordList>) -> bool {
        let words = words.into();
        let mut rest = self.tokens[self.at.min(self.tokens.len())..].iter();
        let found = words.iter().all(|word| rest.next().is_some_and(|token| token.is(word)));
        self.at += if found { words.iter().count() } else { 0 };
        found
    }

    pub(super) fn skip(&mut self, words: impl Into<WordList>) -> usize {
        let (start, words) = (self.at, words.into());
        while self.any_of(words).is_some() {}
        self.at - start
    }

    /// Takes what `read` reads, or nothing if it fails.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let found = read(self);
        if found.is_none() {
            self.at = start;
        }
        found
    }

    /// `including code`, `in code blocks too`, `but not in code`. Returns whether code changes.
    pub(super) fn code_phrase(&mut self) -> Option<bool> {
        self.attempt(Self::prose_and_code).or_else(|| self.attempt(Self::with_or_without_code))
    }

    fn prose_and_code(&mut self) -> Option<bool> {
        self.any_of("both");
        self.any_of("in");
        self.skip("both");
        self.any_of("prose text")?;
        self.any_of("and")?;
        self.code_noun()?;
        Some(true)
    }

    fn with_or_without_code(&mut self) -> Option<bool> {
        self.comma();
        let before = self.attempt(Self::code_marker);
        self.skip(IN_CODE);
        self.code_noun()?;
        let after = self.any_of("too also included alone untouched unchanged");
        let as_well = self.words("as well");
        match (before, after.as_deref()) {
            (Some(false), _) => Some(false),
            (None, Some("alone" | "untouched" | "unchanged")) => None,
            (Some(true), _) | (None, Some(_)) => Some(true),
            (None, None) => as_well.then_some(true),
        }
    }

    fn code_marker(&mut self) -> Option<bool> {
        let joined = self.skip("and but do also") > 0;
        if self.skip(WITHOUT) > 0 {
            return Some(false);
        }
        if self.skip("including include even incl") > 0 {
            return Some(true);
        }
        // "and in code", "also in code".
        joined.then_some(true)
    }

    fn code_noun(&mut self) -> Option<()> {
        self.skip("the inline");
        self.any_of(CODE)?;
        self.skip(CODE_KINDS);
        Some(())
    }

    /// `broken links, anchors and typos`.
    pub(super) fn fixables(&mut self) -> Option<Vec<Command>> {
        let mut commands = vec![self.attempt(Self::fixable)?];
        while let Some(command) = self.attempt(|phrase| {
            phrase.comma();
            phrase.skip("and & also or");
            phrase.fixable()
        }) {
            commands.push(command);
        }
        commands.dedup();
        Some(commands)
    }

    /// `all the broken links`, `typos`, `common spelling mistakes`.
    fn fixable(&mut self) -> Option<Command> {
        self.skip(ANY);
        self.skip(BROKEN);
        if self.skip(LINKS) > 0 {
            return Some(Command::FixLinks);
        }
        if self.any_of(TYPOS).is_none() && !self.words("misspelled words") && !self.words("misspelt words") {
            self.any_of("spelling spellings")?;
        }
        self.skip(MISTAKES);
        Some(Command::FixSpelling)
    }
}
