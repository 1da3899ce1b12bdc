//! What the docs that jobs worked on last use already: components, hosts, keys. To learn it every page is read, so it
//! is kept for the next judgement of the same tree.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agent::Vocabulary;
use forge::TreeId;
use store::ProjectId;

/// Things of all trees together that are kept, some ten bytes each.
const MAX_THINGS: usize = 2_000_000;

pub(crate) struct Vocabularies<T = TreeId>(Mutex<VecDeque<(ProjectId, T, Arc<Vocabulary>)>>);

impl<T> Default for Vocabularies<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + PartialEq> Vocabularies<T> {
    /// That of a tree, read or not yet read.
    pub(super) fn of(&self, project: &ProjectId, tree: T) -> Arc<Vocabulary> {
        let mut all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = all.iter().find(|(of, id, kept)| of == project && *id == tree && !kept.is_partial());
        let vocabulary = known.map(|(.., vocabulary)| vocabulary.clone()).unwrap_or_default();
        // One of each project is enough; the newest are first.
        all.retain(|(of, ..)| of != project);
        all.push_front((project.clone(), tree, vocabulary.clone()));
        let mut things = 0;
        all.retain(|(.., kept)| {
            things += kept.size() + 1;
            things <= MAX_THINGS
        });
        vocabulary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tree_of_each_project_is_kept() {
        let (vocabularies, project) = (Vocabularies::default(), ProjectId("docs".into()));
        let learned = vocabularies.of(&project, 1);
        assert!(Arc::ptr_eq(&learned, &vocabularies.of(&project, 1)));
        assert!(!Arc::ptr_eq(&learned, &vocabularies.of(&ProjectId("other".into()), 1)));
        assert!(!Arc::ptr_eq(&learned, &vocabularies.of(&project, 2)));
        assert!(!Arc::ptr_eq(&learned, &vocabularies.of(&project, 1)));
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
    fn what_was_read_in_part_is_read_again() {
        let (vocabularies, project) = (Vocabularies::default(), ProjectId("docs".into()));
        let learned = vocabularies.of(&project, 1);
        let edits = std::collections::BTreeMap::from([("a.mdx".to_owned(), Some(b"<Card />\n".to_vec()))]);
        let asked = &agent::Instructions::default();
        let change = agent::Change {
            base: &Unreadable,
            vocabulary: &learned,
            edits: &edits,
            asked,
            title: "",
            summary: "",
        };
        agent::judge(&change, &agent::Policy::default());
        assert!(learned.is_partial());
        assert!(!Arc::ptr_eq(&learned, &vocabularies.of(&project, 1)));
    }
}
