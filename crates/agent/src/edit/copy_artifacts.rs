//! Removes artifacts of copying from a text: line numbers, a code fence, escapes, entities.

use std::borrow::Cow;

use super::error::EditError;

/// Another way to read an old text that was not found, and the new text read the same way.
pub(super) struct Reading {
    pub old: String,
    pub new: String,
    /// The artifact applies to whole lines, so the match must be whole lines.
    pub whole_lines: bool,
}

/// Returns the readings of the texts:
///
/// - Every line begins with its number and a tab, as in a listing: without the numbers.
/// - Old and new are in the same code fence: without the fence.
/// - The old text has the escapes of a JSON string (`\n`, `\"`): unescaped.
/// - The old text has entities of markup (`&lt;`, `&amp;`): with their characters.
pub(super) fn readings(old: &str, new: &str) -> Result<Vec<Reading>, EditError> {
    let mut readings = Vec::new();
    if let Some(plain) = without_numbers(old) {
        readings.push(Reading { old: plain, new: new_without_numbers(new)?, whole_lines: true });
    }
    if let (Some((fence, old)), Some((same, new))) = (split_fence(old), split_fence(new))
        && fence == same
    {
        readings.push(Reading { old, new, whole_lines: true });
    }
    for read in [unescaped, without_entities] {
        if let Some(old) = read(old) {
            let new = read(new).unwrap_or_else(|| new.to_owned());
            readings.push(Reading { old, new, whole_lines: false });
        }
    }
    Ok(readings)
}

/// Splits a line of a listing into its number and the rest.
fn split_number(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once('\t')?;
    Some((number.trim_start_matches(' ').parse().ok()?, rest))
}

fn without_numbers(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut before = None;
    for line in text.trim_end_matches('\n').split_inclusive('\n') {
        let (number, rest) = split_number(line)?;
        if before.is_some_and(|before: usize| before.checked_add(1) != Some(number)) {
            return None;
        }
        before = Some(number);
        plain.push_str(rest);
    }
    plain.push_str(&text[text.trim_end_matches('\n').len()..]);
    before.map(|_| plain)
}

/// Removes the numbers of the new text. They can skip or repeat, but either all lines have one or none: otherwise,
/// numbers would get into the file.
fn new_without_numbers(new: &str) -> Result<String, EditError> {
    let rests: Vec<_> =
        new.split_inclusive('\n').map(|line| split_number(line).map(|(_, rest)| rest)).collect();
    match rests.iter().flatten().count() {
        0 => Ok(new.to_owned()),
        all if all == rests.len() => Ok(rests.into_iter().flatten().collect()),
        _ => Err(EditError::Numbered),
    }
}

/// Returns the opening line of the fence around a text, and the content.
fn split_fence(text: &str) -> Option<(&str, String)> {
    let (first, rest) = text.trim_matches('\n').split_once('\n')?;
    let (body, last) = rest.rsplit_once('\n').unwrap_or(("", rest));
    let mark = ["```", "~~~"].into_iter().find(|mark| first.starts_with(mark))?;
    (last.trim_end() == mark).then(|| (first, body.to_owned() + if body.is_empty() { "" } else { "\n" }))
}

/// Only for a text of one line: a text with escaped line endings has no real ones.
fn unescaped(text: &str) -> Option<String> {
    if text.contains('\n') || !text.contains('\\') {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(ch) = chars.next() {
        let escape = if ch == '\\' { chars.next() } else { None };
        match escape {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(same @ ('"' | '\'' | '\\' | '/')) => plain.push(same),
            Some(other) => plain.extend([ch, other]),
            None => plain.push(ch),
        }
    }
    Some(plain)
}

fn without_entities(text: &str) -> Option<String> {
    const ENTITIES: [(&str, &str); 6] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")];
    let plain = ENTITIES.iter().fold(Cow::Borrowed(text), |text, (entity, ch)| match text.contains(entity) {
        true => Cow::Owned(text.replace(entity, ch)),
        false => text,
    });
    match plain {
        Cow::Owned(plain) => Some(plain),
        Cow::Borrowed(_) => None,
    }
}
