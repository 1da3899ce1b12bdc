//! Parses the globs of files that a project allows its jobs to change.

use agent::Allow;

/// Parses a glob of paths that a project's jobs may change although the guard refuses them by default. Paths
/// start at the repository's root, so a glob that starts elsewhere would never match.
pub fn parse_allow_path(text: &str) -> Result<String, String> {
    let first = text.split('/').next().unwrap_or_default();
    if matches!(first, "" | "." | "..") || text.contains(char::is_control) {
        return Err(format!(
            "`{text}` matches no path: start at the repository's root, such as .github/workflows/*.yml"
        ));
    }
    match Allow::parse([text]) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{text}` is not a glob: {}", error.kind())),
    }
}
