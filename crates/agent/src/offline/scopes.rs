//! Reads the phrases that name the pages of an instruction.

use pages::{FileKind, WordList};

use super::lexer::Kind;
use super::phrases::Phrases;

const PREPOSITIONS: WordList = WordList("in across throughout on within inside under below over");
const BELOW: WordList = WordList("under below inside within");
const DETERMINERS: WordList = WordList("all every each of the our my your this entire whole only any");
const NOUNS: WordList = WordList(
    "\
docs documentation doc pages page files file site repo repository project website markdown prose text tree",
);
const FOLDERS: WordList = WordList("folder folders directory directories dir section");
const FILES: WordList = WordList("file files page pages");
const MATCHING: WordList = WordList("matching named called under in inside below");

/// What a word can name at a position of a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Only a word that can't be anything but a path.
    Path,
    /// Any word is a name.
    Name,
    /// Any word is the name of a folder.
    Folder,
}

impl Phrases<'_> {
    /// `everywhere`, `in install.md`, `under guides/`, `in all files matching *.mdx`. Empty means all pages.
    pub(super) fn scope_phrase(&mut self) -> Option<Vec<String>> {
        self.attempt(|phrase| {
            phrase.comma();
            match phrase.any_of("everywhere globally") {
                Some(_) => Some(Vec::new()),
                None => phrase.preposition_phrase(),
            }
        })
    }

    /// `except in CHANGELOG.md`, `but not under blog/`.
    pub(super) fn except_phrase(&mut self) -> Option<Vec<String>> {
        self.attempt(|phrase| {
            phrase.comma();
            phrase.any_of("and but");
            let word = phrase.any_of("except excluding not")?;
            phrase.any_of("for");
            let preposition = phrase.any_of(PREPOSITIONS);
            // `use "B", not "A"` names no pages.
            if word == "not" && preposition.is_none() {
                return None;
            }
            phrase.skip("the our");
            let first = phrase.path(expected_after(preposition.as_deref()))?;
            Some(phrase.more_paths(first))
        })
    }

    fn preposition_phrase(&mut self) -> Option<Vec<String>> {
        self.any_of("only");
        let preposition = self.any_of(PREPOSITIONS)?;
        self.pages(expected_after(Some(&preposition)))
    }

    /// The object of a verb such as "check": pages by name, or all of them.
    pub(super) fn object(&mut self) -> Option<Vec<String>> {
        self.attempt(|phrase| phrase.pages(Expected::Path))
    }

    fn pages(&mut self, expected: Expected) -> Option<Vec<String>> {
        let bare = self.skip(DETERMINERS) == 0;
        if let Some(first) = self.attempt(|phrase| phrase.path(expected)) {
            return Some(self.more_paths(first));
        }
        // "In docs" is the folder with that name, if there is one. "In the docs" is all pages.
        if bare && self.peek_any("docs") && !self.is_second_any(MATCHING) {
            self.at += 1;
            self.skip("only");
            return Some(vec!["docs".to_owned()]);
        }
        let nouns = self.skip(NOUNS);
        let folder = self.skip(FOLDERS) > 0;
        let matching = nouns > 0 && (self.words("that match") || self.skip(MATCHING) > 0);
        self.skip(DETERMINERS);
        let expected = match (folder, matching) {
            (true, _) => Expected::Folder,
            (false, true) => Expected::Name,
            (false, false) => Expected::Path,
        };
        match self.attempt(|phrase| phrase.path(expected)) {
            Some(first) => Some(self.more_paths(first)),
            None => (nouns > 0 && expected == Expected::Path).then(Vec::new),
        }
    }

    fn is_second_any(&self, words: impl Into<WordList>) -> bool {
        self.peek_second().is_some_and(|token| token.is_one_of(words))
    }

    /// Reads a path, a pattern or a name. A plain word is a name only if the words around it say so.
    fn path(&mut self, expected: Expected) -> Option<String> {
        let (a_folder, a_file) = (self.is_second_any(FOLDERS), self.is_second_any(FILES));
        let token = self.next()?;
        let is_noun = !token.is("docs") && (token.is_one_of(NOUNS) || token.is_one_of(FOLDERS));
        let named =
            a_folder || (!is_noun && expected != Expected::Path) || (a_file && !token.is_one_of(NOUNS));
        let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let path = match token.kind {
            Kind::Quoted if !token.text.trim().is_empty() => token.text.clone(),
            Kind::Word if extension(&token.text).is_some() => extension(&token.text)?,
            Kind::Word if looks_like_a_path(&token.text) || token.is("readme") => token.text.clone(),
            Kind::Word if named && token.text.chars().all(is_plain) => token.text.clone(),
            _ => return None,
        };
        let is_folder =
            expected == Expected::Folder && !a_file && !path.contains('*') && !pages::is_page(&path);
        let is_folder = self.skip(FOLDERS) > 0 || is_folder;
        self.skip(FILES);
        self.skip("only");
        Some(if is_folder { format!("{}/", path.trim_end_matches('/')) } else { path })
    }

    fn more_paths(&mut self, first: String) -> Vec<String> {
        let mut paths = vec![first];
        while let Some(path) = self.attempt(|phrase| {
            let comma = phrase.comma();
            let joined = phrase.any_of("and or").is_some();
            phrase.any_of("in");
            phrase.any_of("the");
            if comma || joined { phrase.path(Expected::Path) } else { None }
        }) {
            paths.push(path);
        }
        paths
    }
}

/// After "under" and the like, a word names a folder.
fn expected_after(preposition: Option<&str>) -> Expected {
    match preposition {
        Some(preposition) if BELOW.contains(preposition) => Expected::Folder,
        _ => Expected::Path,
    }
}

/// The pattern for `.mdx` or `mdx`: all files with that extension.
fn extension(word: &str) -> Option<String> {
    let name = word.strip_prefix('.').unwrap_or(word).to_ascii_lowercase();
    // "In all markdown files" means all pages.
    let is_noun = !word.starts_with('.') && NOUNS.contains(&name);
    let mut endings = FileKind::endings(FileKind::is_markdown);
    (endings.any(|ending| ending[1..] == name) && !is_noun).then(|| format!("*.{name}"))
}

fn looks_like_a_path(word: &str) -> bool {
    word.contains(['/', '*']) || pages::is_page(word)
}
