//! Finds names that differ only by case, because some file systems can't hold both.

use std::collections::{BTreeMap, HashMap};

use crate::path;

/// For each case-folded path of a file or folder: its actual spellings, each with the number of files that have it.
#[derive(Default)]
pub(crate) struct FoldedNames(HashMap<String, BTreeMap<String, usize>>);

impl FoldedNames {
    pub(crate) fn add(&mut self, file: &str) {
        for name in path::ancestors(file).chain([file]) {
            let spellings = self.0.entry(path::fold(name)).or_default();
            *spellings.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, file: &str) {
        for name in path::ancestors(file).chain([file]) {
            self.remove_name(name);
        }
    }

    fn remove_name(&mut self, name: &str) {
        let folded = path::fold(name);
        let Some(spellings) = self.0.get_mut(&folded) else { return };
        if let Some(count) = spellings.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                spellings.remove(name);
            }
        }
        if spellings.is_empty() {
            self.0.remove(&folded);
        }
    }

    /// The existing name that differs only by case from `file`, or from a folder above it.
    pub(crate) fn find_clash(&self, file: &str) -> Option<&str> {
        path::ancestors(file).chain([file]).find_map(|name| {
            let spellings = self.0.get(&path::fold(name))?;
            if spellings.contains_key(name) {
                return None;
            }
            spellings.keys().next().map(String::as_str)
        })
    }
}
