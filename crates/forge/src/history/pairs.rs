//! Finds the renames of a commit without reading the contents of files: equal contents have equal ids, and a
//! file that only moved to another folder has the same name there.

use std::collections::{BTreeMap, BTreeSet};

use super::raw_log::{Change, File};

/// Names that say nothing without their folder.
const INDEX_NAMES: &[&str] = &["index", "_index", "readme", "_category_"];
/// More removals than this with the same content are not compared with each other.
const MAX_EQUAL: usize = 64;
/// How many moves of folders are tried for a file.
const MAX_MOVES: usize = 16;

/// Replaces removals and creations that belong together with renames.
pub(super) fn find_renames(changes: Vec<Change>) -> Vec<Change> {
    let (mut pool, mut changes) = Pool::split(changes);
    if !pool.is_empty() {
        pool.pair_equal_contents();
        pool.pair_equal_names();
        pool.pair_moved_folders();
    }
    changes.extend(pool.into_changes());
    changes
}

#[derive(Default)]
struct Pool {
    removed: Vec<Option<File>>,
    created: Vec<Option<File>>,
    renames: Vec<Change>,
}

impl Pool {
    /// Takes the removals and the creations out of `changes`.
    fn split(changes: Vec<Change>) -> (Self, Vec<Change>) {
        let (mut pool, mut others) = (Self::default(), Vec::new());
        for change in changes {
            match (&change.from, &change.to) {
                (Some(_), None) => pool.removed.push(change.from),
                (None, Some(_)) => pool.created.push(change.to),
                _ => others.push(change),
            }
        }
        (pool, others)
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() || self.created.is_empty()
    }

    fn into_changes(self) -> impl Iterator<Item = Change> {
        let removed = self.removed.into_iter().flatten();
        let removed = removed.map(|file| Change { from: Some(file), to: None, similarity: None });
        let created = self.created.into_iter().flatten();
        let created = created.map(|file| Change { from: None, to: Some(file), similarity: None });
        self.renames.into_iter().chain(removed).chain(created)
    }

    fn pair(&mut self, removed: usize, created: usize, similarity: Option<u8>) {
        if let (Some(from), Some(to)) = (self.removed[removed].take(), self.created[created].take()) {
            self.renames.push(Change { from: Some(from), to: Some(to), similarity });
        }
    }

    /// Of several files with the same content, those whose paths end alike belong together.
    fn pair_equal_contents(&mut self) {
        let content = |file: &File| (!file.blob.is_empty_blob()).then_some(file.blob);
        let (removed, created) = (group(&self.removed, content), group(&self.created, content));
        for (blob, from) in removed {
            let Some(to) = created.get(&blob).filter(|to| from.len().max(to.len()) <= MAX_EQUAL) else {
                continue;
            };
            let mut pairs: Vec<_> = from.iter().flat_map(|&a| to.iter().map(move |&b| (a, b))).collect();
            let ending = |&(a, b): &(usize, usize)| match (&self.removed[a], &self.created[b]) {
                (Some(a), Some(b)) => common_ending(&a.path, &b.path),
                _ => 0,
            };
            // Stable, so that ties are resolved in the order of git's list.
            pairs.sort_by_cached_key(|pair| std::cmp::Reverse(ending(pair)));
            for (a, b) in pairs {
                if self.removed[a].is_some() && self.created[b].is_some() {
                    self.pair(a, b, Some(100));
                }
            }
        }
    }

    /// Only names that are unique in the commit are certain enough.
    fn pair_equal_names(&mut self) {
        let (removed, created) = (group(&self.removed, name_key), group(&self.created, name_key));
        for (name, from) in removed {
            if let ([a], Some([b])) = (&from[..], created.get(&name).map(Vec::as_slice)) {
                self.pair(*a, *b, None);
            }
        }
    }

    /// If the commit moved other files from one folder to another, the rest of the folder went there, too.
    fn pair_moved_folders(&mut self) {
        let moves: BTreeSet<_> = self.renames.iter().filter_map(folder_move).take(MAX_MOVES).collect();
        let by_path = group(&self.created, |file| Some(file.path.clone()));
        for removed in 0..self.removed.len() {
            let Some(file) = &self.removed[removed] else { continue };
            let target = moves.iter().find_map(|(from, to)| {
                let moved = format!("{to}{}", file.path.strip_prefix(from.as_str())?);
                by_path.get(&moved)?.first().copied()
            });
            if let Some(created) = target {
                self.pair(removed, created, None);
            }
        }
    }
}

fn group<K: Ord>(files: &[Option<File>], key: impl Fn(&File) -> Option<K>) -> BTreeMap<K, Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        if let Some(key) = file.as_ref().and_then(&key) {
            groups.entry(key).or_default().push(index);
        }
    }
    groups
}

/// The name of the file, with its folder if the name alone says nothing.
fn name_key(file: &File) -> Option<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    if !INDEX_NAMES.contains(&stem.as_str()) {
        return Some(name.to_owned());
    }
    let parent = folder.rsplit('/').next().filter(|parent| !parent.is_empty())?;
    Some(format!("{parent}/{name}"))
}

/// How many parts at the end of two paths are equal.
fn common_ending(a: &str, b: &str) -> usize {
    a.rsplit('/').zip(b.rsplit('/')).take_while(|(a, b)| a == b).count()
}

/// `a/b/x.md` to `c/b/x.md` moves `a/` to `c/`.
fn folder_move(rename: &Change) -> Option<(String, String)> {
    let (from, to) = (&rename.from.as_ref()?.path, &rename.to.as_ref()?.path);
    let parts = common_ending(from, to);
    let ending: usize = from.rsplit('/').take(parts).map(|part| part.len() + 1).sum();
    let folder = |path: &str| path.get(..(path.len() + 1).checked_sub(ending)?).map(str::to_owned);
    (parts > 0).then(|| Some((folder(from)?, folder(to)?)))?
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;

    /// Each file is its path and a digit for its content.
    fn found(removed: &[(&str, u8)], created: &[(&str, u8)]) -> Vec<String> {
        let file = |(path, content): &(&str, u8)| {
            let blob = ObjectId::from_hex(format!("{content}").repeat(40).as_bytes()).unwrap();
            Some(File { path: (*path).to_owned(), blob })
        };
        let removed = removed.iter().map(|at| Change { from: file(at), to: None, similarity: None });
        let created = created.iter().map(|at| Change { from: None, to: file(at), similarity: None });
        let all = find_renames(removed.chain(created).collect());
        let path = |file: &Option<File>| file.as_ref().map_or("-", |file| &file.path).to_owned();
        let mut shown: Vec<_> = all
            .iter()
            .map(|it| {
                let similarity = it.similarity.map_or(String::new(), |percent| format!(" {percent}"));
                format!("{} > {}{similarity}", path(&it.from), path(&it.to))
            })
            .collect();
        shown.sort();
        shown
    }

    #[test]
    fn equal_contents_are_renames() {
        assert_eq!(found(&[("a.md", 1)], &[("b.md", 1)]), ["a.md > b.md 100"]);
        assert_eq!(found(&[("a.md", 1)], &[("b.md", 2)]), ["- > b.md", "a.md > -"]);
        assert_eq!(
            found(&[("a/x.md", 1), ("a/y.md", 1)], &[("b/y.md", 1), ("b/x.md", 1)]),
            ["a/x.md > b/x.md 100", "a/y.md > b/y.md 100"]
        );
        assert_eq!(found(&[("a.md", 1)], &[("b.md", 1), ("c/a.md", 1)]), ["- > b.md", "a.md > c/a.md 100"]);
    }

    #[test]
    fn a_unique_name_in_another_folder_is_a_rename() {
        assert_eq!(found(&[("a/x.md", 1)], &[("b/x.md", 2)]), ["a/x.md > b/x.md"]);
        assert_eq!(
            found(&[("a/x.md", 1)], &[("b/x.md", 2), ("c/x.md", 3)]),
            ["- > b/x.md", "- > c/x.md", "a/x.md > -"]
        );
        assert_eq!(found(&[("a/index.md", 1)], &[("b/index.md", 2)]), ["- > b/index.md", "a/index.md > -"]);
        assert_eq!(found(&[("a/c/index.md", 1)], &[("b/c/index.md", 2)]), ["a/c/index.md > b/c/index.md"]);
        assert_eq!(found(&[("README.md", 1)], &[("b/README.md", 2)]), ["- > b/README.md", "README.md > -"]);
    }

    #[test]
    fn the_rest_of_a_folder_follows_its_files() {
        let removed = [("docs/a/new.md", 1), ("docs/a/x.md", 2), ("docs/b/x.md", 3), ("docs/index.md", 4)];
        let created = [("site/a/new.md", 1), ("site/a/x.md", 5), ("site/b/x.md", 6), ("site/index.md", 7)];
        assert_eq!(
            found(&removed, &created),
            [
                "docs/a/new.md > site/a/new.md 100",
                "docs/a/x.md > site/a/x.md",
                "docs/b/x.md > site/b/x.md",
                "docs/index.md > site/index.md"
            ]
        );
        // Files that moved to the top.
        assert_eq!(
            found(&[("docs/a.md", 1), ("docs/index.md", 2)], &[("a.md", 1), ("index.md", 3)]),
            ["docs/a.md > a.md 100", "docs/index.md > index.md"]
        );
    }
}
