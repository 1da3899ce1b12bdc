//! Holds the paths of a tree, answers questions about all of them, and caches the answers.
//!
//! A large repository has tens of thousands of paths. Most jobs change none of them, so jobs share the answers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::navigation::NavigationFile;
use crate::path;
use crate::{route, served_paths};

/// The regular files of a tree, and their folders.
pub struct Paths {
    pub files: BTreeSet<String>,
    /// Every folder, with and without numbers in front of its names, and the path of every page that is a component.
    pub(crate) folders: HashSet<String>,
    caches: PathCaches,
}

#[derive(Default)]
struct PathCaches {
    folders: OnceLock<Vec<(String, usize)>>,
    navigation: OnceLock<Vec<String>>,
    /// The paths in lower case, one per line.
    lower_case: OnceLock<String>,
}

impl Paths {
    pub(crate) fn new(files: BTreeSet<String>) -> Self {
        let mut parents: Vec<&str> = files.iter().map(|file| path::parent(file)).collect();
        // Files of one folder mostly follow each other, so few folders are left.
        parents.dedup();
        let above = parents.iter().flat_map(|folder| path::ancestors(folder).chain([*folder]));
        let pages = files.iter().filter_map(|file| served_paths::component_path(file));
        let folders = above.chain(pages).filter(|folder| !folder.is_empty());
        let folders =
            folders.flat_map(|folder| [folder.to_owned(), route::without_numbers(folder)]).collect();
        Self { files, folders, caches: PathCaches::default() }
    }

    /// Each folder with files, and their number.
    pub fn files_by_folder(&self) -> &[(String, usize)] {
        self.caches.folders.get_or_init(|| {
            let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
            let all: Vec<_> = self.files.iter().map(|file| path::parent(file)).collect();
            // Files of one folder mostly follow each other.
            for run in all.chunk_by(|a, b| a == b) {
                *folders.entry(run[0]).or_default() += run.len();
            }
            folders.into_iter().map(|(folder, files)| (folder.to_owned(), files)).collect()
        })
    }

    /// The navigation files.
    pub fn navigation_files(&self) -> &[String] {
        let is_navigation = |file: &&String| NavigationFile::at(file).is_some();
        self.caches.navigation.get_or_init(|| self.files.iter().filter(is_navigation).cloned().collect())
    }

    /// The paths that contain the most of these words, ignoring case. The best first. Equal ones are in path order.
    pub fn best_matches(&self, words: &[String], limit: usize) -> Vec<&str> {
        let words: BTreeSet<_> = words.iter().filter(|word| !word.is_empty()).collect();
        let paths = self.caches.lower_case.get_or_init(|| {
            self.files.iter().flat_map(|file| [file.to_lowercase(), "\n".to_owned()]).collect()
        });
        // The kind that the library chooses for few words takes time quadratic in the length of a word to build.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let Ok(finder) = AhoCorasick::builder().kind(kind).build(&words) else { return Vec::new() };
        let (mut found, mut best) = (vec![false; words.len()], Vec::new());
        for (path, file) in paths.lines().zip(&self.files) {
            found.fill(false);
            finder.find_overlapping_iter(path).for_each(|word| found[word.pattern()] = true);
            best.push((found.iter().filter(|found| **found).count(), file.as_str()));
        }
        best.retain(|(matches, _)| *matches > 0);
        best.sort_by_key(|(matches, _)| std::cmp::Reverse(*matches));
        best.into_iter().take(limit).map(|(_, file)| file).collect()
    }
}
