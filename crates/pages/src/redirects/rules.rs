//! Reads the rules of a file with redirects, including those that aren't plain redirects.

use super::existing::Redirect;
use super::formats::{json_file, lines_file, mkdocs, netlify};
use crate::kind::FileKind;

/// A rule of a file with redirects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    pub redirect: Redirect,
    pub effect: Effect,
    /// Whether the rule only has its two addresses and the status of a redirect.
    pub is_plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// All readers get to the target.
    Redirect,
    /// Only some readers get to the target: those of a language or a country, for example.
    Conditional,
    /// Readers stay at the address, and see another page or an error.
    Rewrite,
}

/// The rules of a file. `None` if the file doesn't have the shape of its format. Other kinds of files have no rules.
pub fn rules(kind: FileKind, text: &str) -> Option<Vec<Rule>> {
    match kind {
        FileKind::RedirectsFile => Some(lines_file::rules(text)),
        FileKind::Netlify => netlify::rules(text),
        FileKind::Vercel | FileKind::Mintlify => json_file::rules(text),
        FileKind::MkDocs => Some(mkdocs::rules(text)),
        _ => Some(Vec::new()),
    }
}

/// The redirects for all readers.
pub(crate) fn redirects(rules: Vec<Rule>) -> Vec<Redirect> {
    let is_redirect = |rule: &Rule| rule.effect == Effect::Redirect;
    rules.into_iter().filter(is_redirect).map(|rule| rule.redirect).collect()
}

/// The effect of a status. Without one, a rule is a redirect.
pub(crate) fn effect_of_status(status: Option<u64>, is_conditional: bool) -> Effect {
    match status {
        Some(status) if status / 100 != 3 => Effect::Rewrite,
        _ if is_conditional => Effect::Conditional,
        _ => Effect::Redirect,
    }
}

pub(crate) fn is_redirect_status(status: u64) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
