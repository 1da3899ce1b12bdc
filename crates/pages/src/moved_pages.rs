//! Decides whether a file with the right name is the target of a broken link.
//!
//! The name alone proves little: every part of a product has its `errors.md`. The folders must match too, in one of these
//! ways:
//!
//! - The folder is the same. Only the extension, the case or the number in front differs.
//! - All named folders are right. Only the number of `../` is wrong.
//! - The page moved into one more folder, and the other folders stayed. This applies to pages only, not to images.
//!
//! A link is never repaired to lead into another version or language.

use crate::WordList;
use crate::path;
use crate::route;
use crate::site::Site;

/// Names of versions without a number.
pub(crate) const VERSIONS: WordList =
    WordList("next latest stable current canary nightly unreleased legacy versioned_docs");
/// Placeholder names, in examples of how to write a link.
const PLACEHOLDERS: WordList = WordList("url link file filename page path example here name foo bar baz");

/// Whether `target`, a file with the name in `old`, is the only plausible target of a link to `old` in the page `from`.
pub(crate) fn is_moved_target(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let is_page = route::is_page(target);
    let target_folders = folders(parent_of(target, is_page));
    let linked_folders = folders(parent_of(old, is_page));
    if is_ambiguous(old) || is_right_in_docs(site, from, old, target) || leaves_site(site, from, old, target)
    {
        return false;
    }
    candidate_folders(site, from, old, is_page).into_iter().any(|old_folder| {
        let old_folders = folders(&old_folder);
        let from_folders = folders(path::parent(from));
        let differs_in_steps_up =
            !old.starts_with('/') && differ_only_in_steps_up(&from_folders, &linked_folders, &target_folders);
        let moved_one_deeper = is_page
            && old_folders.len() + 1 == target_folders.len()
            && is_subsequence(&old_folders, &target_folders);
        same_edition(&old_folder, parent_of(target, is_page))
            && (old_folders == target_folders || differs_in_steps_up || moved_one_deeper)
    })
}

/// Whether a link to `old` leads into the folder of `target`, whatever the name of the page.
pub(crate) fn is_in_linked_folder(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let target_folders = folders(parent_of(target, true));
    let mut candidates = candidate_folders(site, from, old, true).into_iter();
    !is_ambiguous(old) && candidates.any(|folder| folders(&folder) == target_folders)
}

/// The last name of a path, without the extension of a page. For an index page, the name of its folder.
pub(crate) fn last_name(wanted: &str) -> &str {
    path::name(page_path(wanted)).trim_matches('.')
}

/// Whether a link perhaps means no page here. A single word is often an example or the name of code. An address with
/// `.html` belongs to a built site, which can have other pages.
fn is_ambiguous(old: &str) -> bool {
    let name = last_name(old).to_lowercase();
    !old.contains(['/', '.']) || PLACEHOLDERS.contains(&name) || old.ends_with(".html")
}

/// Whether a link is right if the page is shown in the docs. A page outside of the docs, such as a changelog, can be
/// shown there, and its links are then relative to the docs.
fn is_right_in_docs(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let is_outside = |base: &&String| path::below(from, base).is_none();
    let mut paths = site.bases.iter().filter(is_outside).filter_map(|base| path::normalize(base, old));
    !old.starts_with('/') && paths.any(|path| page_path(&path) == page_path(target))
}

/// Whether an absolute link would lead out of the docs folder. `/` of a site doesn't lead to files outside of it.
fn leaves_site(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let is_served =
        |file: &str| site.bases.iter().any(|base| !base.is_empty() && path::below(file, base).is_some());
    old.starts_with('/') && is_served(from) && !is_served(target)
}

/// Like [`route::page_path`], also for paths without an extension and with `.html`.
fn page_path(wanted: &str) -> &str {
    let wanted = wanted.trim_end_matches('/');
    let bare = route::stem(wanted).or_else(|| wanted.strip_suffix(".html")).unwrap_or(wanted);
    if route::is_index(bare) { path::parent(bare) } else { bare }
}

fn parent_of(wanted: &str, is_page: bool) -> &str {
    path::parent(if is_page { page_path(wanted) } else { wanted })
}

/// The folders that the link can lead into: one for a relative link, and one for each meaning of `/`.
fn candidate_folders(site: &Site, from: &str, old: &str, is_page: bool) -> Vec<String> {
    let paths = match old.starts_with('/') {
        true => site.candidate_paths(from, old),
        false => vec![path::normalize(path::parent(from), old)],
    };
    paths.into_iter().flatten().map(|path| parent_of(&path, is_page).to_owned()).collect()
}

/// The names in a path for comparison: case-folded, without numbers in front, and without steps up.
fn folders(path: &str) -> Vec<String> {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "." | ".."));
    names.map(|name| path::fold(&route::without_numbers(name))).collect()
}

/// Whether `target` is `linked`, relative to some folder above the page that links.
fn differ_only_in_steps_up(from: &[String], linked: &[String], target: &[String]) -> bool {
    target.strip_suffix(linked).is_some_and(|above| from.starts_with(above))
}

/// Whether all of `short` are in `long`, in the same order.
fn is_subsequence(short: &[String], long: &[String]) -> bool {
    let mut rest = long.iter();
    short.iter().all(|name| rest.any(|other| other == name))
}

/// Whether two paths have the same versions and languages in them.
fn same_edition(a: &str, b: &str) -> bool {
    let editions = |path: &str| {
        let names = path.split('/').filter(|name| is_version(name) || is_language(name));
        names.map(str::to_lowercase).collect::<Vec<_>>()
    };
    editions(a) == editions(b)
}

/// `v1`, `1.x`, `2024`, `version-1.4`, `next`.
fn is_version(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let number = name.trim_start_matches("version-").trim_start_matches('v');
    let numbered = number.len() < name.len() && number.starts_with(|c: char| c.is_ascii_digit());
    let bare = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'x'));
    numbered || bare || VERSIONS.contains(&name)
}

/// `en`, `pt-BR`, `zh_Hans`. To be safe, all names of two letters count as languages.
pub(crate) fn is_language(name: &str) -> bool {
    let (language, region) = name.split_once(['-', '_']).unwrap_or((name, "us"));
    let letters = |part: &str| part.chars().all(|c| c.is_ascii_alphabetic());
    let is_script = region.len() == 4 && region.starts_with(|c: char| c.is_ascii_uppercase());
    language.len() == 2 && letters(language) && letters(region) && (region.len() == 2 || is_script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_languages() {
        for name in ["v1", "V2beta", "1.x", "2024", "10", "version-1.4", "next", "Latest"] {
            assert!(is_version(name), "{name}");
        }
        for name in ["vue", "03-core", "guide", "versions", "2fa"] {
            assert!(!is_version(name), "{name}");
        }
        for name in ["en", "ja", "pt-BR", "zh_Hans"] {
            assert!(is_language(name), "{name}");
        }
        for name in ["api", "my-page", "english", "a1"] {
            assert!(!is_language(name), "{name}");
        }
    }

    #[test]
    fn last_names() {
        assert_eq!(last_name("../old/install.md"), "install");
        assert_eq!(last_name("/guide/index.html"), "guide");
        assert_eq!(last_name("/guide/"), "guide");
        assert_eq!(last_name("img/a.png"), "a.png");
    }
}
