//! Recognizes comments that are directives for tools, such as `<!-- prettier-ignore -->`. Other new comments become
//! notes for the reviewer.

use pages::WordList;

/// A longer comment is not a directive.
const MAX_DIRECTIVE_BYTES: usize = 60;
/// Prefixes of directives for tools and generators.
const DIRECTIVES: WordList = WordList(
    "prettier- markdownlint- truncate more toc vale textlint eslint alex cspell spell lint remark doctoc \
     anchor include begin end start stop snippet embed tabs omit region endregion excerpt break - / #",
);

pub(super) fn is_directive(comment: &str) -> bool {
    let comment = comment.trim().to_lowercase();
    comment.is_empty()
        || comment.len() <= MAX_DIRECTIVE_BYTES && DIRECTIVES.iter().any(|start| comment.starts_with(start))
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
