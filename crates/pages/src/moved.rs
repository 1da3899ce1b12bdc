//! Whether a page of the wanted name is the wanted page.
//!
//! That names agree says little: every part of a product has its `errors.md`. The folders must tell the
//! same story too, and then only one of these is believed:
//!
//! - The folder is the same; the extension, the case or the number in front is not.
//! - The folders that are named are all right, and only the way up (`../`) is too long or too short.
//! - The page moved into one more folder, and the others stayed. Images and the like do not count here.
//!
//! Whatever leads from one version or language to another is never believed.

use crate::WordList;
use crate::path;
use crate::route;
use crate::site::{self, Site};

/// Names of versions that have no number.
const VERSIONS: WordList =
    WordList("next latest stable current canary nightly unreleased legacy versioned_docs");
/// Names that stand for any name, in examples of how to write a link.
const PLACEHOLDERS: WordList = WordList("url link file filename page path example here name foo bar baz");

/// Whether a link to `old` in the page `from` can only have meant `target`, a file of the same name.
pub(crate) fn is_meant(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let is_page = route::is_page(target);
    let there = folders(parent_of(target, is_page));
    let named = folders(parent_of(old, is_page));
    if is_vague(old)
        || is_right_elsewhere(site, from, old, target)
        || leaves_the_site(site, from, old, target)
    {
        return false;
    }
    origins(site, from, old, is_page).into_iter().any(|old_folder| {
        let here = folders(&old_folder);
        let only_way_up =
            !old.starts_with('/') && differ_in_the_way_up(&folders(path::parent(from)), &named, &there);
        let into_one_more = is_page && here.len() + 1 == there.len() && is_part(&here, &there);
        same_edition(&old_folder, parent_of(target, is_page))
            && (here == there || only_way_up || into_one_more)
    })
}

/// Whether a link to `old` points into the folder that `target` is in, whatever the page is called.
pub(crate) fn is_in_the_folder(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let there = folders(parent_of(target, true));
    !is_vague(old) && origins(site, from, old, true).iter().any(|here| folders(here) == there)
}

/// The name that a path ends in, without the extension of a page; of an index page, its folder's.
pub(crate) fn last_name(wanted: &str) -> &str {
    path::name(place(wanted)).trim_matches('.')
}

/// A word alone is as often an example or the name of some code as a page; an address with `.html` belongs
/// to a site that was built, and its pages may not be these.
fn is_vague(old: &str) -> bool {
    let name = last_name(old).to_lowercase();
    !old.contains(['/', '.']) || PLACEHOLDERS.contains(&name) || old.ends_with(".html")
}

/// A page beside the docs, such as a changelog, may be shown as one of them, and its links count from there.
fn is_right_elsewhere(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let shown_in = |base: &&String| path::below(from, base).is_none();
    let mut elsewhere = site.bases.iter().filter(shown_in).filter_map(|base| site::normalise(base, old));
    !old.starts_with('/') && elsewhere.any(|whole| place(&whole) == place(target))
}

/// `/` of a site that is made of the docs folder does not lead to the files beside it.
fn leaves_the_site(site: &Site, from: &str, old: &str, target: &str) -> bool {
    let is_served =
        |file: &str| site.bases.iter().any(|base| !base.is_empty() && path::below(file, base).is_some());
    old.starts_with('/') && is_served(from) && !is_served(target)
}

fn place(wanted: &str) -> &str {
    let wanted = wanted.trim_end_matches('/');
    let bare = route::stem(wanted).or_else(|| wanted.strip_suffix(".html")).unwrap_or(wanted);
    if route::is_index(bare) { path::parent(bare) } else { bare }
}

fn parent_of(wanted: &str, is_page: bool) -> &str {
    path::parent(if is_page { place(wanted) } else { wanted })
}

/// The folders that the link pointed into: one for a relative link, one for each way to read `/`.
fn origins(site: &Site, from: &str, old: &str, is_page: bool) -> Vec<String> {
    let places = match old.starts_with('/') {
        true => site.candidates(from, old),
        false => vec![site::normalise(path::parent(from), old)],
    };
    places.into_iter().flatten().map(|place| parent_of(&place, is_page).to_owned()).collect()
}

/// The names in a path as they are compared: without case, numbers in front, and steps up.
fn folders(path: &str) -> Vec<String> {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "." | ".."));
    names.map(|name| path::fold(&route::without_numbers(name))).collect()
}

/// Whether `there` is what was `named`, counted from some folder above the page that links.
fn differ_in_the_way_up(from: &[String], named: &[String], there: &[String]) -> bool {
    there.strip_suffix(named).is_some_and(|above| from.starts_with(above))
}

/// Whether all of `few` stand in `many` in the same order.
fn is_part(few: &[String], many: &[String]) -> bool {
    let mut rest = many.iter();
    few.iter().all(|name| rest.any(|other| other == name))
}

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

/// `en`, `pt-BR`, `zh_Hans`; other names of two letters are taken for languages too, to be on the safe side.
fn is_language(name: &str) -> bool {
    let (language, region) = name.split_once(['-', '_']).unwrap_or((name, "us"));
    let letters = |part: &str| part.chars().all(|c| c.is_ascii_alphabetic());
    let is_script = region.len() == 4 && region.starts_with(|c: char| c.is_ascii_uppercase());
    language.len() == 2 && letters(language) && letters(region) && (region.len() == 2 || is_script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editions() {
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
