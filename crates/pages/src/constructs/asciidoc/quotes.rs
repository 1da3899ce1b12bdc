//! Finds quotes that can end an attribute early. Asciidoctor doesn't escape them.

use super::super::overlaps::NextMatch;
use super::lines::stripped;
use super::macros::all_macros;

/// How many lines a reference is searched over.
const MAX_REFERENCE_LINES: usize = 8;

/// Whether a quote can end the attribute that an address or its arguments become.
pub(super) fn has_uncertain_quote(content: &str) -> bool {
    if !content.contains('"') {
        return false;
    }
    let content = content.replace("&lt;", "<");
    let marks = ["://", "mailto:", "xref:", "image:", "icon:", "link:", "<<", "```"];
    let Some(start) = marks.iter().filter_map(|mark| content.find(mark)).min() else { return false };
    let address = &content[start..];
    let (address, arguments) = address.split_at(address.find('[').unwrap_or(address.len()));
    let is_uncertain = |(at, _): (usize, &str)| {
        let (before, after) = (arguments[..at].trim_end(), arguments[at + 1..].trim_start());
        !(before.ends_with(['[', ',', '=']) || after.is_empty() || after.starts_with([']', ',']))
    };
    if address.starts_with("```") {
        return true;
    }
    let word = address.split_ascii_whitespace().next().unwrap_or_default();
    let has_quote =
        if arguments.is_empty() && !address.starts_with("<<") { word } else { address }.contains('"');
    let first = arguments.split_inclusive(']').next();
    has_quote || first.is_some_and(|first| first.match_indices('"').any(is_uncertain))
}

/// Whether a quote can end the attribute that a role, an id or the target of a macro becomes.
pub(super) fn has_uncertain_attributes(content: &str) -> bool {
    if !content.contains('"') {
        return false;
    }
    let mut ends = NextMatch::default();
    let is_uncertain_list = |(at, _): (usize, &str)| {
        let end = ends.find(content, at, |rest| rest.find(']'));
        let is_of_mark = content
            .get(end + 1..)
            .is_some_and(|rest| rest.starts_with(['*', '_', '`', '#', '^', '~', '+', '"', '\'']));
        is_of_mark && !is_plainly_quoted(&content[at + 1..end])
    };
    content.match_indices('[').any(is_uncertain_list)
        || all_macros(content).is_none_or(|all| all.iter().any(|found| found.target.contains('"')))
}

/// Whether every quote begins or ends a value.
pub(super) fn is_plainly_quoted(list: &str) -> bool {
    let pieces: Vec<&str> = list.split('"').collect();
    pieces.len() % 2 == 1
        && pieces.iter().step_by(2).enumerate().all(|(index, outside)| {
            let outside = outside.trim();
            let (is_first, is_last) = (index == 0, index * 2 + 1 == pieces.len());
            !outside.contains('\'')
                && (is_first || outside.is_empty() && is_last || outside.starts_with(','))
                && (is_last || outside.is_empty() && is_first || outside.ends_with([',', '=']))
        })
}

/// A reference or a list of attributes that begins on the first line and continues below, with a quote or over very many
/// lines.
pub(super) fn unclosed_reference(lines: &[(usize, &str)]) -> Option<String> {
    let first = lines.first()?.1.replace("&lt;", "<");
    let is_unclosed = |mark, end| first.rfind(mark).is_some_and(|at| !first[at..].contains(end));
    let has_reference = is_unclosed("xref:", "[") || is_unclosed("<<", ">>") || is_unclosed("[", "]");
    let lines = lines.iter().map(|(_, line)| *line).take_while(|line| !stripped(line).is_empty());
    let lines: Vec<&str> = lines.take(if has_reference { MAX_REFERENCE_LINES } else { 0 }).collect();
    let is_uncertain = lines.len() == MAX_REFERENCE_LINES || lines.iter().any(|line| line.contains('"'));
    is_uncertain.then(|| lines.concat())
}

/// Whether the arguments of an address continue on the next line.
pub(super) fn has_unclosed_address(content: &str) -> bool {
    content.rfind('[').is_some_and(|open| {
        let word = content[..open].rsplit(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
        !content[open..].contains(']') && word.contains(':')
    })
}
