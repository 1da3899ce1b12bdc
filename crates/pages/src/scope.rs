//! Selects the pages that an instruction is about: all pages, one file, a folder, or the matches of a pattern.

use globset::{GlobBuilder, GlobMatcher};

use crate::{path, route};

/// A selection of pages, as a person writes it. Case does not matter.
#[derive(Debug, Clone)]
pub struct Scope(Selection);

#[derive(Debug, Clone)]
enum Selection {
    All,
    File(String),
    /// Everything below a folder.
    Folder(String),
    /// A page without its extension, or a folder.
    Name(String),
    /// A pattern without a slash is matched against the file name only.
    Pattern {
        glob: GlobMatcher,
        is_name_only: bool,
    },
}

impl Scope {
    /// Parses `install.md`, `guides/`, `/guides/install`, `docs/**/*.mdx`. `None` when the pattern is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches("./").trim_start_matches('/').to_lowercase();
        if text.contains(['*', '?', '[', '{']) {
            let glob = GlobBuilder::new(&text).literal_separator(true).build().ok()?;
            let is_name_only = !text.contains('/');
            return Some(Self(Selection::Pattern { glob: glob.compile_matcher(), is_name_only }));
        }
        Some(Self(match text.strip_suffix('/') {
            _ if text.is_empty() || text == "." => Selection::All,
            Some(folder) => Selection::Folder(folder.to_owned()),
            None if route::stem(&text).is_some() => Selection::File(text),
            None => Selection::Name(text),
        }))
    }

    /// The selected pages. A path that matches from the top, or from the docs folder `root`, selects only that. Otherwise
    /// the folders above it can be missing, or the numbers that sort the names.
    pub fn choose<'a>(&self, pages: &'a [String], root: &str) -> Vec<&'a str> {
        let root = root.to_lowercase();
        let whole = |page: &str| {
            self.matches(page) || path::below(page, &root).is_some_and(|page| self.matches(page))
        };
        let ends = |page: &str| {
            self.matches(page) || page.match_indices('/').any(|(at, _)| self.matches(&page[at + 1..]))
        };
        let matchers: [&dyn Fn(&str) -> bool; 3] =
            [&whole, &ends, &|page| ends(&route::without_numbers(page))];
        let found = matchers.iter().map(|matches| {
            let is_selected = |page: &&String| matches(&page.to_lowercase());
            pages.iter().filter(is_selected).map(String::as_str).collect::<Vec<_>>()
        });
        found.into_iter().find(|chosen| !chosen.is_empty()).unwrap_or_default()
    }

    fn matches(&self, page: &str) -> bool {
        match &self.0 {
            Selection::All => true,
            Selection::File(file) => page == file,
            Selection::Folder(folder) => path::below(page, folder).is_some(),
            Selection::Name(name) => route::stem(page) == Some(name) || path::below(page, name).is_some(),
            Selection::Pattern { glob, is_name_only: true } => glob.is_match(path::name(page)),
            Selection::Pattern { glob, is_name_only: false } => glob.is_match(page),
        }
    }
}
