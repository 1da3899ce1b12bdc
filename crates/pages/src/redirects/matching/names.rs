//! Finds pages by the last name of the address.

use super::Matcher;
use crate::WordList;
use crate::redirects::address::{bare, plain, split_name, squash, words};
use crate::redirects::clue::{Clue, ClueKind};
use crate::redirects::site_pages::SitePage;

/// Names that every section of a site can have.
pub(super) const GENERIC: WordList = WordList(
    "overview introduction intro index about quickstart gettingstarted start setup installation install config \
     configuration settings options api reference usage examples example guide guides tutorial tutorials faq faqs \
     troubleshooting changelog releasenotes features concepts basics advanced general home welcome main summary",
);
/// The first page of a folder, if the folder has no page of its own.
pub(super) const FIRST_PAGES: [&str; 8] =
    ["overview", "introduction", "intro", "index", "getting-started", "quickstart", "about", "start"];

impl Matcher<'_> {
    /// The clues of the last name of an address.
    pub(super) fn clues_of_name(&self, path: &str) -> Vec<Clue> {
        let mut clues = Vec::new();
        find(self, path, &mut clues);
        clues
    }
}

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let bare = plain(bare(path));
    let (folder, name) = split_name(&bare);
    find_index(matcher, path, folder, name, clues);
    let editions = &matcher.pages.editions;
    let found: Vec<&SitePage> = matcher
        .pages
        .named(name)
        .filter(|page| page.route != bare && editions.allow(&bare, &page.route) && page.route != "/")
        .collect();
    let kind_of = |page: &SitePage| kind(&editions.rest(&bare), &editions.rest(&page.route));
    match found.as_slice() {
        [] => {}
        [page] => {
            let kind = if is_generic(matcher, name) { ClueKind::NameGeneric } else { kind_of(page) };
            let kind = match kind {
                ClueKind::NameMoved if is_specific(name) => ClueKind::SpecificNameMoved,
                ClueKind::NameNear | ClueKind::NameElsewhere if is_specific(name) => ClueKind::SpecificName,
                kind => kind,
            };
            let reason = "it is the only page with this name".to_owned();
            matcher.add(path, &page.route, kind, reason, clues);
        }
        pages => {
            let best = pages.iter().map(|page| kind_of(page)).min();
            let mut nearest = pages.iter().filter(|page| Some(kind_of(page)) == best);
            if let (Some(page), None) = (nearest.next(), nearest.next()) {
                let reason = "of the pages with this name, it is the nearest".to_owned();
                matcher.add(path, &page.route, ClueKind::NameShared, reason, clues);
            } else {
                for page in pages.iter().take(3) {
                    let reason = "the page has this name".to_owned();
                    matcher.add(path, &page.route, ClueKind::Section, reason, clues);
                }
            }
        }
    }
}

/// Whether a name can be that of several sections or of a section itself.
fn is_generic(matcher: &Matcher<'_>, name: &str) -> bool {
    GENERIC.contains(&squash(name)) || matcher.pages.is_folder_name(name)
}

/// Whether a name has several words. Two pages with such a name are rarely about different things.
fn is_specific(name: &str) -> bool {
    words(name).count() > 1
}

/// How the folders of two pages with the same name relate.
fn kind(from: &[&str], to: &[&str]) -> ClueKind {
    let folders = |names: &[&str]| {
        names[..names.len().saturating_sub(1)].iter().map(|name| squash(name)).collect::<Vec<_>>()
    };
    let (from, to) = (folders(from), folders(to));
    if is_subsequence(&from, &to) || is_subsequence(&to, &from) {
        ClueKind::NameMoved
    } else if from.iter().any(|name| to.contains(name)) {
        ClueKind::NameNear
    } else {
        ClueKind::NameElsewhere
    }
}

/// Whether all of `short` are in `long`, in the same order.
fn is_subsequence(short: &[String], long: &[String]) -> bool {
    let mut rest = long.iter();
    short.iter().all(|name| rest.any(|other| other == name))
}

/// `/guide/overview` and `/guide` can be the same page.
fn find_index(matcher: &Matcher<'_>, path: &str, folder: &str, name: &str, clues: &mut Vec<Clue>) {
    let is_first = FIRST_PAGES.iter().any(|first| squash(first) == squash(name));
    if is_first && !folder.is_empty() && matcher.pages.has(folder) {
        let reason = "it is the first page of the folder".to_owned();
        matcher.add(path, folder, ClueKind::IndexOfFolder, reason, clues);
    }
    let own = format!("{folder}/{name}");
    if let Some(first) =
        FIRST_PAGES.iter().map(|first| format!("{own}/{first}")).find(|first| matcher.pages.has(first))
    {
        let reason = "it is the first page of the folder".to_owned();
        matcher.add(path, &first, ClueKind::FolderIndex, reason, clues);
    }
}
