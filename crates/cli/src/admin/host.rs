//! What a project's repository host is told, and what it is to tell us.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;
use server::{HOOK_SECRET, HostKey};
use store::{HostApp, Hosting, ProjectChange, Token};

use super::project::{each_once, given};
use super::{note, open, project};
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

/// `docwright project hook`
pub(super) async fn hook(sources: &Sources, args: HookOfProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = project(&admin, &args.id).await?;
    let kind = project.hosting.kind.as_deref();
    let kind = kind.context("the repository is on this machine, where nothing needs to be told")?;
    let sealed = admin.secrets.secret(&project.id.0, HOOK_SECRET).await?;
    let what = match &sealed {
        None => "made the hook secret of",
        Some(_) if args.rotate => "rotated the hook secret of",
        Some(_) => "showed the hook secret of",
    };
    let secret = match sealed.filter(|_| !args.rotate) {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => {
            let secret = Token::random().reveal().to_owned();
            admin.secrets.put_secret(&project.id.0, HOOK_SECRET, secret.as_bytes()).await?;
            secret
        }
    };
    note(&admin, &project.organization, what, &project.name).await?;
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
