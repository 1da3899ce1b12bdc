//! A change of a project: its repository is looked at, as it will be used, before anything is kept.
//!
//! A token goes to the repository that it was given for. It is forgotten when the project moves to another host, and
//! when somebody else than who gave it points the project at another repository on the same host: a token often
//! reaches more repositories than its giver means to share.

use anyhow::{Context, anyhow};
use store::{Accounts, Project, ProjectChange};

use super::{HOST_KEY, HOST_KEY_GIVER, HostKey, Hosts, Repository, Wanted, check};

/// Who changes a project by an admin command.
pub const COMMAND_LINE: &str = "command line";

/// A change that somebody asks for.
#[derive(Clone, Copy)]
pub struct Requested<'a> {
    pub before: &'a Project,
    pub change: &'a ProjectChange,
    /// Takes the place of the token, or of the app's key, that is kept.
    pub key: Option<&'a HostKey>,
    /// Not by name, which another person can get later.
    pub who: &'a str,
}

/// The project as it is from now on.
pub struct Updated {
    pub project: Project,
    /// The token that was kept is not used any more, and there is no other.
    pub forgot_token: bool,
}

/// Keeps the change, with what the repository turned out to be if that had to be asked.
pub async fn update(
    hosts: &Hosts,
    accounts: &dyn Accounts,
    requested: Requested<'_>,
) -> anyhow::Result<Updated> {
    let Requested { before, key, who, .. } = requested;
    let mut change = requested.change.clone();
    let forgets = forgets_token(hosts, requested).await?;
    if is_to_be_checked(&change) || key.is_some() {
        let found = check_change(hosts, requested).await?;
        change.repository = change.repository.map(|_| found.place);
        change.host_kind = Some(found.kind);
    }
    let mut forgot_token = false;
    if forgets {
        forgot_token = hosts.secrets.remove_secret(&before.id.0, HOST_KEY).await? && key.is_none();
        hosts.secrets.remove_secret(&before.id.0, HOST_KEY_GIVER).await?;
    }
    let after = accounts.update_project(&before.id, &change).await?.context("the project is gone")?;
    keep_key(hosts, &after, key, who).await?;
    Ok(Updated { project: after, forgot_token })
}

/// The repository as it would be used.
pub async fn check_change(hosts: &Hosts, requested: Requested<'_>) -> anyhow::Result<Repository> {
    let Requested { before, change, key, .. } = requested;
    let mut after = before.clone();
    change.clone().apply(&mut after);
    // What another host is, is found out; the same one stays what it was said to be.
    if moves(before, change) && change.host_kind.is_none() {
        after.hosting.kind = None;
    }
    let forgets = forgets_token(hosts, requested).await?;
    let kept = match key.is_none() && !forgets {
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
    let found = check(hosts, wanted).await;
    match forgets && key.is_none() && hosts.key(&before.id).await?.is_some() {
        true => found.map_err(|error| {
            anyhow!("{error}. The token that is kept is for {}: give one with this change", before.repository)
        }),
        false => found,
    }
}

/// The giver is written last: a token whose giver is not known is nobody's.
pub async fn keep_key(
    hosts: &Hosts,
    project: &Project,
    key: Option<&HostKey>,
    giver: &str,
) -> anyhow::Result<()> {
    let Some(key) = key else { return Ok(()) };
    hosts.secrets.remove_secret(&project.id.0, HOST_KEY_GIVER).await?;
    hosts.secrets.put_secret(&project.id.0, HOST_KEY, key.reveal().as_bytes()).await?;
    hosts.secrets.put_secret(&project.id.0, HOST_KEY_GIVER, giver.as_bytes()).await?;
    Ok(())
}

fn is_to_be_checked(change: &ProjectChange) -> bool {
    change.repository.is_some()
        || change.base_ref.is_some()
        || change.docs_path.is_some()
        || change.host_kind.is_some()
}

/// Whether the token that is kept must not be used for the changed project.
async fn forgets_token(hosts: &Hosts, requested: Requested<'_>) -> anyhow::Result<bool> {
    let Requested { before, change, who, .. } = requested;
    if moves(before, change) {
        return Ok(true);
    }
    let is_same = |after: &String| is_same_repository(after, &before.repository);
    if change.repository.as_ref().is_none_or(is_same) {
        return Ok(false);
    }
    let giver = hosts.secrets.secret(&before.id.0, HOST_KEY_GIVER).await?;
    Ok(match giver {
        Some(giver) => giver.as_slice() != who.as_bytes(),
        // It was given before that was recorded. Who has the machine has the token as well.
        None => who != COMMAND_LINE,
    })
}

/// Whether the repository will be on another host: a token is for the one that it was given for.
fn moves(before: &Project, change: &ProjectChange) -> bool {
    change.repository.as_ref().is_some_and(|after| origin(after) != origin(&before.repository))
}

/// Hosts take an address with and without its ending, in whatever case.
fn is_same_repository(one: &str, other: &str) -> bool {
    let plain = |address: &str| {
        let address = address.trim().trim_end_matches('/').to_lowercase();
        address.strip_suffix(".git").unwrap_or(&address).to_owned()
    };
    plain(one) == plain(other)
}

/// Scheme, host and port; nothing of a path on this machine.
fn origin(repository: &str) -> Option<String> {
    let (scheme, rest) = repository.split_once("://")?;
    Some(format!("{scheme}://{}", rest.split('/').next().unwrap_or_default()).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_repository() {
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
