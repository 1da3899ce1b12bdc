//! Defines lists of words that are written as one string.

/// Words, separated by blanks.
#[derive(Debug, Clone, Copy)]
pub struct WordList(pub &'static str);

impl From<&'static str> for WordList {
    fn from(words: &'static str) -> Self {
        Self(words)
    }
}

impl WordList {
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }

    pub fn contains(self, word: &str) -> bool {
        self.iter().any(|other| other == word)
    }
}
