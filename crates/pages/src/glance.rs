//! What is asked of all names at once, found out once for all who share them: a large repository has tens of thousands,
//! and most jobs change none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::ground::Paths;
use crate::navigation::NavigationFile;
use crate::path;

#[derive(Default)]
pub(crate) struct Glance {
    folders: OnceLock<Vec<(String, usize)>>,
    navigation: OnceLock<Vec<String>>,
    /// The names in lower case, one a line.
    names: OnceLock<String>,
}

impl Paths {
    /// Each folder that has files, and how many.
    pub fn files_by_folder(&self) -> &[(String, usize)] {
        self.glance.folders.get_or_init(|| {
            let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
            let all: Vec<_> = self.files.iter().map(|file| path::parent(file)).collect();
            // Those of one folder mostly follow each other.
            for together in all.chunk_by(|a, b| a == b) {
                *folders.entry(together[0]).or_default() += together.len();
            }
            folders.into_iter().map(|(folder, files)| (folder.to_owned(), files)).collect()
        })
    }

    /// The files that say which pages a site shows.
    pub fn navigation(&self) -> &[String] {
        let is_one = |file: &&String| NavigationFile::at(file).is_some();
        self.glance.navigation.get_or_init(|| self.files.iter().filter(is_one).cloned().collect())
    }

    /// The names that hold the most of these words, whatever their case; the best first, of the same the first.
    pub fn sharing(&self, words: &[String], limit: usize) -> Vec<&str> {
        let words: BTreeSet<_> = words.iter().filter(|word| !word.is_empty()).collect();
        let names = self.glance.names.get_or_init(|| {
            self.files.iter().flat_map(|file| [file.to_lowercase(), "\n".to_owned()]).collect()
        });
        // The kind that it takes by itself for few words needs the square of a word's length to build.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let Ok(finder) = AhoCorasick::builder().kind(kind).build(&words) else { return Vec::new() };
        let (mut found, mut best) = (vec![false; words.len()], Vec::new());
        for (name, file) in names.lines().zip(&self.files) {
            found.fill(false);
            finder.find_overlapping_iter(name).for_each(|word| found[word.pattern()] = true);
            best.push((found.iter().filter(|found| **found).count(), file.as_str()));
        }
        best.retain(|(shared, _)| *shared > 0);
        best.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
        best.into_iter().take(limit).map(|(_, file)| file).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(names: &[&str]) -> Paths {
        Paths::new(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_is_there_at_a_glance() {
        let paths = paths(&["docs.json", "docs/a.md", "docs/b/c.md", "docs/z.md", "node_modules/docs.json"]);
        let folders = ["", "docs", "docs/b", "node_modules"].map(str::to_owned).into_iter().zip([1, 2, 1, 1]);
        assert_eq!(paths.files_by_folder(), folders.collect::<Vec<_>>());
        assert_eq!(paths.navigation(), ["docs.json"]);
    }

    #[test]
    fn names_that_share_words() {
        let paths = paths(&["api/keys.md", "api/Old-Keys.md", "guide/keys/api.md", "Über/Установка.md"]);
        let check = |asked: &[&str], limit, expected: &[&str]| {
            assert_eq!(paths.sharing(&words(asked), limit), expected, "{asked:?}");
        };
        check(&["keys", "keys", "old"], 8, &["api/Old-Keys.md", "api/keys.md", "guide/keys/api.md"]);
        check(&["keys", "old"], 1, &["api/Old-Keys.md"]);
        check(&["установка", "über"], 8, &["Über/Установка.md"]);
        check(&["nothing"], 8, &[]);
        check(&[], 8, &[]);
    }

    /// Takes minutes, and is ended for it, when it takes the square of the length.
    #[test]
    fn a_word_may_be_as_long_as_a_prompt() {
        let asked = [words(&["keys"]), vec!["a".repeat(100_000)]].concat();
        assert_eq!(paths(&["api/keys.md"]).sharing(&asked, 8), ["api/keys.md"]);
    }

    proptest! {
        #[test]
        fn it_is_a_look_at_each(
            names in prop::collection::btree_set("[a-cA-C/]{1,8}", 0..30),
            asked in prop::collection::vec("[a-c]{1,3}", 0..6),
            limit in 1..10_usize,
        ) {
            let asked: BTreeSet<_> = asked.into_iter().collect();
            let shared = |name: &str| asked.iter().filter(|word| name.to_lowercase().contains(*word)).count();
            let mut expected: Vec<_> = names.iter().filter(|name| shared(name) > 0).map(String::as_str).collect();
            expected.sort_by_key(|name| std::cmp::Reverse(shared(name)));
            expected.truncate(limit);
            let paths = Paths::new(names.clone());
            prop_assert_eq!(paths.sharing(&asked.iter().cloned().collect::<Vec<_>>(), limit), expected);
        }
    }
}
