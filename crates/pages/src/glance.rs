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
