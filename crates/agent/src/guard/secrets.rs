//! Finds secrets in what was added: those whose value is known, and those that look like one.
//!
//! A known value is looked for in every spelling of it that is made here beforehand; an unknown one in the
//! text as it stands, put back together, decoded once and twice, and backwards. What is found is never told.
//! What stood in a page may move to another; what stood elsewhere was not meant for readers, and stays where it is.

mod known;
mod shapes;

use super::added::{Added, AddedText, Place, Text};
use super::unescape::{self, View};
use super::{Finding, Rule};

use known::Known;

pub(super) fn judge<'a>(added: &Added<'a>, secrets: &[&str], found: &mut Vec<Finding<'a>>) {
    let known = Known::new(secrets);
    for (text, new) in added.newly_shown() {
        let before = found.len();
        found.extend(judge_text(added, text, &new, &known));
        if text.place == Place::Name && found.len() > before {
            added.hush(text);
        }
    }
}

/// At most one finding of each kind a text: the first is enough to stop it.
fn judge_text<'a>(added: &Added<'a>, text: &Text<'a>, new: &AddedText, known: &Known) -> Vec<Finding<'a>> {
    let plain = unescape::unescape(&new.text);
    let finding = |offset: usize, what: String| {
        let line = text.shown_line(new.line(offset));
        Finding { rule: Rule::Secret, place: text.place, line, what, fatal: true }
    };
    if let Some(at) = known.find(&new.text).or_else(|| Some(plain.origin(known.find(&plain.text)?))) {
        return vec![finding(at, "holds a secret of this installation, or a part of one".to_owned())];
    }
    let is_new = |value: &str| !added.was_shown(text, value);
    if let Some((at, name)) = shapes::find_plain(&new.text, is_new) {
        return vec![finding(at, format!("adds what looks like {name}"))];
    }
    let hidden = hidden_views(&plain, |view| Some(view.origin(shapes::find(&view.text, is_new)?.0)));
    match hidden {
        Some(at) => vec![finding(at, "adds what looks like a key that was split or encoded".to_owned())],
        None => Vec::new(),
    }
}

/// Shows every reading of `plain` to `look` until it finds something.
fn hidden_views(plain: &View, look: impl Fn(&View) -> Option<usize>) -> Option<usize> {
    let solid = unescape::solid(plain);
    look(plain)
        .or_else(|| look(&solid))
        .or_else(|| look(&unescape::reversed(&solid)))
        .or_else(|| look(&unescape::through(&solid, unescape::from_hex(&solid.text))))
        .or_else(|| base64_views(&solid, &look, 2))
}

/// A run of base64 may begin at any of four places; whatever stands before it only moves it.
fn base64_views(view: &View, look: &impl Fn(&View) -> Option<usize>, depth: usize) -> Option<usize> {
    if depth == 0 {
        return None;
    }
    (0..4).find_map(|skip| {
        let inner = unescape::through(view, unescape::from_base64(&view.text, skip));
        look(&inner).or_else(|| base64_views(&inner, look, depth - 1))
    })
}
