//! What is asked of all names at once, found out once for all who share them: a large repository has tens of thousands,
//! and most jobs change none.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::ground::Paths;
use crate::navigation::NavigationFile;
use crate::path;

#[derive(Default)]
pub(crate) struct Glance {
    folders: OnceLock<Vec<(String, usize)>>,
    navigation: OnceLock<Vec<String>>,
    parts: OnceLock<Parts>,
}

/// The names by their parts, in lower case: those between slashes are few, as most of them come again and again.
#[derive(Default)]
struct Parts {
    /// Each part once, one a line.
    text: String,
    ends: Vec<usize>,
    /// The parts of each folder.
    folders: Vec<Vec<usize>>,
    names: Vec<Name>,
}

struct Name {
    folder: usize,
    /// The part behind the last slash.
    last: usize,
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

    /// The names that hold the most of these words, whatever their case; the best first.
    pub fn sharing(&self, words: &[String], limit: usize) -> Vec<&str> {
        let parts = self.glance.parts.get_or_init(|| Parts::of(&self.files));
        let best = parts.sharing(words, limit);
        let mut names: BTreeMap<usize, &str> = best.iter().map(|place| (*place, "")).collect();
        let (mut files, mut next) = (self.files.iter(), 0);
        for (place, name) in &mut names {
            *name = files.nth(place - next).map_or("", String::as_str);
            next = place + 1;
        }
        best.iter().filter_map(|place| names.get(place).copied()).collect()
    }
}

impl Parts {
    fn of(names: &BTreeSet<String>) -> Self {
        let (mut parts, mut known, mut before) = (Self::default(), HashMap::new(), None);
        for name in names {
            let folder = path::parent(name);
            // Those of one folder mostly follow each other.
            if before != Some(folder) {
                let of_folder = folder.to_lowercase();
                let of_folder = of_folder.split('/').map(|part| parts.number(part, &mut known)).collect();
                parts.folders.push(of_folder);
                before = Some(folder);
            }
            let last = parts.number(&path::name(name).to_lowercase(), &mut known);
            parts.names.push(Name { folder: parts.folders.len() - 1, last });
        }
        parts
    }

    fn number(&mut self, part: &str, known: &mut HashMap<String, usize>) -> usize {
        if let Some(number) = known.get(part) {
            return *number;
        }
        let number = self.ends.len();
        known.insert(part.to_owned(), number);
        self.text.push_str(part);
        self.ends.push(self.text.len());
        self.text.push('\n');
        number
    }

    /// The places of the names, the best first; of the same, the first. No word has a slash.
    fn sharing(&self, words: &[String], limit: usize) -> Vec<usize> {
        let words: BTreeSet<_> = words.iter().filter(|word| !word.is_empty()).collect();
        let held = self.words_held(&words);
        let of_folder =
            |parts: &Vec<usize>| parts.iter().flat_map(|part| held[*part].iter().copied()).collect();
        let by_folder: Vec<BTreeSet<usize>> = self.folders.iter().map(of_folder).collect();
        let mut best = Best { limit, names: Vec::new() };
        for (place, name) in self.names.iter().enumerate() {
            let (folder, last) = (&by_folder[name.folder], &held[name.last]);
            best.add(folder.len() + last.iter().filter(|word| !folder.contains(word)).count(), place);
        }
        best.names.into_iter().map(|(_, place)| place).collect()
    }

    /// By part, which words are in it.
    fn words_held(&self, words: &BTreeSet<&String>) -> Vec<BTreeSet<usize>> {
        let mut held = vec![BTreeSet::new(); self.ends.len()];
        // The kind that it takes by itself for few words needs the square of a word's length to build.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let Ok(finder) = AhoCorasick::builder().kind(kind).build(words) else { return held };
        let mut part = 0;
        for found in finder.find_overlapping_iter(&self.text) {
            part += self.ends[part..].iter().take_while(|end| **end < found.end()).count();
            held[part].insert(found.pattern().as_usize());
        }
        held
    }
}

struct Best {
    limit: usize,
    /// How many words each shares, and its place.
    names: Vec<(usize, usize)>,
}

impl Best {
    fn add(&mut self, shared: usize, name: usize) {
        let place = self.names.partition_point(|(others, _)| *others >= shared);
        if shared > 0 && place < self.limit {
            self.names.insert(place, (shared, name));
            self.names.truncate(self.limit);
        }
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
