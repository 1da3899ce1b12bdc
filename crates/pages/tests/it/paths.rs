//! Questions about all paths of a tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use pages::{Files, Paths};
use proptest::prelude::*;

use crate::overlay;

fn paths(names: &[&str]) -> Arc<Paths> {
    overlay(&names.iter().map(|name| (*name, "")).collect::<Vec<_>>()).paths()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn folders_and_navigation_files() {
    let paths = paths(&["docs.json", "docs/a.md", "docs/b/c.md", "docs/z.md", "node_modules/docs.json"]);
    let folders = ["", "docs", "docs/b", "node_modules"].map(str::to_owned).into_iter().zip([1, 2, 1, 1]);
    assert_eq!(paths.files_by_folder(), folders.collect::<Vec<_>>());
    assert_eq!(paths.navigation_files(), ["docs.json"]);
}

#[test]
fn paths_with_the_most_words_are_first() {
    let paths = paths(&["api/keys.md", "api/Old-Keys.md", "guide/keys/api.md", "Über/Установка.md"]);
    let check = |wanted: &[&str], limit, expected: &[&str]| {
        assert_eq!(paths.best_matches(&words(wanted), limit), expected, "{wanted:?}");
    };
    check(&["keys", "keys", "old"], 8, &["api/Old-Keys.md", "api/keys.md", "guide/keys/api.md"]);
    check(&["keys", "old"], 1, &["api/Old-Keys.md"]);
    check(&["установка", "über"], 8, &["Über/Установка.md"]);
    check(&["nothing"], 8, &[]);
    check(&[], 8, &[]);
}

/// If the search were quadratic in the length of a word, this would take minutes and time out.
#[test]
fn a_word_can_be_as_long_as_a_prompt() {
    let wanted = [words(&["keys"]), vec!["a".repeat(100_000)]].concat();
    assert_eq!(paths(&["api/keys.md"]).best_matches(&wanted, 8), ["api/keys.md"]);
}

proptest! {
    #[test]
    fn the_best_matches_equal_a_naive_search(
        names in prop::collection::btree_set("[a-cA-C]{1,3}(/[a-cA-C]{1,3}){0,2}", 0..30),
        wanted in prop::collection::vec("[a-c]{1,3}", 0..6),
        limit in 1..10_usize,
    ) {
        let wanted: BTreeSet<_> = wanted.into_iter().collect();
        let shared = |name: &str| wanted.iter().filter(|word| name.to_lowercase().contains(*word)).count();
        let mut expected: Vec<_> = names.iter().filter(|name| shared(name) > 0).map(String::as_str).collect();
        expected.sort_by_key(|name| std::cmp::Reverse(shared(name)));
        expected.truncate(limit);
        let paths = paths(&names.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(paths.best_matches(&wanted.iter().cloned().collect::<Vec<_>>(), limit), expected);
    }
}
