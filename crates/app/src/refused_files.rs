//! Finds files that recent jobs changed, or tried to change, and that the guard refuses now.

use std::collections::BTreeMap;

use agent::{Allow, Instructions, Policy};
use store::{Filter, JobStore, Project};

/// The number of a project's latest jobs that are checked.
const LATEST_JOBS: u32 = 100;
const MAX_REFUSED_FILES: usize = 50;

/// A file that a recent job changed, or tried to change, and that the project's settings don't allow.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedFile {
    pub path: String,
    pub why: &'static str,
    /// The glob that would allow it.
    pub glob: String,
}

/// The files of a project's latest jobs that the guard would refuse now, each once.
pub async fn refused_files(jobs: &dyn JobStore, project: &Project) -> store::Result<Vec<RefusedFile>> {
    let allow = Allow::parse(project.allow_paths.iter().map(String::as_str)).unwrap_or_default();
    let policy = Policy { allow, docs_path: project.docs_path.as_deref(), secrets: &[] };
    let latest = jobs.list(&project.id, &Filter { limit: LATEST_JOBS, ..Filter::default() }).await?;
    let mut refused = BTreeMap::new();
    for job in latest.items {
        let diff = jobs.diff(&project.id, &job.id).await?.unwrap_or_default();
        for path in diff.lines().filter_map(changed_file) {
            let why = agent::refusal_of_path(&policy, &Instructions::default(), path);
            refused.extend(why.map(|why| (path.to_owned(), why)));
        }
    }
    let file = |(path, why): (String, _)| RefusedFile { glob: allowing_glob(&path), path, why };
    Ok(refused.into_iter().map(file).take(MAX_REFUSED_FILES).collect())
}

/// The path in a line `diff --git a/PATH b/PATH`; no other line of a diff begins like this.
pub(crate) fn changed_file(line: &str) -> Option<&str> {
    let both = line.strip_prefix("diff --git a/")?;
    both.get(..both.len().checked_sub(3)? / 2)
}

/// The glob of the sample folder that contains the file, or the file itself.
fn allowing_glob(path: &str) -> String {
    let is_samples = |name: &str| matches!(name, "examples" | "example" | "samples" | "snippets" | "code");
    let folders: Vec<&str> = path.split('/').collect();
    match folders.iter().position(|name| is_samples(name)).filter(|index| index + 1 < folders.len()) {
        Some(index) => format!("{}/**", folders[..=index].join("/")),
        None => path.to_owned(),
    }
}
