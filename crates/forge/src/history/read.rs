//! Lists the changes of a branch with `git log`.

use std::collections::HashSet;
use std::path::Path;

use super::collect::{Collector, Keep};
use super::raw_log::FORMAT;
use super::{History, HistoryLimits};
use crate::bare::Scratch;
use crate::error::{DATA_DIRECTORY, REPOSITORY};
use crate::git::{Git, is_unreadable_object_error};
use crate::shallow::Shallow;
use crate::{Error, FileRemote, Oid, Result};

/// Files are renamed if at least half of their content stayed. In a commit that moves more than a thousand
/// files and changes them, git compares only files with the same name.
const COMPARE_CONTENTS: &[&str] = &["-M50%", "-l1000", "--no-rename-empty"];
const COMPARE_NOTHING: &[&str] = &["--no-renames"];

/// Reads the history of a repository on this machine, without its configuration. `folder` is for temporary
/// files.
pub(crate) async fn read_local(
    remote: &FileRemote,
    folder: &Path,
    commit: &Oid,
    keep: Keep<'_>,
    limits: HistoryLimits,
) -> Result<History> {
    let scratch = Scratch::new(remote.path(), folder)?;
    let shallow = shallow_commits(scratch.path()).map_err(|error| error.at(DATA_DIRECTORY))?;
    let collector = || Collector::new(commit, keep, limits, shallow.clone());
    let compared = read(scratch.path(), collector(), COMPARE_CONTENTS, limits, commit).await;
    let read = match compared {
        // A partial clone lacks contents.
        Err(Error::Git(words)) if is_unreadable_object_error(&words) => {
            let collector = collector().with_own_renames();
            read(scratch.path(), collector, COMPARE_NOTHING, limits, commit).await
        }
        compared => compared,
    };
    read.map_err(|error| error.at(REPOSITORY))
}

/// Reads the history of a repository that has no contents of files.
pub(crate) async fn read_names(
    dir: &Path,
    commit: &Oid,
    keep: Keep<'_>,
    limits: HistoryLimits,
) -> Result<History> {
    let collector = Collector::new(commit, keep, limits, shallow_commits(dir)?).with_own_renames();
    read(dir, collector, COMPARE_NOTHING, limits, commit).await
}

fn shallow_commits(dir: &Path) -> Result<HashSet<Oid>> {
    Ok(Shallow::read(dir)?.commits().iter().cloned().collect())
}

async fn read(
    dir: &Path,
    mut collector: Collector<'_>,
    renames: &[&str],
    limits: HistoryLimits,
    commit: &Oid,
) -> Result<History> {
    let log = Git::at(dir, "log")
        .args(["--first-parent", "--diff-merges=first-parent", "--root"])
        .args(["--raw", "-r", "-z", "--no-abbrev", FORMAT])
        .args(["--no-ext-diff", "--no-textconv", "--no-notes", "--no-decorate", "--ignore-submodules=all"])
        .args(renames)
        .args([commit.as_str(), "--"])
        .timeout(limits.time);
    let output = log.run_streamed(|bytes| collector.push(bytes)).await?;
    match output {
        None => Ok(collector.cut_off()),
        Some(output) if output.code == Some(0) => Ok(collector.complete()),
        Some(output) => Err(output.failure()),
    }
}
