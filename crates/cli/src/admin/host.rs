//! Reads the flags for repository hosts, and runs `docwright project hook`.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;
use server::{HOOK_SECRET, HostKey};
use store::{FieldChange, HostApp, Hosting, ProjectChange, Token};

use super::project::{parse_field, replacement, without_duplicates};
use super::{open, project, record_audit, server_url};
use crate::args::{HostArgs, ProjectHook};
use crate::output;
use crate::settings::Sources;

/// Reads the token, or the key of a GitHub App, if a flag names its file.
pub(super) fn key(args: &HostArgs) -> anyhow::Result<Option<HostKey>> {
    let token = args.token_file.as_deref().map(|path| ("--token-file", path));
    let file = token.or(args.app_key_file.as_deref().map(|path| ("--app-key-file", path)));
    file.map(|(flag, path)| read_key(path).with_context(|| format!("{flag} {}", path.display()))).transpose()
}

fn read_key(path: &Path) -> anyhow::Result<HostKey> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin())?,
        false => std::fs::read_to_string(path)?,
    };
    ensure!(!text.trim().is_empty(), "the file is empty: write the token or the private key to it");
    Ok(HostKey::new(text.trim()))
}

pub(super) fn hosting(args: &HostArgs) -> Hosting {
    Hosting {
        kind: args.host.clone().filter(|kind| !kind.is_empty()),
        app: app(args),
        labels: without_duplicates(&args.label),
        reviewers: without_duplicates(&args.reviewer),
        author: args.author.clone().and_then(|author| author.0),
    }
}

fn app(args: &HostArgs) -> Option<HostApp> {
    args.app.clone().map(|id| HostApp { id, installation: args.installation })
}

/// Adds the flags for the host to a change.
pub(super) fn add_host_change(args: &HostArgs, change: ProjectChange) -> ProjectChange {
    // A token replaces an app, and an app replaces a token.
    let key_changes = args.token_file.is_some() || args.app_key_file.is_some();
    ProjectChange {
        host_kind: parse_field(args.host.as_deref()),
        host_app: if key_changes { app(args).into() } else { FieldChange::Keep },
        labels: replacement(&args.label).map(without_duplicates),
        reviewers: replacement(&args.reviewer).map(without_duplicates),
        author: args.author.clone().map_or(FieldChange::Keep, |author| author.0.into()),
        ..change
    }
}

/// Runs `docwright project hook`.
pub(super) async fn hook(sources: &Sources, args: ProjectHook) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = project(&admin, &args.id).await?;
    let kind = project.hosting.kind.as_deref();
    let kind = kind.context("the repository is on this machine, so it needs no webhook")?;
    let sealed = admin.secrets.secret(&project.id.0, HOOK_SECRET).await?;
    let audit = match &sealed {
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
    record_audit(&admin, &project.organization, audit, &project.name).await?;
    let url = format!("{}/hooks/{kind}/{}", server_url(sources, None, &admin)?, project.id);
    if args.json {
        return output::print_json(&json!({ "url": url, "secret": secret }));
    }
    output::print_message(
        "On the repository host, create a webhook for pull requests and pushes, with JSON content and this address and secret:",
    );
    output::print_fields(&[("address", &url), ("secret", &secret)])
}
