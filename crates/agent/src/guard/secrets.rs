//! Finds secrets in added text: known values, and text that looks like a key.
//!
//! For a known value, its encodings are computed beforehand and searched for. For an unknown key, the text is searched
//! as it is, with its pieces joined, decoded once and twice, and reversed. No message contains what was found. A key in
//! a page can move to another page. A key in another file was not visible to readers, so it can't move to a page.

mod key_patterns;
mod known_values;

use super::additions::{AddedLines, Additions, Location, Text};
use super::refusal::{Rule, Violation};
use super::unescape::{self, DecodedText};

use known_values::KnownValues;

pub(super) fn judge<'a>(additions: &Additions<'a>, secrets: &[&str], violations: &mut Vec<Violation<'a>>) {
    let known = KnownValues::new(secrets);
    for (text, new) in additions.newly_visible() {
        let violation = judge_text(additions, text, &new, &known);
        if text.location == Location::FileName && violation.is_some() {
            additions.hide_path(text);
        }
        violations.extend(violation);
    }
}

/// Returns the first violation of a text, because one is enough to refuse it.
fn judge_text<'a>(
    additions: &Additions<'a>,
    text: &Text<'a>,
    new: &AddedLines,
    known: &KnownValues,
) -> Option<Violation<'a>> {
    let plain = unescape::unescape(&new.text);
    let violation = |offset: usize, what: String| {
        let line = text.reported_line(new.line_at(offset));
        Some(Violation { rule: Rule::Secret, location: text.location, line, what, fatal: true })
    };
    if let Some(at) = known.find(&new.text).or_else(|| Some(plain.origin(known.find(&plain.text)?))) {
        return violation(at, "contains a secret of this installation, or a part of one".to_owned());
    }
    let is_new = |value: &str| !additions.was_visible(text, value);
    if let Some((at, name)) = key_patterns::find_plain(&new.text, is_new) {
        return violation(at, format!("adds what looks like {name}"));
    }
    let at = find_decoded(&plain, |view| Some(view.origin(key_patterns::find(&view.text, is_new)?.0)))?;
    violation(at, "adds what looks like a key that was split or encoded".to_owned())
}

/// Applies `find` to every decoding of `plain` until one has a result.
fn find_decoded(plain: &DecodedText, find: impl Fn(&DecodedText) -> Option<usize>) -> Option<usize> {
    let joined = unescape::join_pieces(plain);
    find(plain)
        .or_else(|| find(&joined))
        .or_else(|| find(&unescape::reversed(&joined)))
        .or_else(|| find(&unescape::compose(&joined, unescape::from_hex(&joined.text))))
        .or_else(|| find_in_base64(&joined, &find, 2))
}

/// Decodes base64 at each of the four possible offsets, because the text before it is unknown.
fn find_in_base64(
    text: &DecodedText,
    find: &impl Fn(&DecodedText) -> Option<usize>,
    depth: usize,
) -> Option<usize> {
    if depth == 0 {
        return None;
    }
    (0..4).find_map(|skip| {
        let inner = unescape::compose(text, unescape::from_base64(&text.text, skip));
        find(&inner).or_else(|| find_in_base64(&inner, find, depth - 1))
    })
}
