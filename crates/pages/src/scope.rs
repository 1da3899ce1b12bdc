//! Which pages an instruction is about: all, one file, a folder, or those that a pattern names.

use globset::{GlobBuilder, GlobMatcher};

use crate::{path, route};

/// A choice of pages, as a person writes it. Case does not matter.
#[derive(Debug, Clone)]
pub struct Scope(Choice);

#[derive(Debug, Clone)]
enum Choice {
    All,
    File(String),
    /// Everything below a folder.
    Folder(String),
    /// A page without its extension, or a folder.
    Name(String),
    /// Looked for in the name of a file alone when it names no folder.
    Pattern(GlobMatcher, bool),
}

impl Scope {
    /// Reads `install.md`, `guides/`, `/guides/install`, `docs/**/*.mdx`. Nothing when the pattern makes no sense.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches("./").trim_start_matches('/').to_lowercase();
        if text.contains(['*', '?', '[', '{']) {
            let glob = GlobBuilder::new(&text).literal_separator(true).build().ok()?;
            return Some(Self(Choice::Pattern(glob.compile_matcher(), !text.contains('/'))));
        }
        Some(Self(match text.strip_suffix('/') {
            _ if text.is_empty() || text == "." => Choice::All,
            Some(folder) => Choice::Folder(folder.to_owned()),
            None if route::stem(&text).is_some() => Choice::File(text),
            None => Choice::Name(text),
        }))
    }

    /// The pages that are meant. A path that is right from the top, or from the docs folder `root`, means
    /// just that; else people left out the folders above, or the numbers that sort their names.
    pub fn choose<'a>(&self, pages: &'a [String], root: &str) -> Vec<&'a str> {
        let root = root.to_lowercase();
        let whole = |page: &str| self.is(page) || path::below(page, &root).is_some_and(|page| self.is(page));
        let ends =
            |page: &str| self.is(page) || page.match_indices('/').any(|(at, _)| self.is(&page[at + 1..]));
        let ways: [&dyn Fn(&str) -> bool; 3] = [&whole, &ends, &|page| ends(&route::without_numbers(page))];
        let found = ways.iter().map(|way| {
            let meant = |page: &&String| way(&page.to_lowercase());
            pages.iter().filter(meant).map(String::as_str).collect::<Vec<_>>()
        });
        found.into_iter().find(|chosen| !chosen.is_empty()).unwrap_or_default()
    }

    fn is(&self, page: &str) -> bool {
        match &self.0 {
            Choice::All => true,
            Choice::File(file) => page == file,
            Choice::Folder(folder) => path::below(page, folder).is_some(),
            Choice::Name(name) => route::stem(page) == Some(name) || path::below(page, name).is_some(),
            Choice::Pattern(glob, true) => glob.is_match(path::name(page)),
            Choice::Pattern(glob, false) => glob.is_match(page),
        }
    }
}
