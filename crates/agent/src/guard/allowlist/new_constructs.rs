//! Determines which constructs of the touched files are new.

use std::collections::HashMap;

use pages::{Construct, ConstructKind, FileKind, Reading};

/// A file as its constructs, read as one kind of markup. One file can appear under several kinds: its own, and those of
/// the pages that include it.
pub(super) struct ParsedFile<'a> {
    pub(super) path: &'a str,
    pub(super) kind: FileKind,
    pub(super) constructs: Vec<Construct>,
}

/// The identity of a construct: the same construct, read in the same way, in files of the same kind.
type Key<'c> = (FileKind, Reading, &'c ConstructKind);

fn count<'c>(files: impl Iterator<Item = &'c ParsedFile<'c>>) -> HashMap<Key<'c>, isize> {
    let mut counts = HashMap::new();
    for file in files {
        for construct in &file.constructs {
            *counts.entry((file.kind, construct.reading, &construct.kind)).or_default() += 1;
        }
    }
    counts
}

fn subtract<'c>(counts: &mut HashMap<Key<'c>, isize>, old: HashMap<Key<'c>, isize>) {
    old.into_iter().for_each(|(key, count)| *counts.entry(key).or_default() -= count);
}

/// Finds the new constructs of each file.
pub(super) struct NewConstructs<'c> {
    before: &'c [ParsedFile<'c>],
    /// How many more of each construct all touched files together have than before.
    surplus: HashMap<Key<'c>, isize>,
}

impl<'c> NewConstructs<'c> {
    pub(super) fn new(before: &'c [ParsedFile<'c>], after: &'c [ParsedFile<'c>]) -> Self {
        let mut surplus = count(after.iter());
        subtract(&mut surplus, count(before.iter()));
        Self { before, surplus }
    }

    /// Takes the constructs that a file has more of than before, if all touched files together also have more of them.
    pub(super) fn take(&mut self, file: &'c ParsedFile<'c>) -> Vec<&'c Construct> {
        let mut surplus = count(std::iter::once(file));
        let is_same_file = |old: &&ParsedFile<'_>| old.path == file.path && old.kind == file.kind;
        subtract(&mut surplus, count(self.before.iter().filter(is_same_file)));
        let mut new = Vec::new();
        // Additions usually come after the constructs that were there, so the last ones count as new.
        for construct in file.constructs.iter().rev() {
            let key = (file.kind, construct.reading, &construct.kind);
            let (Some(here), Some(everywhere)) = (surplus.get_mut(&key), self.surplus.get_mut(&key)) else {
                continue;
            };
            if *here > 0 && *everywhere > 0 {
                (*here, *everywhere) = (*here - 1, *everywhere - 1);
                new.push(construct);
            }
        }
        new.sort_by_key(|construct| construct.span.start);
        new
    }
}
