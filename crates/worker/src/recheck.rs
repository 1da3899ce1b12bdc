//! Checks the machine before an error of a repository or a cache fails the job.
//!
//! Such an error can be trouble of the machine in disguise: an unreadable file looks like a missing one, and
//! a program that can't write doesn't always say why.

use std::path::{Path, PathBuf};

use machine::Trouble;
use store::Lease;

use super::outcome::{Spent, Stop};
use crate::shared::Shared;
use app::hosts::is_on_the_web;

/// Returns
/// - [`Stop::Machine`] if the machine is in trouble now;
/// - the failure otherwise: [`Stop::Aborted`] if the run spent something, else [`Stop::Failed`];
/// - the stop of the store's error, usually [`Stop::Release`], if the project can't be read.
pub(super) async fn classify_failure(
    app: &Shared,
    lease: &Lease,
    sentence: String,
    spent: Option<Spent>,
) -> Stop {
    let repository = match app.accounts.project(&lease.job.project).await {
        Ok(project) => project.map(|project| project.repository),
        Err(error) => return error.into(),
    };
    let repository = repository.filter(|repository| !is_on_the_web(repository)).map(PathBuf::from);
    let data = app.data.clone();
    let checked = tokio::task::spawn_blocking(move || find_trouble(&data, repository.as_deref())).await;
    match (checked.ok().flatten(), spent) {
        (Some(trouble), _) => {
            tracing::warn!("the machine is in trouble, so this error does not fail the job: {sentence}");
            Stop::Machine(trouble)
        }
        (None, Some(spent)) => Stop::Failed(sentence).with_spent(spent),
        (None, None) => Stop::Failed(sentence),
    }
}

fn find_trouble(data: &Path, repository: Option<&Path>) -> Option<Trouble> {
    let of_repository = |repository: &Path| {
        let git_dir = repository.join(".git");
        let read = forge::read_trouble(repository).or_else(|| forge::read_trouble(&git_dir));
        read.or_else(|| machine::disk_trouble(repository))
    };
    // Don't open files of the data directory: closing them would end this process's locks on the databases.
    // Unreadable caches are recognized where they are read.
    let of_data = || machine::open_files_trouble().or_else(|| machine::disk_trouble(data));
    repository
        .and_then(of_repository)
        .map(|trouble| trouble.at("the repository"))
        .or_else(|| of_data().map(|trouble| trouble.at("the data directory")))
}
