//! A change of a project: its repository is looked at, as it will be used, before anything is kept.

use anyhow::Context;
use store::{Accounts, Project, ProjectChange};

use super::{HOST_KEY, HostKey, Hosts, Repository, Wanted, check};

/// The project as it is from now on, with what its repository turned out to be if that had to be asked.
/// `key` takes the place of the token, or of the app's key, that is kept.
pub(crate) async fn update(
    hosts: &Hosts,
    accounts: &dyn Accounts,
    before: &Project,
    mut change: ProjectChange,
    key: Option<&HostKey>,
) -> anyhow::Result<Project> {
    let moves = moves(before, &change);
    if is_to_be_checked(&change) || key.is_some() {
        let found = check_change(hosts, before, &change, key).await?;
        change.repository = change.repository.map(|_| found.place);
        change.host_kind = Some(found.kind);
    }
    if moves {
        hosts.secrets.remove_secret(&before.id.0, HOST_KEY).await?;
    }
    let after = accounts.update_project(&before.id, &change).await?.context("the project is gone")?;
    keep_key(hosts, &after, key).await?;
    Ok(after)
}

/// The repository as it would be used.
pub(crate) async fn check_change(
    hosts: &Hosts,
    before: &Project,
    change: &ProjectChange,
    key: Option<&HostKey>,
) -> anyhow::Result<Repository> {
    let mut after = before.clone();
    change.clone().apply(&mut after);
    // What another host is, is found out; the same one stays what it was said to be.
    if moves(before, change) && change.host_kind.is_none() {
        after.hosting.kind = None;
    }
    let kept = match key.is_none() && !moves(before, change) {
        true => hosts.key(&before.id).await?,
        false => None,
    };
    let wanted = Wanted {
        repository: &after.repository,
        base_ref: after.base_ref.as_deref(),
        docs_path: after.docs_path.as_deref(),
        hosting: &after.hosting,
        key: key.or(kept.as_ref()),
    };
    check(hosts, wanted).await
}

pub(crate) async fn keep_key(hosts: &Hosts, project: &Project, key: Option<&HostKey>) -> anyhow::Result<()> {
    if let Some(key) = key {
        hosts.secrets.put_secret(&project.id.0, HOST_KEY, key.reveal().as_bytes()).await?;
    }
    Ok(())
}

fn is_to_be_checked(change: &ProjectChange) -> bool {
    change.repository.is_some()
        || change.base_ref.is_some()
        || change.docs_path.is_some()
        || change.host_kind.is_some()
}

/// Whether the repository will be on another host: a token is for the one that it was given for.
fn moves(before: &Project, change: &ProjectChange) -> bool {
    change.repository.as_ref().is_some_and(|after| origin(after) != origin(&before.repository))
}

/// Scheme, host and port; nothing of a path on this machine.
fn origin(repository: &str) -> Option<String> {
    let (scheme, rest) = repository.split_once("://")?;
    Some(format!("{scheme}://{}", rest.split('/').next().unwrap_or_default()).to_lowercase())
}
