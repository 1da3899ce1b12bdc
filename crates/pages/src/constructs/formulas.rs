//! Distinguishes formulas from plain dollar signs, and plain formulas from those that load or link something.

use crate::WordList;

/// Commands in formulas that load, link, hide or define something.
const ACTIVE_COMMANDS: WordList = WordList(
    "href url bbox style class cssid mmltoken require includegraphics html htmlclass htmlid htmlstyle htmldata def gdef \
     edef let newcommand renewcommand providecommand newenvironment data unicode color textcolor phantom hphantom vphantom",
);

/// Whether a formula loads, links, hides or defines something.
pub(super) fn has_active_command(formula: &str) -> bool {
    formula.split('\\').skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        ACTIVE_COMMANDS.contains(&rest[..end].to_ascii_lowercase())
    })
}

/// Whether the text between dollar signs is a formula. Dollar signs can also be prices.
pub(super) fn looks_like_formula(formula: &str) -> bool {
    !formula.contains('<')
        && !formula.contains("](")
        && !formula.starts_with(' ')
        && !formula.ends_with(' ')
        && formula.contains(['\\', '^', '_', '='])
        && !formula.contains('`')
}

/// Whether all braces are those of formulas, and no function is called in them.
pub(super) fn has_only_formula_braces(formula: &str) -> bool {
    let is_argument = |at: usize| {
        let before = formula[..at].trim_end();
        let word = before.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '*');
        before.ends_with(['^', '_', '}', '{', ']']) || word.ends_with('\\')
    };
    let is_call = formula.match_indices('(').any(|(at, _)| {
        let name = formula[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric());
        formula[name.len()..at].len() > 1 && !name.ends_with('\\')
    });
    formula.match_indices('{').all(|(at, _)| is_argument(at))
        && !is_call
        && !formula.contains("](")
        && !formula.contains(['"', '\'', '`', ';', '$'])
}
