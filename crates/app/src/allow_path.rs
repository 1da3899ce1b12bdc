//! Reads the globs of files that a project allows its jobs to change.

use agent::Allow;

/// A glob of paths that a project's jobs may change although they are refused by default. Paths are
/// the repository's, so one that begins elsewhere would never fit.
pub fn parse_allow_path(text: &str) -> Result<String, String> {
    let starts = text.split('/').next().unwrap_or_default();
    if matches!(starts, "" | "." | "..") || text.contains(char::is_control) {
        return Err(format!(
            "`{text}` fits no path: begin at the repository's root, such as .github/workflows/*.yml"
        ));
    }
    match Allow::parse([text]) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{text}` is no glob: {}", error.kind())),
    }
}
