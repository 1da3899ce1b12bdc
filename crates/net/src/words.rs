//! Other people's words, fit to be shown and kept.

use crate::Secret;

/// One line without control characters and changes of direction, cut at `most` characters.
pub fn harmless(text: &str, most: usize) -> String {
    let turns =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().filter(|c| !turns(*c)).take(most).collect()
}

/// The same without the key, which is looked for first: a part of it that a cut leaves would not be
/// found.
pub fn without(text: &str, key: &Secret, most: usize) -> String {
    harmless(&text.replace(key.reveal(), "[key]"), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_harmless_and_keep_no_key() {
        let key = Secret::parse("abc-123").unwrap();
        let said = without("\u{1b}[31mno\r\n\u{202e}such abc-123 here", &key, 24);
        assert_eq!(said, "[31mno such [key] here");
        assert_eq!(without("0123456789abc-123", &key, 12), "0123456789[k");
    }
}
