//! Looks once more before a job fails for what its repository or its cache seems to be: a file that cannot be read looks
//! like one that is not there, and a program that cannot write does not always say why.

use std::path::{Path, PathBuf};

use machine::Trouble;
use store::Lease;

use super::outcome::{Spent, Stop};
use crate::shared::Shared;
use app::hosts::is_on_the_web;

/// What the failure is: trouble of the machine, if there is any just now.
pub(super) async fn settled(app: &Shared, lease: &Lease, sentence: String, spent: Option<Spent>) -> Stop {
    let repository = match app.accounts.project(&lease.job.project).await {
        Ok(project) => project.map(|project| project.repository),
        Err(error) => return error.into(),
    };
    let repository = repository.filter(|repository| !is_on_the_web(repository)).map(PathBuf::from);
    let data = app.data.clone();
    let looking = tokio::task::spawn_blocking(move || trouble(&data, repository.as_deref())).await;
    match (looking.ok().flatten(), spent) {
        (Some(trouble), _) => {
            tracing::warn!("the machine is in trouble, so this is not the job's fault: {sentence}");
            Stop::Machine(trouble)
        }
        (None, Some(spent)) => Stop::Failed(sentence).after(spent),
        (None, None) => Stop::Failed(sentence),
    }
}

fn trouble(data: &Path, repository: Option<&Path>) -> Option<Trouble> {
    let of_repository = |repository: &Path| {
        let git_dir = repository.join(".git");
        let read = forge::read_trouble(repository).or_else(|| forge::read_trouble(&git_dir));
        read.or_else(|| machine::disk_trouble(repository))
    };
    // Its files are not opened: that would end the locks of the databases in it. What cannot be read of a cache is
    // recognized where the cache is read.
    let of_data = || machine::open_files_trouble().or_else(|| machine::disk_trouble(data));
    repository
        .and_then(of_repository)
        .map(|trouble| trouble.at("the repository"))
        .or_else(|| of_data().map(|trouble| trouble.at("the data directory")))
}
