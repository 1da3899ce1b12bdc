//! Classifies lines of AsciiDoc: the title, attribute entries and preprocessor directives.

use std::collections::HashMap;

/// Directives that the preprocessor reads everywhere, listings included, besides `include::`.
pub(super) const CONDITIONALS: [&str; 4] = ["ifdef::", "ifndef::", "ifeval::", "endif::"];
/// A line as Asciidoctor compares it. It doesn't recognize other blanks.
pub(super) fn stripped(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == '\0')
}

/// The index of the line with the title of the page. Empty lines, comments and attributes can be above it.
pub(super) fn title_index(all: &[(usize, &str)]) -> Option<usize> {
    let is_above = |line: &str| line.is_empty() || line.starts_with("//") || attribute_entry(line).is_some();
    let text = |line| str::trim_start_matches(stripped(line), '\u{feff}');
    let first = all.iter().position(|(_, line)| !is_above(text(line)))?;
    ["= ", "=\t", "# ", "#\t"]
        .iter()
        .any(|mark| all[first].1.trim_start_matches('\u{feff}').starts_with(mark))
        .then_some(first)
}

/// The index of the last line of each delimiter of a passthrough block.
pub(super) fn last_passthroughs<'t>(all: &[(usize, &'t str)]) -> HashMap<&'t str, usize> {
    let lines = all.iter().map(|(_, line)| stripped(line)).enumerate();
    lines.filter(|(_, line)| line.starts_with("++++")).map(|(index, line)| (line, index)).collect()
}

pub(super) fn is_preprocessed(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches('\\');
    line.starts_with("include::") || CONDITIONALS.iter().any(|start| line.starts_with(start))
}

/// `:name: value`. Characters that can't be part of a name are dropped from it.
pub(super) fn attribute_entry(content: &str) -> Option<(String, &str)> {
    let (name, value) = content.strip_prefix(':')?.split_once(':')?;
    let is_entry = name.starts_with(|c: char| c.is_alphanumeric() || c == '!' || c == '_')
        && (value.is_empty() || value.starts_with([' ', '\t']));
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '!')).collect();
    is_entry.then(|| (name.to_lowercase(), value.trim()))
}
