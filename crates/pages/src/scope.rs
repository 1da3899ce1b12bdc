//! Which pages an instruction is about: all, one file, a folder, or those that a pattern names.

use globset::{GlobBuilder, GlobMatcher};

use crate::path;

/// A choice of pages.
#[derive(Debug, Clone, Default)]
pub enum Scope {
    #[default]
    All,
    /// This file, or every file of that name when no folder is given.
    File(String),
    /// Everything below a folder.
    Folder(String),
    Pattern(GlobMatcher),
}

impl Scope {
    /// Reads what a person writes: `install.md`, `guides/`, `docs/**/*.mdx`. Nothing when the pattern makes no sense.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches("./").trim_start_matches('/');
        if text.is_empty() || text == "." {
            return Some(Self::All);
        }
        if text.contains(['*', '?', '[', '{']) {
            let glob = GlobBuilder::new(text).literal_separator(true).build().ok()?;
            return Some(Self::Pattern(glob.compile_matcher()));
        }
        let is_file = path::name(text).rfind('.').is_some_and(|dot| dot > 0);
        Some(if is_file && !text.ends_with('/') {
            Self::File(text.to_owned())
        } else {
            Self::Folder(text.trim_end_matches('/').to_owned())
        })
    }

    /// Whether `file` is meant. People leave out the folders above, so any end of the path will do.
    pub fn contains(&self, file: &str) -> bool {
        let ends = || std::iter::once(file).chain(file.match_indices('/').map(|(at, _)| &file[at + 1..]));
        match self {
            Self::All => true,
            Self::File(name) => ends().any(|end| end == name),
            Self::Folder(name) => ends().any(|end| path::below(end, name).is_some()),
            Self::Pattern(glob) => ends().any(|end| glob.is_match(end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes() {
        #[track_caller]
        fn check(scope: &str, file: &str, expected: bool) {
            assert_eq!(Scope::parse(scope).unwrap().contains(file), expected, "{scope} {file}");
        }
        check("", "a.md", true);
        check("install.md", "docs/install.md", true);
        check("install.md", "docs/reinstall.md", false);
        check("docs/install.md", "docs/install.md", true);
        check("./docs/install.md", "docs/install.md", true);
        check("guides/", "docs/guides/a.md", true);
        check("guides", "docs/my-guides/a.md", false);
        check("*.mdx", "docs/a.mdx", true);
        check("docs/*.md", "docs/a.md", true);
        check("docs/*.md", "docs/b/a.md", false);
        check("docs/**/*.md", "docs/b/a.md", true);
        check("guides/{a,b}.md", "docs/guides/b.md", true);
        assert!(Scope::parse("docs/[").is_none());
    }
}
