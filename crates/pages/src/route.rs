//! Which files are pages, and at which path of the site a page is served.

use crate::files::Files;
use crate::kind::FileKind;
use crate::path;

/// File names, without extension, that stand for their folder.
const INDEX_NAMES: &[&str] = &["index", "_index", "readme"];

/// The extensions of pages, with their dots; the usual ones first.
pub(crate) fn extensions() -> impl Iterator<Item = &'static str> {
    FileKind::endings(FileKind::is_markdown)
}

/// Whether a file is a page that people wrote: Markdown, not in a hidden folder and not a dependency's.
pub fn is_page(file: &str) -> bool {
    let hidden =
        |folder: &str| folder.starts_with('.') || folder == "node_modules" || folder == "bower_components";
    stem(path::name(file)).is_some() && !path::parent(file).split('/').any(hidden)
}

/// Every page, in the order of their paths' bytes.
pub fn pages(files: &dyn Files) -> Vec<String> {
    let mut paths = files.list();
    paths.retain(|file| is_page(file));
    paths
}

/// The path of the site that a page is served at: `docs/guide/index.md` under `docs` is `/guide`.
pub fn route(file: &str, root: &str) -> Option<String> {
    let page = place(path::below(file, root)?)?;
    Some(format!("/{page}"))
}

/// The page served at a path of the site, if there is one; the other way round of [`route`].
pub fn page_at(files: &dyn Files, site_path: &str) -> Option<String> {
    let wanted = format!("/{}", site_path.trim_matches('/'));
    let root = files.root();
    pages(files).into_iter().find(|file| route(file, root).as_deref() == Some(wanted.as_str()))
}

/// A page's path without extension; an index page is its folder.
pub(crate) fn place(file: &str) -> Option<&str> {
    let stem = stem(file)?;
    Some(if is_index(stem) { path::parent(stem) } else { stem })
}

/// `file` without the extension of a page, or nothing when it has none.
pub(crate) fn stem(file: &str) -> Option<&str> {
    let extension = extensions().find(|extension| {
        let cut = file.len().checked_sub(extension.len());
        cut.and_then(|cut| file.get(cut..)).is_some_and(|end| end.eq_ignore_ascii_case(extension))
    })?;
    Some(&file[..file.len() - extension.len()]).filter(|stem| !stem.is_empty() && !stem.ends_with('/'))
}

pub(crate) fn is_index(stem: &str) -> bool {
    INDEX_NAMES.iter().any(|name| name.eq_ignore_ascii_case(path::name(stem)))
}

/// `01-intro` is served as `intro` by several generators.
pub(crate) fn without_numbers(place: &str) -> String {
    let bare = |part: &str| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(['-', '_', '.']) {
            Some(name) if rest.len() < part.len() && is_word(name) => name.trim_start().to_owned(),
            _ => part.to_owned(),
        }
    };
    place.split('/').map(bare).collect::<Vec<_>>().join("/")
}

/// A number is dropped before a word alone: `1.4`, `1.x` and `2024-01` are names of their own.
fn is_word(name: &str) -> bool {
    let name = name.trim_start();
    name != "x" && name.starts_with(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_front_are_dropped() {
        assert_eq!(without_numbers("01-guide/2_install"), "guide/install");
        assert_eq!(without_numbers("2024/v2"), "2024/v2");
        assert_eq!(without_numbers("10-"), "10-");
        assert_eq!(without_numbers("1.4/1.x/2024-01-02"), "1.4/1.x/2024-01-02");
    }
}
