//! Decides which files are pages, and at which path of the site a page is served.

use crate::kind::FileKind;
use crate::path;

/// File names, without extension, of index pages. An index page is served at the path of its folder.
const INDEX_NAMES: &[&str] = &["index", "_index", "readme"];

/// The extensions of pages, with their dots. The common ones are first.
pub(crate) fn extensions() -> impl Iterator<Item = &'static str> {
    FileKind::endings(FileKind::is_markdown)
}

/// Whether a file is a page: Markdown, and not in a hidden folder or a dependency.
pub fn is_page(file: &str) -> bool {
    let hidden =
        |folder: &str| folder.starts_with('.') || folder == "node_modules" || folder == "bower_components";
    stem(path::name(file)).is_some() && !path::parent(file).split('/').any(hidden)
}

/// The site path of a page: `docs/guide/index.md` under `docs` is `/guide`.
pub fn route(file: &str, root: &str) -> Option<String> {
    let page = page_path(path::below(file, root)?)?;
    Some(format!("/{page}"))
}

/// The path of a page without its extension. For an index page, the path of its folder.
pub(crate) fn page_path(file: &str) -> Option<&str> {
    let stem = stem(file)?;
    Some(if is_index(stem) { path::parent(stem) } else { stem })
}

/// `file` without the extension of a page. `None` when it has none.
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

/// A path without the numbers in front of its names. Several generators serve `01-intro` as `intro`.
pub(crate) fn without_numbers(path: &str) -> String {
    let bare = |part: &str| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(['-', '_', '.']) {
            Some(name) if rest.len() < part.len() && is_word(name) => name.trim_start().to_owned(),
            _ => part.to_owned(),
        }
    };
    path.split('/').map(bare).collect::<Vec<_>>().join("/")
}

/// A number is dropped only before a word: `1.4`, `1.x` and `2024-01` are names of their own.
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
