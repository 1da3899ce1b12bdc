//! Names that people give to things.

const MAX_CHARS: usize = 100;

/// A name as it is kept: trimmed, one line, not too long. `what` is whose name it is.
pub fn parse_name(what: &str, text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() {
        return Err(format!("{what} needs a name"));
    }
    if name.chars().count() > MAX_CHARS || name.chars().any(char::is_control) {
        return Err(format!("the name of {what} must be one line of at most {MAX_CHARS} characters"));
    }
    Ok(name.to_owned())
}
