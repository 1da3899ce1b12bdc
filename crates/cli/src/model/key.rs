//! `docwright model key`: a key that is kept encrypted, for a model whose settings name none.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use server::model::Secret;
use store::{DataDir, Secrets};

use crate::admin;
use crate::args::{Data, ModelKey};
use crate::output;
use crate::settings::{ModelTable, Sources};

/// Far longer than any key, in bytes.
const MAX_KEY: u64 = 8 * 1024;

pub(super) async fn run(sources: &Sources, args: ModelKey) -> anyhow::Result<()> {
    let name = &args.name;
    let Some(path) = &args.key_file else { return remove(sources, &args).await };
    let table = super::table(sources, name)?;
    let key = read(path)?;
    let admin = admin::open_or_create(sources, &args.data, false).await?;
    server::keep_model_key(&*admin.secrets, name, &key).await?;
    output::say(match table.key_place() {
        Some(place) => format!(
            "The key of {name} is kept, but not used: the settings name a {place}, and they come first."
        ),
        None => {
            format!("The key of {name} is kept, encrypted. A server that runs uses it once it is restarted.")
        }
    });
    Ok(())
}

/// Also of a model that the settings do not name any more.
async fn remove(sources: &Sources, args: &ModelKey) -> anyhow::Result<()> {
    let (name, admin) = (&args.name, admin::open(sources, &args.data).await?);
    let removed = server::remove_model_key(&*admin.secrets, name).await?;
    ensure!(removed, "no key of a model {name} is kept; see `docwright model list`");
    output::say(format!("The key of {name} is removed. A server that runs uses it until it is restarted."));
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Secret> {
    let source: &mut dyn Read = if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            output::say("Paste the key; end it with Ctrl-D on a line of its own.");
        }
        &mut std::io::stdin()
    } else {
        &mut std::fs::File::open(path).with_context(|| format!("--key-file {}", path.display()))?
    };
    let mut text = String::new();
    let read = source.take(MAX_KEY + 1).read_to_string(&mut text);
    let key = read.ok().filter(|length| *length as u64 <= MAX_KEY).and_then(|_| Secret::parse(&text));
    key.context("--key-file must hold the key and nothing else")
}

/// Where keys are kept, if there is such a place: who looks for one makes no data directory.
pub(crate) async fn kept(sources: &Sources, data: &Data) -> anyhow::Result<Option<Arc<dyn Secrets>>> {
    let settings = sources.data(data)?;
    let here = || DataDir::find(&settings.data).is_ok_and(|dir| dir.database().exists());
    match settings.database_url.is_some() || here() {
        true => Ok(Some(admin::open(sources, data).await?.secrets)),
        false => Ok(None),
    }
}

/// Where a server would take the key from.
pub(super) async fn place(
    kept: Option<&dyn Secrets>,
    name: &str,
    table: &ModelTable,
) -> anyhow::Result<&'static str> {
    if let Some(place) = table.key_place() {
        return Ok(place);
    }
    Ok(if of(kept, name).await?.is_some() { "store" } else { "none" })
}

pub(crate) async fn of(kept: Option<&dyn Secrets>, name: &str) -> anyhow::Result<Option<Secret>> {
    match kept {
        Some(secrets) => server::model_key(secrets, name).await,
        None => Ok(None),
    }
}
