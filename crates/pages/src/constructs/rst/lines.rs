//! Classifies lines of reStructuredText: list markers, fields, adornments and table borders.

/// The content of a line without the markers of lists.
pub(super) fn without_list_markers(content: &str) -> &str {
    let mut rest = content;
    loop {
        let bullet =
            rest.strip_prefix(['-', '*', '+', '•', '‣', '⁃']).filter(|rest| rest.starts_with([' ', '\t']));
        let item = bullet.or_else(|| strip_enumerator(rest)).map(str::trim_start);
        match item.filter(|item| !item.is_empty()) {
            Some(item) => rest = item,
            None => return rest,
        }
    }
}

/// The text after `1.`, `a)`, `(iv)` or `#.`.
fn strip_enumerator(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('(').unwrap_or(rest);
    let end = inside.find(['.', ')'])?;
    let name = &inside[..end];
    let is_number = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit());
    let is_letter = name.len() == 1 && name.chars().all(|c| c.is_ascii_alphabetic() || c == '#');
    let is_roman = !name.is_empty() && name.len() < 6 && name.chars().all(|c| "ivxlcdmIVXLCDM".contains(c));
    let item = &inside[end + 1..];
    ((is_number || is_letter || is_roman) && item.starts_with([' ', '\t'])).then_some(item)
}

/// Where the name of a field ends: at the first colon that a blank follows.
pub(super) fn field_end(rest: &str) -> Option<usize> {
    let field = &rest[1..];
    let is_end =
        |end: &usize| field[end + 1..].is_empty() || field[end + 1..].starts_with(char::is_whitespace);
    let end = field.match_indices(':').map(|(end, _)| end).find(is_end)?;
    let name = &field[..end];
    // `:ref:`a`: text` is a sentence.
    let is_role = name.contains(":`") || name.starts_with([' ', ':']);
    (end > 0 && !is_role && !name.ends_with(' ')).then_some(end + 1)
}

/// The line above or below a title.
pub(super) fn is_adornment(line: &str) -> bool {
    let first = line.chars().next();
    line.len() > 1
        && first.is_some_and(|c| c.is_ascii_punctuation())
        && line.chars().all(|c| Some(c) == first)
}

/// A line above, in or below a simple table: `===  ===`.
pub(super) fn is_table_border(line: &str) -> bool {
    line.contains("= ") && line.chars().all(|c| matches!(c, '=' | ' '))
}
