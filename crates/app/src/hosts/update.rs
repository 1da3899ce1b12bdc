//! Updates a project. Its repository is checked with the new settings before anything is stored.
//!
//! A token is used only for the repository that it was provided for. It's removed when the project moves to
//! another host. It's also removed when another person than its provider chooses another repository on the
//! same host, because a token often has access to more repositories than its provider means to share.

use anyhow::{Context, anyhow};
use store::{Accounts, Project, ProjectChange};

use super::{HOST_KEY, HOST_KEY_PROVIDER, HostKey, Hosts, Repository, RepositoryRequest, check};

/// The `who` of admin commands.
pub const COMMAND_LINE: &str = "command line";

/// A requested update of a project.
#[derive(Clone, Copy)]
pub struct ProjectUpdate<'a> {
    pub before: &'a Project,
    pub change: &'a ProjectChange,
    /// Replaces the stored token or app's key.
    pub key: Option<&'a HostKey>,
    /// An id, not a name: another person can get the same name later.
    pub who: &'a str,
}

pub struct UpdatedProject {
    pub project: Project,
    /// The stored token was removed, and there is no new one.
    pub forgot_token: bool,
}

/// Stores the change. If the repository had to be checked, also stores its location and the kind of its host.
pub async fn update(
    hosts: &Hosts,
    accounts: &dyn Accounts,
    update: ProjectUpdate<'_>,
) -> anyhow::Result<UpdatedProject> {
    let ProjectUpdate { before, key, who, .. } = update;
    let mut change = update.change.clone();
    let removes_token = must_remove_token(hosts, update).await?;
    if needs_check(&change) || key.is_some() {
        let found = check_update(hosts, update).await?;
        change.repository = change.repository.map(|_| found.location);
        change.host_kind = found.kind.into();
    }
    let mut forgot_token = false;
    if removes_token {
        forgot_token = hosts.secrets.remove_secret(&before.id.0, HOST_KEY).await? && key.is_none();
        hosts.secrets.remove_secret(&before.id.0, HOST_KEY_PROVIDER).await?;
    }
    let after = accounts.update_project(&before.id, &change).await?.context("the project was deleted")?;
    store_key(hosts, &after, key, who).await?;
    Ok(UpdatedProject { project: after, forgot_token })
}

/// Checks the repository with the settings after the update.
pub async fn check_update(hosts: &Hosts, update: ProjectUpdate<'_>) -> anyhow::Result<Repository> {
    let ProjectUpdate { before, change, key, .. } = update;
    let mut after = before.clone();
    change.clone().apply(&mut after);
    // The kind of a new host is detected. The same host keeps its kind.
    if changes_host(before, change) && change.host_kind.is_keep() {
        after.hosting.kind = None;
    }
    let removes_token = must_remove_token(hosts, update).await?;
    let stored_key = match key.is_none() && !removes_token {
        true => hosts.key(&before.id).await?,
        false => None,
    };
    let request = RepositoryRequest {
        repository: &after.repository,
        base_ref: after.base_ref.as_deref(),
        docs_path: after.docs_path.as_deref(),
        hosting: &after.hosting,
        key: key.or(stored_key.as_ref()),
    };
    let found = check(hosts, request).await;
    match removes_token && key.is_none() && hosts.key(&before.id).await?.is_some() {
        true => found.map_err(|error| {
            anyhow!(
                "{error}. The stored token is for {}: provide a token with this change",
                before.repository
            )
        }),
        false => found,
    }
}

/// Stores the token or the app's key. The provider is written last, so after an interruption the token has no
/// provider.
pub async fn store_key(
    hosts: &Hosts,
    project: &Project,
    key: Option<&HostKey>,
    provider: &str,
) -> anyhow::Result<()> {
    let Some(key) = key else { return Ok(()) };
    hosts.secrets.remove_secret(&project.id.0, HOST_KEY_PROVIDER).await?;
    hosts.secrets.put_secret(&project.id.0, HOST_KEY, key.reveal().as_bytes()).await?;
    hosts.secrets.put_secret(&project.id.0, HOST_KEY_PROVIDER, provider.as_bytes()).await?;
    Ok(())
}

fn needs_check(change: &ProjectChange) -> bool {
    change.repository.is_some()
        || !change.base_ref.is_keep()
        || !change.docs_path.is_keep()
        || !change.host_kind.is_keep()
}

/// Whether the stored token must not be used for the changed project.
async fn must_remove_token(hosts: &Hosts, update: ProjectUpdate<'_>) -> anyhow::Result<bool> {
    let ProjectUpdate { before, change, who, .. } = update;
    if changes_host(before, change) {
        return Ok(true);
    }
    let is_same = |after: &String| is_same_repository(after, &before.repository);
    if change.repository.as_ref().is_none_or(is_same) {
        return Ok(false);
    }
    let provider = hosts.secrets.secret(&before.id.0, HOST_KEY_PROVIDER).await?;
    Ok(match provider {
        Some(provider) => provider.as_slice() != who.as_bytes(),
        // The token is older than this record. A person with access to the machine can read the token anyway.
        None => who != COMMAND_LINE,
    })
}

/// Whether the repository will be on another host.
fn changes_host(before: &Project, change: &ProjectChange) -> bool {
    change.repository.as_ref().is_some_and(|after| origin(after) != origin(&before.repository))
}

/// Hosts accept a URL with and without `.git`, and ignore its case.
fn is_same_repository(left: &str, right: &str) -> bool {
    let normalize = |address: &str| {
        let address = address.trim().trim_end_matches('/').to_lowercase();
        address.strip_suffix(".git").unwrap_or(&address).to_owned()
    };
    normalize(left) == normalize(right)
}

/// The scheme, host and port of a URL. `None` for a path on this machine.
fn origin(repository: &str) -> Option<String> {
    let (scheme, rest) = repository.split_once("://")?;
    Some(format!("{scheme}://{}", rest.split('/').next().unwrap_or_default()).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_different_repositories() {
        let docs = "https://github.com/acme/docs";
        for same in [
            "https://github.com/Acme/docs/",
            "https://GitHub.com/acme/docs.git",
            " https://github.com/acme/docs",
        ] {
            assert!(is_same_repository(same, docs), "{same}");
        }
        for other in
            ["https://github.com/acme/docs2", "https://github.com/acme/docs/x", "https://github.com/acme"]
        {
            assert!(!is_same_repository(other, docs), "{other}");
        }
    }
}
