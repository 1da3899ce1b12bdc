//! Makes a commit from a base commit and a set of edits, writing only what differs.

use std::collections::BTreeMap;
use std::path::Path;

use gix::ObjectId;
use gix::actor::SignatureRef;
use gix::objs::tree::EntryKind;
use gix::refs::transaction::PreviousValue;

use crate::folders::Folders;
use crate::name::printable;
use crate::snapshot::{damaged, object_id, open_repository, tree_of, trouble_in};
use crate::{Error, Oid, Result, valid_path};

/// A commit to be made.
pub struct NewCommit<'a> {
    pub base: &'a Oid,
    /// The new content of each touched file; `None` deletes it.
    pub edits: &'a BTreeMap<String, Option<Vec<u8>>>,
    pub message: &'a str,
    pub author: Signature<'a>,
    /// Seconds since 1970.
    pub time_seconds: i64,
    /// What keeps the commit from being cleared away.
    pub pin: &'a str,
}

pub struct Signature<'a> {
    pub name: &'a str,
    pub email: &'a str,
}

/// What a commit is made from.
struct Base<'a> {
    repository: &'a gix::Repository,
    tree: ObjectId,
    folders: Folders,
}

impl Base<'_> {
    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        Ok(self.folders.place(self.repository, self.tree, path)?.map(|(kind, _)| kind))
    }
}

pub(crate) fn write(dir: &Path, new: &NewCommit<'_>, pin: &str) -> Result<Oid> {
    let repository = open_repository(dir)?.to_thread_local();
    let base =
        Base { tree: tree_of(&repository, new.base)?, repository: &repository, folders: Folders::default() };
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

/// Keeps `id`, and all that it is made of, from being cleared away.
pub(crate) fn set_pin(repository: &gix::Repository, pin: &str, id: ObjectId) -> Result<()> {
    repository.reference(pin, id, PreviousValue::Any, "").map(|_| ()).map_err(unwritten)
}

/// Refuses what would quietly take away more than it says: a file put over a folder or a link, a
/// folder deleted as if it were a file, a file turned into a folder.
fn check_edit(
    base: &Base<'_>,
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

fn write_tree(base: &Base<'_>, edits: &BTreeMap<String, Option<Vec<u8>>>) -> Result<ObjectId> {
    let repository = base.repository;
    // The inner editor: the outer one refuses to write beside an entry that it holds for unsafe,
    // and what is in the base already is not ours to judge.
    let mut editor = repository.edit_tree(base.tree).map_err(damaged)?.detach();
    for (path, _) in edits.iter().filter(|(_, content)| content.is_none()) {
        editor.remove(path.split('/')).map_err(damaged)?;
    }
    for (path, content) in edits {
        let Some(content) = content else { continue };
        let id = repository.write_blob(content).map_err(unwritten)?.detach();
        let kind =
            base.kind(path)?.filter(|kind| *kind == EntryKind::BlobExecutable).unwrap_or(EntryKind::Blob);
        editor.upsert(path.split('/'), kind, id).map_err(damaged)?;
    }
    editor.write(|tree| repository.write_object(tree).map(gix::Id::detach)).map_err(damaged)
}

fn write_commit(repository: &gix::Repository, tree: ObjectId, new: &NewCommit<'_>) -> Result<ObjectId> {
    let (name, email) = (identity(new.author.name), identity(new.author.email));
    let time = format!("{} +0000", new.time_seconds.max(0));
    let author = SignatureRef { name: name.as_str().into(), email: email.as_str().into(), time: &time };
    let parent = object_id(new.base)?;
    let commit = repository.new_commit_as(author, author, message(new.message), tree, [parent]);
    Ok(commit.map_err(unwritten)?.id)
}

/// A full disk is no damage: what is there can be read.
fn unwritten(cause: gix::Error) -> Error {
    if let Some(trouble) = trouble_in(&cause) {
        return Error::Machine(trouble);
    }
    if cause.classify().is_corrupted() {
        return damaged(cause);
    }
    Error::Io(std::io::Error::other(printable(&cause.to_string())))
}

/// A name or address as git's commit format can hold it: on one line and without its delimiters.
fn identity(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect();
    // git drops these at the ends when it reads a name; so that the id is stable, so do we.
    let trimmed = kept.trim_matches(|c: char| c.is_whitespace() || ".,:;\"\\'".contains(c));
    let shown = if trimmed.is_empty() { "docwright" } else { trimmed };
    shown.chars().take(200).collect()
}

fn message(text: &str) -> String {
    let lines = text.replace("\r\n", "\n");
    let kept = lines.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control());
    let kept: String = kept.collect();
    format!("{}\n", kept.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(identity(text), expected);
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
    fn messages() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(message(text), expected);
        }
        check("Fix a link", "Fix a link\n");
        check("One\r\n\r\nTwo\0\u{1b}[31m\n\n\n", "One\n\nTwo[31m\n");
        check("", "\n");
    }
}
