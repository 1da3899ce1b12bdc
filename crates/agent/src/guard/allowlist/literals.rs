//! Reads plain JavaScript values in braces: strings, numbers, booleans, and lists and objects of them.

use pages::WordList;

use super::plain_text::is_plain_words;

/// Props that run code, or change what a component is or whom it is shown to.
pub(super) const POWERFUL_PROPS: WordList = WordList(
    "as is component dangerouslysetinnerhtml innerhtml srcdoc html script code template render element tag \
     set:html for audience only unless when if visible hidden show hide",
);

/// Whether an expression is a plain value that no surrounding component treats as code.
pub(super) fn is_text(code: &str) -> bool {
    literal(code).is_some() && (code.len() <= MAX_SHORT_BYTES || !code.contains(['(', '=']))
}

/// The text of a plain value in braces. Empty for a list or an object.
pub(super) fn literal(code: &str) -> Option<&str> {
    let all = strings(code)?;
    match all.as_slice() {
        [(None, text)] if !code.trim_start_matches(['{', ' ']).starts_with('[') => Some(text),
        all => all.iter().all(|(_, text)| is_plain_words(text)).then_some(""),
    }
}

const MAX_DEPTH: usize = 16;
/// An expression this short only shows a character: `{"("}`.
const MAX_SHORT_BYTES: usize = 8;

/// A string with its key, if it has one.
pub(super) type KeyedString<'a> = (Option<&'a str>, &'a str);

/// The strings of a plain value in braces. `None` if the value is more than plain.
pub(super) fn strings(code: &str) -> Option<Vec<KeyedString<'_>>> {
    let inside = code.strip_prefix('{')?.strip_suffix('}')?;
    let mut found = Vec::new();
    read_value(inside, None, MAX_DEPTH, &mut found)?.trim().is_empty().then_some(found)
}

/// Reads a plain value, and returns the text after it.
fn read_value<'a>(
    text: &'a str,
    key: Option<&'a str>,
    depth: usize,
    found: &mut Vec<KeyedString<'a>>,
) -> Option<&'a str> {
    let text = text.trim_start();
    match text.chars().next()? {
        quote @ ('"' | '\'' | '`') => {
            let end = text[1..].find(quote)?;
            let inside = &text[1..=end];
            found.push((key, inside));
            (!inside.contains(['\\', '\n', '$'])).then(|| &text[end + 2..])
        }
        '[' => read_list(&text[1..], "]", key, depth.checked_sub(1)?, found),
        '{' => read_list(&text[1..], "}", key, depth.checked_sub(1)?, found),
        _ => {
            let end =
                text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-').unwrap_or(text.len());
            let word = &text[..end];
            let is_number =
                word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && word.parse::<f64>().is_ok();
            (is_number || matches!(word, "true" | "false" | "null")).then(|| &text[end..])
        }
    }
}

fn read_list<'a>(
    mut text: &'a str,
    close: &str,
    mut key: Option<&'a str>,
    depth: usize,
    found: &mut Vec<KeyedString<'a>>,
) -> Option<&'a str> {
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix(close) {
            return Some(rest);
        }
        if close == "}" {
            let end = text.find(':')?;
            let name = text[..end].trim().trim_matches(['"', '\'']);
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            if !is_name || POWERFUL_PROPS.contains(&name.to_lowercase()) {
                return None;
            }
            (key, text) = (Some(name), &text[end + 1..]);
        }
        text = read_value(text, key, depth, found)?.trim_start();
        match text.strip_prefix(',') {
            Some(rest) => text = rest,
            None => return text.strip_prefix(close),
        }
    }
}
