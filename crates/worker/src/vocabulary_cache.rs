//! Caches the vocabulary of each project's last tree: the components, hosts and keys that its pages use.
//!
//! Building a vocabulary reads every page, so the next judgment of the same tree reuses it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agent::Vocabulary;
use forge::TreeId;
use store::ProjectId;

/// The number of words in the cache, of all trees together. Each takes some ten bytes.
const MAX_WORDS: usize = 2_000_000;

pub(crate) struct VocabularyCache<T = TreeId>(Mutex<VecDeque<(ProjectId, T, Arc<Vocabulary>)>>);

impl<T> Default for VocabularyCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + PartialEq> VocabularyCache<T> {
    /// The vocabulary of the tree, which may be empty so far: the guard fills it.
    pub(super) fn get_or_insert(&self, project: &ProjectId, tree: T) -> Arc<Vocabulary> {
        let mut all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let cached =
            all.iter().find(|(owner, id, cached)| owner == project && *id == tree && !cached.is_partial());
        let vocabulary = cached.map(|(.., vocabulary)| vocabulary.clone()).unwrap_or_default();
        // One per project, the newest first.
        all.retain(|(owner, ..)| owner != project);
        all.push_front((project.clone(), tree, vocabulary.clone()));
        let mut words = 0;
        all.retain(|(.., cached)| {
            words += cached.size() + 1;
            words <= MAX_WORDS
        });
        vocabulary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tree_of_each_project_is_cached() {
        let (cache, project) = (VocabularyCache::default(), ProjectId("docs".into()));
        let learned = cache.get_or_insert(&project, 1);
        assert!(Arc::ptr_eq(&learned, &cache.get_or_insert(&project, 1)));
        assert!(!Arc::ptr_eq(&learned, &cache.get_or_insert(&ProjectId("other".into()), 1)));
        assert!(!Arc::ptr_eq(&learned, &cache.get_or_insert(&project, 2)));
        assert!(!Arc::ptr_eq(&learned, &cache.get_or_insert(&project, 1)));
    }

    struct Unreadable;

    impl pages::Tree for Unreadable {
        fn list(&self) -> Result<Vec<pages::Entry>, pages::FilesError> {
            Err(pages::FilesError::TooManyFiles)
        }

        fn read(&self, path: &str, _: usize) -> Result<Vec<u8>, pages::FilesError> {
            Err(pages::FilesError::NotFound(path.to_owned()))
        }
    }

    #[test]
    fn a_partial_vocabulary_is_built_again() {
        let (cache, project) = (VocabularyCache::default(), ProjectId("docs".into()));
        let learned = cache.get_or_insert(&project, 1);
        let edits = std::collections::BTreeMap::from([("a.mdx".to_owned(), Some(b"<Card />\n".to_vec()))]);
        let instructions = &agent::Instructions::default();
        let change = agent::Change {
            base: &Unreadable,
            vocabulary: &learned,
            edits: &edits,
            instructions,
            title: "",
            summary: "",
        };
        agent::judge(&change, &agent::Policy::default());
        assert!(learned.is_partial());
        assert!(!Arc::ptr_eq(&learned, &cache.get_or_insert(&project, 1)));
    }
}
