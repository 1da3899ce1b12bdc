//! Finds pages whose address and title have the same words, and the page of the section.

use std::collections::{BTreeMap, HashSet};

use super::Matcher;
use crate::redirects::address::{bare, plain, split_name, words};
use crate::redirects::clue::{Clue, ClueKind};
use crate::redirects::site_pages::page_words;

/// Less similar pages are not worth a look.
const MIN_SIMILARITY: f64 = 0.5;
const MAX_SIMILAR: usize = 3;

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let bare = plain(bare(path));
    let name = split_name(&bare).1;
    let wanted: HashSet<String> = words(name).collect();
    let all: HashSet<String> = words(&bare).collect();
    let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
    for page in wanted.iter().flat_map(|word| matcher.pages.with_word(word)) {
        if matcher.pages.editions.allow(&bare, &page.route) && page.route != bare {
            let score = similarity(matcher, &wanted, &all, &page_words(page), split_name(&page.route).1);
            scores.insert(&page.route, score);
        }
    }
    let mut ranked: Vec<(&str, f64)> =
        scores.into_iter().filter(|(_, score)| *score >= MIN_SIMILARITY).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let margin = |at: usize| ranked[at].1 - ranked.get(at + 1).map_or(0.0, |(_, score)| *score);
    for (index, (route, score)) in ranked.iter().take(MAX_SIMILAR).enumerate() {
        // A page below the address is one of several that it can mean.
        let is_below = route.strip_prefix(bare.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let is_clear = index == 0 && *score > 0.75 && margin(0) > 0.15 && !is_below;
        let kind = if is_clear { ClueKind::WordsContained } else { ClueKind::WordsAlike };
        matcher.add(path, route, kind, "its address and title have the same words".to_owned(), clues);
    }
    find_section(matcher, path, &bare, clues);
}

/// The share of the weight of words that both have. The last name of an address says the most.
fn similarity(
    matcher: &Matcher<'_>,
    wanted: &HashSet<String>,
    all: &HashSet<String>,
    page: &HashSet<String>,
    name: &str,
) -> f64 {
    let weight = |word: &String| matcher.pages.weight(word);
    let shared: f64 = wanted.intersection(page).map(weight).sum();
    let total: f64 = wanted.iter().map(weight).sum();
    let own: HashSet<String> = words(name).collect();
    let of_name: f64 = own.intersection(all).map(weight).sum();
    let name_total: f64 = own.iter().map(weight).sum();
    if total == 0.0 || name_total == 0.0 { 0.0 } else { (shared / total + of_name / name_total) / 2.0 }
}

/// The nearest page above the address.
fn find_section(matcher: &Matcher<'_>, path: &str, bare: &str, clues: &mut Vec<Clue>) {
    let mut folder = split_name(bare).0;
    while !folder.is_empty() {
        if matcher.page(path, folder).is_some() {
            matcher.add(path, folder, ClueKind::Section, "it is the page of the section".to_owned(), clues);
            return;
        }
        folder = split_name(folder).0;
    }
}
