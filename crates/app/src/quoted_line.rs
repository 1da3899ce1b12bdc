//! Makes one line of a quotation from text that a visitor chose.

use net::sanitize;

/// The limit of a path or a referrer in a quotation.
const MAX_CHARS: usize = 200;

/// Removes invisible characters, which can hide text, and line breaks.
pub fn quoted_line(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    sanitize(&visible, MAX_CHARS)
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
