//! Splits a prompt into words, quoted texts and punctuation.

use std::ops::Range;

use pages::WordList;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The text without quotes.
    pub(super) text: String,
    /// The range in the prompt.
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Quoted,
    Comma,
    Colon,
    /// The end of a sentence, a line or a list item. Also a semicolon, which separates instructions of one sentence.
    Stop,
}

impl Token {
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether the token is one of `words`, which are separated by spaces.
    pub(super) fn is_one_of(&self, words: impl Into<WordList>) -> bool {
        words.into().iter().any(|word| self.is(word))
    }

    pub(super) fn ends_sentence(&self) -> bool {
        self.kind == Kind::Stop && self.text != ";"
    }
}

/// Splits a prompt. Never fails: a quote that is not closed is an ordinary character.
pub(super) fn tokens(prompt: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = prompt[at..].chars().next() {
        let token = match c {
            '\n' => Some(token(Kind::Stop, prompt, at..at + 1)),
            c if c.is_whitespace() => None,
            _ if number_end(prompt, at).is_some() => {
                number_end(prompt, at).map(|end| token(Kind::Stop, prompt, at..end))
            }
            _ => Some(quoted(prompt, at).unwrap_or_else(|| unquoted(prompt, at))),
        };
        at = token.as_ref().map_or(at + c.len_utf8(), |token| token.range.end);
        tokens.extend(token);
    }
    tokens
}

fn token(kind: Kind, prompt: &str, range: Range<usize>) -> Token {
    Token { kind, text: prompt[range.clone()].to_owned(), range }
}

/// The end of a list number at the start of a line, such as `1.` or `2)`.
fn number_end(prompt: &str, at: usize) -> Option<usize> {
    let before = prompt[..at].trim_end_matches([' ', '\t']);
    let rest = prompt[at..].trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = prompt.len() - at - rest.len();
    let is_at_line_start = before.is_empty() || before.ends_with('\n');
    let is_number = (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    (is_at_line_start && is_number).then_some(at + digits + 1)
}

/// The quoted text that begins at `at`. It ends on the same line, at a quote without a letter after it. So `don't` and
/// a quote within the quote don't end it.
fn quoted(prompt: &str, at: usize) -> Option<Token> {
    let rest = &prompt[at..];
    let open = rest.chars().next()?;
    let close = closing_quote(open)?;
    let start = open.len_utf8();
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let (mut text, mut escaped) = (String::new(), false);
    for (offset, c) in line[start..].char_indices() {
        let end = start + offset + c.len_utf8();
        let ends_here = c == close && !escaped && !line[end..].starts_with(char::is_alphanumeric);
        if ends_here {
            return Some(Token { kind: Kind::Quoted, text, range: at..at + end });
        }
        if escaped && c == close {
            text.pop();
        }
        escaped = c == '\\';
        text.push(c);
    }
    None
}

fn closing_quote(open: char) -> Option<char> {
    match open {
        '"' | '\'' | '`' => Some(open),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// A word up to the next space, or a punctuation mark. Punctuation within a word, as in `1.4.2`, belongs to the word.
fn unquoted(prompt: &str, at: usize) -> Token {
    let rest = &prompt[at..];
    let first = rest.chars().next().map_or(0, char::len_utf8);
    match &rest[..first] {
        ";" => return token(Kind::Stop, prompt, at..at + first),
        "," => return token(Kind::Comma, prompt, at..at + first),
        _ => {}
    }
    let end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
    let word = rest[..end].trim_end_matches(['.', ',', '!', '?', ':', ')']);
    // `docs/*.md,` is a word and a comma. Punctuation alone is the end of a sentence.
    if word.is_empty() {
        let kind = if rest.starts_with(':') { Kind::Colon } else { Kind::Stop };
        return token(kind, prompt, at..at + first);
    }
    token(Kind::Word, prompt, at..at + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_split_into_tokens() {
        #[track_caller]
        fn check(prompt: &str, expected: &str) {
            let shown = tokens(prompt).into_iter().map(|token| match token.kind {
                Kind::Word => token.text,
                Kind::Quoted => format!("<{}>", token.text),
                Kind::Comma => ",".to_owned(),
                Kind::Colon => ":".to_owned(),
                Kind::Stop => ".".to_owned(),
            });
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
        }
        check("Replace \"a b\" with 'c'.", "Replace <a b> with <c> .");
        check("use “x” not ‘y’; `z`", "use <x> not <y> . <z>");
        check("bump 1.4.2 to 1.5.0.", "bump 1.4.2 to 1.5.0 .");
        check("in docs/**/*.md, then", "in docs/**/*.md , then");
        check("don't stop", "don't stop");
        check("'don't'", "<don't>");
        check(r#""say \"hi\"""#, r#"<say "hi">"#);
        check("\"open", "\"open");
        check("\"\"", "<>");
        check("a\nb", "a . b");
        check("in a.md: fix", "in a.md : fix");
        check("1. fix\n 2) mend 3. more", ". fix . . mend 3 . more");
        check("1.4 2", "1.4 2");
        check("?!", ". .");
        check("", "");
        check("“é”", "<é>");
    }
}
