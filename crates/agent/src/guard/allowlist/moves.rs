//! Recognizes files that only update the paths of pages that the change moves.

use pages::{FileKind, FilesError, MAX_TEXT_BYTES};

use super::{redirects, site};
use crate::guard::change::Change;

/// Whether a file is a script with settings of a generator, which can also list pages.
pub(super) fn is_settings(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_script = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"].iter().any(|end| name.ends_with(end));
    let is_vitepress = folder.split('/').any(|part| part == ".vitepress");
    is_script && (is_vitepress && name.starts_with("config") || name.contains(".config."))
}

/// Whether the file at `path` differs from the base only in the paths of moved pages.
pub(super) fn only_updates_file(change: &Change<'_>, path: &str, after: &[u8]) -> bool {
    let before = change.base.read(path, MAX_TEXT_BYTES).ok();
    let before = before.and_then(|before| String::from_utf8(before).ok());
    before
        .zip(std::str::from_utf8(after).ok())
        .is_some_and(|(before, after)| only_updates_paths(change, &before, after))
}

/// Whether two texts differ only in the paths of moved pages.
pub(super) fn only_updates_paths(change: &Change<'_>, before: &str, after: &str) -> bool {
    let parts =
        |text: &'_ str| text.split(['\'', '"', '`', ' ', '\n']).map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (parts(before), parts(after));
    let pages = change.edits.iter().filter(|(path, _)| FileKind::of(path).is_page());
    let (added, deleted): (Vec<_>, Vec<_>) = pages.partition(|(_, bytes)| bytes.is_some());
    let is_new = |path: &str| matches!(change.base.read(path, 0), Err(FilesError::NotFound(_)));
    let was_page = |part: &str| deleted.iter().any(|(path, _)| site::is_at(path, part));
    let is_page = |part: &str| added.iter().any(|(path, _)| is_new(path) && site::is_at(path, part));
    let mut pairs = old.iter().zip(&new).filter(|(old, new)| old != new);
    old.len() == new.len() && pairs.all(|(old, new)| redirects::is_path(new) && was_page(old) && is_page(new))
}
