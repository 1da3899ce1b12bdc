//! Files that only follow pages which the change moves: a path in quotes becomes the path of the page's new place.

use super::super::Change;
use super::{redirects, site};
use pages::{FileKind, FilesError, MAX_TEXT_BYTES};

/// Scripts with settings of a generator, which list pages among other things.
pub(super) fn is_settings(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_script = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"].iter().any(|end| name.ends_with(end));
    let is_vitepress = folder.split('/').any(|part| part == ".vitepress");
    is_script && (is_vitepress && name.starts_with("config") || name.contains(".config."))
}

/// The same of a file of the base, by its path.
pub(super) fn follows_in(change: &Change<'_>, path: &str, after: &[u8]) -> bool {
    let before = change.base.read(path, MAX_TEXT_BYTES).ok();
    let before = before.and_then(|before| String::from_utf8(before).ok());
    before.zip(std::str::from_utf8(after).ok()).is_some_and(|(before, after)| follows(change, &before, after))
}

/// Whether nothing but the paths of moved pages differs.
pub(super) fn follows(change: &Change<'_>, before: &str, after: &str) -> bool {
    let parts =
        |text: &'_ str| text.split(['\'', '"', '`', ' ', '\n']).map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (parts(before), parts(after));
    let pages = change.edits.iter().filter(|(path, _)| FileKind::of(path).is_page());
    let (added, gone): (Vec<_>, Vec<_>) = pages.partition(|(_, bytes)| bytes.is_some());
    let is_new = |path: &str| matches!(change.base.read(path, 0), Err(FilesError::NotFound(_)));
    let was = |part: &str| gone.iter().any(|(path, _)| site::is_at(path, part));
    let is = |part: &str| added.iter().any(|(path, _)| is_new(path) && site::is_at(path, part));
    let mut pairs = old.iter().zip(&new).filter(|(old, new)| old != new);
    old.len() == new.len() && pairs.all(|(old, new)| redirects::is_path(new) && was(old) && is(new))
}
