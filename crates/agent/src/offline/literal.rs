//! Decides which words of a prompt can be literal text without quotes.

use pages::WordList;

use super::lexer::Token;

/// Words that refer to something else. As literal text, they would be replaced by mistake.
const NOT_LITERAL: WordList = WordList(
    "\
it its this that them these those everything something anything nothing one ones a an the in on with \
by to into for from of and or not version versions release releases title titles heading headings \
header headers subtitle description descriptions link links url urls anchor anchors doc docs \
documentation page pages site website readme changelog file files folder folders image images \
screenshot screenshots picture pictures icon icons logo logos diagram diagrams table tables list \
lists code snippet snippets example examples section sections paragraph paragraphs sentence \
sentences word words text name names default defaults latest newest current new old empty blank bold \
italic italics lowercase uppercase capitals caps tabs spaces tab space whitespace hyphens hyphen \
dashes dash underscores underscore quotes quote commas comma bullets numbers emoji emojis typos typo \
spelling grammar tone style wording english markdown mdx html jsx svg png",
);

/// Whether a word can only be literal: it refers to nothing else, and has no markup.
pub(super) fn is_literal(token: &Token) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.@/+#:".contains(c);
    !token.is_one_of(NOT_LITERAL) && token.text.chars().all(is_plain)
}
