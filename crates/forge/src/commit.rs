//! Writes a commit from a base commit and a set of edits. Only objects that differ from the base are written.

use std::collections::BTreeMap;
use std::path::Path;

use gix::ObjectId;
use gix::actor::SignatureRef;
use gix::objs::tree::EntryKind;
use gix::refs::transaction::PreviousValue;

use crate::name::printable;
use crate::snapshot::{damaged, object_id, open_repository, tree_of, trouble_in};
use crate::tree_cache::TreeCache;
use crate::{Error, Oid, Result, valid_path};

/// The input of a new commit.
pub struct NewCommit<'a> {
    pub base: &'a Oid,
    /// The new content of each touched file; `None` deletes it.
    pub edits: &'a BTreeMap<String, Option<Vec<u8>>>,
    pub message: &'a str,
    pub author: Signature<'a>,
    /// Seconds since 1970.
    pub time_seconds: i64,
    /// The name of the pin that protects the commit from garbage collection.
    pub pin: &'a str,
}

pub struct Signature<'a> {
    pub name: &'a str,
    pub email: &'a str,
}

/// The tree of the base commit.
struct BaseTree<'a> {
    repository: &'a gix::Repository,
    tree: ObjectId,
    trees: TreeCache,
}

impl BaseTree<'_> {
    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        Ok(self.trees.find(self.repository, self.tree, path)?.map(|(kind, _)| kind))
    }
}

pub(crate) fn write(dir: &Path, new: &NewCommit<'_>, pin: &str) -> Result<Oid> {
    let repository = open_repository(dir)?.to_thread_local();
    let base = BaseTree {
        tree: tree_of(&repository, new.base)?,
        repository: &repository,
        trees: TreeCache::default(),
    };
    for (path, content) in new.edits {
        check_edit(&base, new.edits, path, content.is_some())?;
    }
    let tree = write_tree(&base, new.edits)?;
    if tree == base.tree {
        return Err(Error::Unchanged);
    }
    let id = write_commit(&repository, tree, new)?;
    set_pin(&repository, pin, id)?;
    Oid::parse(&id.to_string())
}

/// Points the ref `pin` at `id`, which protects it from garbage collection.
pub(crate) fn set_pin(repository: &gix::Repository, pin: &str, id: ObjectId) -> Result<()> {
    repository.reference(pin, id, PreviousValue::Any, "").map(|_| ()).map_err(write_error)
}

/// Refuses edits that would delete more than they name: a file that replaces a folder or a link, a folder
/// that is deleted like a file, a file that becomes a folder.
fn check_edit(
    base: &BaseTree<'_>,
    edits: &BTreeMap<String, Option<Vec<u8>>>,
    path: &str,
    writes: bool,
) -> Result<()> {
    valid_path(path)?;
    let refuse = |what: &str, is: &str| Err(Error::BadEdit(format!("`{what}` is {is}")));
    match base.kind(path)? {
        Some(EntryKind::Tree) => return refuse(path, "a folder"),
        Some(EntryKind::Link) if writes => return refuse(path, "a symbolic link"),
        Some(EntryKind::Commit) => return refuse(path, "a submodule"),
        _ => {}
    }
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    for folder in folders.filter(|_| writes) {
        let is_file = match edits.get(folder) {
            Some(content) => content.is_some(),
            None => base.kind(folder)?.is_some_and(|kind| kind != EntryKind::Tree),
        };
        if is_file {
            return refuse(folder, "not a folder");
        }
    }
    Ok(())
}

fn write_tree(base: &BaseTree<'_>, edits: &BTreeMap<String, Option<Vec<u8>>>) -> Result<ObjectId> {
    let repository = base.repository;
    // The attached editor refuses to write next to an entry with an unsafe name. The base may contain such
    // entries, so use the detached editor.
    let mut editor = repository.edit_tree(base.tree).map_err(damaged)?.detach();
    for (path, _) in edits.iter().filter(|(_, content)| content.is_none()) {
        editor.remove(path.split('/')).map_err(damaged)?;
    }
    for (path, content) in edits {
        let Some(content) = content else { continue };
        let id = repository.write_blob(content).map_err(write_error)?.detach();
        let kind =
            base.kind(path)?.filter(|kind| *kind == EntryKind::BlobExecutable).unwrap_or(EntryKind::Blob);
        editor.upsert(path.split('/'), kind, id).map_err(damaged)?;
    }
    editor.write(|tree| repository.write_object(tree).map(gix::Id::detach)).map_err(damaged)
}

fn write_commit(repository: &gix::Repository, tree: ObjectId, new: &NewCommit<'_>) -> Result<ObjectId> {
    let (name, email) = (sanitize_identity(new.author.name), sanitize_identity(new.author.email));
    let time = format!("{} +0000", new.time_seconds.max(0));
    let author = SignatureRef { name: name.as_str().into(), email: email.as_str().into(), time: &time };
    let parent = object_id(new.base)?;
    let commit = repository.new_commit_as(author, author, sanitize_message(new.message), tree, [parent]);
    Ok(commit.map_err(write_error)?.id)
}

/// Separates machine trouble, such as a full disk, from damage.
fn write_error(cause: gix::Error) -> Error {
    if let Some(trouble) = trouble_in(&cause) {
        return Error::Machine(trouble);
    }
    if cause.classify().is_corrupted() {
        return damaged(cause);
    }
    Error::Io(std::io::Error::other(printable(&cause.to_string())))
}

/// A name or email that git's commit format can hold: one line, without angle brackets.
fn sanitize_identity(text: &str) -> String {
    let cleaned: String = text.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect();
    // git strips these characters when it reads a name. Strip them here, so that the commit id is stable.
    let trimmed = cleaned.trim_matches(|c: char| c.is_whitespace() || ".,:;\"\\'".contains(c));
    let shown = if trimmed.is_empty() { "docwright" } else { trimmed };
    shown.chars().take(200).collect()
}

fn sanitize_message(text: &str) -> String {
    let lines = text.replace("\r\n", "\n");
    let cleaned = lines.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control());
    let cleaned: String = cleaned.collect();
    format!("{}\n", cleaned.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_one_line_without_brackets() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(sanitize_identity(text), expected);
        }
        check("Ada Lovelace", "Ada Lovelace");
        check("ada@example.com", "ada@example.com");
        check("Eve> 1 +0000\ncommitter Eve <e", "Eve 1 +0000committer Eve e");
        check("$(touch x)", "$(touch x)");
        check(" \"Ada\". ", "Ada");
        check("\n<>", "docwright");
        check("", "docwright");
    }

    #[test]
    fn messages_keep_only_line_ends_and_tabs() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(sanitize_message(text), expected);
        }
        check("Fix a link", "Fix a link\n");
        check("One\r\n\r\nTwo\0\u{1b}[31m\n\n\n", "One\n\nTwo[31m\n");
        check("", "\n");
    }
}
