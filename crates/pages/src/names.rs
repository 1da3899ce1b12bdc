//! Every file and folder name in use, so that a new file cannot differ from one of them by case alone.

use std::collections::{BTreeMap, HashMap};

use crate::path;

/// Counts each path and each folder above it under its folded spelling.
#[derive(Default)]
pub(crate) struct Names(HashMap<String, BTreeMap<String, usize>>);

impl Names {
    pub(crate) fn add(&mut self, file: &str) {
        for name in path::ancestors(file).chain([file]) {
            let spellings = self.0.entry(path::fold(name)).or_default();
            *spellings.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, file: &str) {
        for name in path::ancestors(file).chain([file]) {
            self.remove_one(name);
        }
    }

    fn remove_one(&mut self, name: &str) {
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

    /// The name in use that `file`, or a folder above it, differs from only by case.
    pub(crate) fn clash(&self, file: &str) -> Option<&str> {
        path::ancestors(file).chain([file]).find_map(|name| {
            let spellings = self.0.get(&path::fold(name))?;
            if spellings.contains_key(name) {
                return None;
            }
            spellings.keys().next().map(String::as_str)
        })
    }
}
