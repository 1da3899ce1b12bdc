//! Parses names of organizations, projects and keys.

const MAX_CHARS: usize = 100;

/// Trims a name and checks that it is one short line. `what` is the thing that has the name.
pub fn parse_name(what: &str, text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() {
        return Err(format!("{what} needs a name"));
    }
    if name.chars().count() > MAX_CHARS || name.chars().any(char::is_control) {
        return Err(format!("the name of {what} must be one line of at most {MAX_CHARS} characters"));
    }
    if name.chars().any(is_invisible) {
        return Err(format!("the name of {what} must not have characters in it that nobody can see"));
    }
    Ok(name.to_owned())
}

/// Characters that make two names look the same, or reverse a name. Joiners are allowed: scripts and emoji need them.
pub fn is_invisible(ch: char) -> bool {
    let spaces =
        matches!(ch, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
    let directions =
        matches!(ch, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let blanks = matches!(ch, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}');
    spaces || blanks || directions || matches!(ch, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_are_seen_whole() {
        for name in ["Docs", " Handbuch für Köche ", "می‌خواهم", "👩‍💻 team", "日本語"] {
            assert_eq!(parse_name("a project", name).unwrap(), name.trim());
        }
        for name in [
            "a\u{200b}cme",
            "\u{202e}emca",
            "acme\u{feff}",
            "acme\u{e0041}",
            "so\u{ad}ft",
            "\u{3164}",
            "\u{2800}",
        ] {
            assert!(parse_name("a project", name).unwrap_err().contains("nobody can see"), "{name:?}");
        }
        assert!(parse_name("a project", "two\nlines").is_err());
    }
}
