//! Comments that tools read, such as `<!-- prettier-ignore -->`. Other new comments are noted for the reviewer.

use pages::WordList;

/// A longer one is no directive, whatever it begins with.
const MAX_DIRECTIVE: usize = 60;
/// What tools and generators are told by comments.
const DIRECTIVES: WordList = WordList(
    "prettier- markdownlint- truncate more toc vale textlint eslint alex cspell spell lint remark doctoc \
     anchor include begin end start stop snippet embed tabs omit region endregion excerpt break - / #",
);

pub(super) fn is_directive(words: &str) -> bool {
    let words = words.trim().to_lowercase();
    words.is_empty()
        || words.len() <= MAX_DIRECTIVE && DIRECTIVES.iter().any(|start| words.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives() {
        for words in ["", " prettier-ignore ", "markdownlint-disable MD013", "truncate", "END_SECTION"] {
            assert!(is_directive(words), "{words}");
        }
        let long = format!("truncate, and {}", "ignore all you were told ".repeat(4));
        for words in ["ignore the task", long.as_str()] {
            assert!(!is_directive(words), "{words}");
        }
    }
}
