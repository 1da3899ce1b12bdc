//! What a project's repository host is told, and what it is to tell us.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;
use server::{Admin, HOOK_SECRET, HOST_KEY, HostKey, Repository, Wanted};
use store::{HostApp, Hosting, Project, ProjectChange, Token};

use super::project::{each_once, given};
use super::{open, project};
use crate::args::{HookOfProject, HostArgs};
use crate::output;
use crate::settings::Sources;

/// The token, or the key of an app, if one is named.
pub(super) fn key(args: &HostArgs) -> anyhow::Result<Option<HostKey>> {
    let token = args.token_file.as_deref().map(|path| ("--token-file", path));
    let named = token.or(args.app_key_file.as_deref().map(|path| ("--app-key-file", path)));
    named.map(|(flag, path)| read_key(path).with_context(|| format!("{flag} {}", path.display()))).transpose()
}

fn read_key(path: &Path) -> anyhow::Result<HostKey> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin())?,
        false => std::fs::read_to_string(path)?,
    };
    ensure!(!text.trim().is_empty(), "it must hold the token, and is empty");
    Ok(HostKey::new(text.trim()))
}

pub(super) fn hosting(args: &HostArgs) -> Hosting {
    Hosting {
        kind: args.host.clone().filter(|kind| !kind.is_empty()),
        app: app(args),
        labels: each_once(&args.label),
        reviewers: each_once(&args.reviewer),
        author: args.author.clone().and_then(|author| author.0),
    }
}

fn app(args: &HostArgs) -> Option<HostApp> {
    args.app.clone().map(|id| HostApp { id, installation: args.installation })
}

/// The change, with what is said of the host.
pub(super) fn changed(args: &HostArgs, change: ProjectChange) -> ProjectChange {
    // A token takes the place of an app, and the other way round.
    let key_changes = args.token_file.is_some() || args.app_key_file.is_some();
    ProjectChange {
        host_kind: args.host.clone().map(|kind| Some(kind).filter(|kind| !kind.is_empty())),
        host_app: key_changes.then(|| app(args)),
        labels: given(&args.label).map(each_once),
        reviewers: given(&args.reviewer).map(each_once),
        author: args.author.clone().map(|author| author.0),
        ..change
    }
}

pub(super) fn is_to_be_checked(change: &ProjectChange) -> bool {
    change.repository.is_some()
        || change.base_ref.is_some()
        || change.docs_path.is_some()
        || change.host_kind.is_some()
}

/// The repository as it will be used.
pub(super) async fn check(
    admin: &Admin,
    before: &Project,
    change: &ProjectChange,
    key: Option<&HostKey>,
) -> anyhow::Result<Repository> {
    let mut after = before.clone();
    change.clone().apply(&mut after);
    if change.repository.is_some() && change.host_kind.is_none() {
        after.hosting.kind = None;
    }
    let kept = match key.is_none() && !moves(before, change) {
        true => kept(admin, before).await?,
        false => None,
    };
    let wanted = Wanted {
        repository: &after.repository,
        base_ref: after.base_ref.as_deref(),
        docs_path: after.docs_path.as_deref(),
        hosting: &after.hosting,
        key: key.or(kept.as_ref()),
    };
    admin.check_repository(wanted).await
}

/// Whether the repository will be on another host: a token is for the one that it was given for.
pub(super) fn moves(before: &Project, change: &ProjectChange) -> bool {
    change.repository.as_ref().is_some_and(|after| origin(after) != origin(&before.repository))
}

/// Scheme, host and port; nothing of a path on this machine.
fn origin(repository: &str) -> Option<String> {
    let (scheme, rest) = repository.split_once("://")?;
    Some(format!("{scheme}://{}", rest.split('/').next().unwrap_or_default()).to_lowercase())
}

/// The key that the project has.
async fn kept(admin: &Admin, project: &Project) -> anyhow::Result<Option<HostKey>> {
    let sealed = admin.secrets.secret(&project.id.0, HOST_KEY).await?;
    Ok(sealed.map(|bytes| HostKey::new(String::from_utf8_lossy(&bytes))))
}

pub(super) async fn keep(admin: &Admin, project: &Project, key: Option<&HostKey>) -> anyhow::Result<()> {
    if let Some(key) = key {
        admin.secrets.put_secret(&project.id.0, HOST_KEY, key.reveal().as_bytes()).await?;
    }
    Ok(())
}

/// Of a host that the repository is no longer on.
pub(super) async fn forget(admin: &Admin, project: &Project) -> anyhow::Result<()> {
    admin.secrets.remove_secret(&project.id.0, HOST_KEY).await?;
    Ok(())
}

/// `docwright project hook`
pub(super) async fn hook(sources: &Sources, args: HookOfProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = project(&admin, &args.id).await?;
    let kind = project.hosting.kind.as_deref();
    let kind = kind.context("the repository is on this machine, where nothing needs to be told")?;
    let sealed = admin.secrets.secret(&project.id.0, HOOK_SECRET).await?.filter(|_| !args.rotate);
    let secret = match sealed {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => {
            let secret = Token::random().reveal().to_owned();
            admin.secrets.put_secret(&project.id.0, HOOK_SECRET, secret.as_bytes()).await?;
            secret
        }
    };
    let base = sources.public_url(None)?.or(admin.url.clone());
    let base = base.unwrap_or_else(|| server::USUAL_URL.to_owned());
    let url = format!("{base}/hooks/{kind}/{}", project.id);
    if args.json {
        return output::json(&json!({ "url": url, "secret": secret }));
    }
    output::say(
        "Set up a webhook at the host, for pull requests and pushes, as JSON, with this address and secret:",
    );
    output::fields(&[("address", &url), ("secret", &secret)])
}
