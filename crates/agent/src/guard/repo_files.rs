//! Resolves addresses to paths of the repository, and classifies paths.

use pages::{FileKind, WordList};

use super::url;

/// Usual names of folders with docs.
const DOCS_FOLDERS: WordList = WordList("docs doc documentation content site website book guide guides");

/// Whether the guard reads the constructs of files of this kind.
pub(super) fn is_judged(kind: FileKind) -> bool {
    kind.is_page() || kind.is_data() || matches!(kind, FileKind::Html | FileKind::Text)
}

/// Resolves an address in a page to a path of the repository. A path that leaves the repository begins with `../`.
pub(super) fn resolve(page: &str, address: &str) -> String {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    let path = url::decoded(path).trim().replace('\\', "/");
    let folder = if path.starts_with('/') { "" } else { folder_of(page) };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The docs folder that a page belongs to: the innermost folder with the settings of Sphinx, or else the outermost with
/// a usual name.
pub(super) fn docs_folder(page: &str, has_settings: impl Fn(&str) -> bool) -> Option<&str> {
    let folder = folder_of(page);
    let above = || {
        let ends = folder.match_indices('/').map(|(at, _)| at).chain(std::iter::once(folder.len()));
        ends.map(|end| &folder[..end])
    };
    let has_usual_name =
        |folder: &&str| folder.rsplit('/').next().is_some_and(|name| DOCS_FOLDERS.contains(name));
    let with_settings = std::iter::once("").chain(above()).filter(|folder| has_settings(folder)).last();
    with_settings.or_else(|| above().find(has_usual_name))
}

pub(super) fn is_inside(file: &str, folder: &str) -> bool {
    let is_out = file == ".." || file.starts_with("../");
    !is_out && (folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

pub(super) fn is_hidden(file: &str) -> bool {
    file.split('/').any(|part| part.starts_with('.'))
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_resolve_to_paths_of_the_repository() {
        for (address, expected) in [
            ("../.env", ".env"),
            ("./b.md#part", "docs/b.md"),
            ("%2e%2e/x?y", "x"),
            ("..\\x", "x"),
            ("/x.png", "x.png"),
            ("../../x", "../x"),
        ] {
            assert_eq!(resolve("docs/a.md", address), expected, "{address}");
        }
    }
}
