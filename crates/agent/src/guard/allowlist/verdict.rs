//! Defines the verdict on an added construct, and collects the refusals and notes on one text.

use pages::Construct;

use crate::guard::additions::Text;
use crate::guard::refusal::{Rule, Violation};

/// Further refusals of one text are not reported.
const MAX_REFUSALS: usize = 20;

/// The verdict on an added construct. A refusal becomes a fatal [`Violation`], a note one that is not fatal.
pub(super) enum Verdict {
    Passes,
    /// A note for the reviewer.
    Noted(Rule, &'static str),
    /// A refusal of the change.
    Refused(Rule, String),
}

pub(super) fn refuse_remote(what: impl Into<String>) -> Verdict {
    Verdict::Refused(Rule::Remote, what.into())
}

/// The first refusal, or else the last note.
pub(super) fn strictest(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut noted = Verdict::Passes;
    for verdict in verdicts {
        match verdict {
            Verdict::Passes => {}
            Verdict::Noted(..) => noted = verdict,
            Verdict::Refused(..) => return verdict,
        }
    }
    noted
}

/// A name that a sentence can contain: shortened, and without special characters.
pub(super) fn short_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(30).collect()
}

/// At most [`MAX_REFUSALS`] refusals of one text, and each note on it once.
#[derive(Default)]
pub(super) struct TextViolations<'a>(pub(super) Vec<Violation<'a>>);

impl<'a> TextViolations<'a> {
    pub(super) fn add(&mut self, text: &Text<'a>, construct: &Construct, verdict: Verdict) {
        let (rule, what, fatal) = match verdict {
            Verdict::Passes => return,
            Verdict::Noted(rule, what) => (rule, what.to_owned(), false),
            Verdict::Refused(rule, what) => (rule, what, true),
        };
        let is_surplus = match fatal {
            true => self.0.iter().filter(|violation| violation.fatal).count() >= MAX_REFUSALS,
            false => self.0.iter().any(|violation| violation.what == what),
        };
        if !is_surplus {
            let line = text.reported_line(text.line_at(construct.span.start));
            self.0.push(Violation { rule, location: text.location, line, what, fatal });
        }
    }
}
