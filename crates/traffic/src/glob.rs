//! Matches paths of page views against a glob.

use globset::{GlobBuilder, GlobMatcher};

/// Longer than any stored path.
const MAX_CHARS: usize = 2_000;

/// A case-sensitive glob for whole paths: `*` matches within a folder, `**` across folders, `{a,b}` either
/// one.
#[derive(Debug, Clone)]
pub struct PathGlob(GlobMatcher);

/// Why a glob is invalid, as a sentence for its sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGlob {
    #[error("path must be a glob that begins with `/`, such as /junk/**")]
    NoSlash,
    #[error("path must be at most 2,000 characters long")]
    TooLong,
    #[error("path is not a valid glob: {0}")]
    Malformed(String),
}

impl PathGlob {
    pub fn parse(text: &str) -> Result<Self, BadGlob> {
        if !text.starts_with('/') {
            return Err(BadGlob::NoSlash);
        }
        if text.chars().take(MAX_CHARS + 1).count() > MAX_CHARS {
            return Err(BadGlob::TooLong);
        }
        let glob = GlobBuilder::new(text).literal_separator(true).empty_alternates(true).build();
        let glob = glob.map_err(|error| BadGlob::Malformed(error.kind().to_string()))?;
        Ok(Self(glob.compile_matcher()))
    }

    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }

    pub fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_paths() {
        #[track_caller]
        fn check(glob: &str, path: &str, expected: bool) {
            assert_eq!(PathGlob::parse(glob).unwrap().is_match(path), expected, "{glob} {path}");
        }
        check("/junk", "/junk", true);
        check("/junk", "/junk/a", false);
        check("/junk", "/Junk", false);
        check("/junk/*", "/junk/a", true);
        check("/junk/*", "/junk/a/b", false);
        check("/junk/**", "/junk/a/b", true);
        check("/junk{,/**}", "/junk", true);
        check("/**", "/", true);
        check("/**/*.php", "/a/b/x.php", true);
        check("/*", "(other pages)", false);
        check("/**", "", false);
    }

    #[test]
    fn invalid_globs_are_refused() {
        assert_eq!(PathGlob::parse("").unwrap_err(), BadGlob::NoSlash);
        assert_eq!(PathGlob::parse("junk/**").unwrap_err(), BadGlob::NoSlash);
        assert_eq!(PathGlob::parse(&format!("/{}", "a".repeat(2_000))).unwrap_err(), BadGlob::TooLong);
        assert!(matches!(PathGlob::parse("/[a"), Err(BadGlob::Malformed(_))));
        assert!(matches!(PathGlob::parse("/{a"), Err(BadGlob::Malformed(_))));
    }
}
