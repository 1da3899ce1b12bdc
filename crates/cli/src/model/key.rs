//! Runs `docwright model key`: stores the key of a model, encrypted, if its settings name none.

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

/// Far longer than any key.
const MAX_KEY_BYTES: u64 = 8 * 1024;

pub(super) async fn run(sources: &Sources, args: ModelKey) -> anyhow::Result<()> {
    let name = &args.name;
    let Some(path) = &args.key_file else { return remove(sources, &args).await };
    let table = super::find_table(sources, name)?;
    let key = read_key(path)?;
    let admin = admin::open_or_create(sources, &args.data, false).await?;
    server::store_model_key(&*admin.secrets, name, &key).await?;
    output::print_message(match table.key_source() {
        Some(source) => format!(
            "Stored the key of {name}, but it is not used: the settings name a {source} for the key, which wins."
        ),
        None => {
            format!("Stored the key of {name}, encrypted. A running server uses it after a restart.")
        }
    });
    Ok(())
}

/// Removes a stored key, also of a model that is no longer in the settings.
async fn remove(sources: &Sources, args: &ModelKey) -> anyhow::Result<()> {
    let (name, admin) = (&args.name, admin::open(sources, &args.data).await?);
    let removed = server::remove_model_key(&*admin.secrets, name).await?;
    ensure!(removed, "there is no stored key for a model {name}; see `docwright model list`");
    output::print_message(format!(
        "Removed the key of {name}. A running server uses it until its next restart."
    ));
    Ok(())
}

fn read_key(path: &Path) -> anyhow::Result<Secret> {
    let source: &mut dyn Read = if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            output::print_message("Paste the key. Then press Ctrl-D on an empty line.");
        }
        &mut std::io::stdin()
    } else {
        &mut std::fs::File::open(path).with_context(|| format!("--key-file {}", path.display()))?
    };
    let mut text = String::new();
    let read = source.take(MAX_KEY_BYTES + 1).read_to_string(&mut text);
    let key = read.ok().filter(|length| *length as u64 <= MAX_KEY_BYTES).and_then(|_| Secret::parse(&text));
    key.context("the file that --key-file names must contain the key and nothing else")
}

/// Opens the store of keys, if there is one: a command that only reads creates no data directory.
pub(crate) async fn stored_keys(sources: &Sources, data: &Data) -> anyhow::Result<Option<Arc<dyn Secrets>>> {
    let settings = sources.admin_settings(data)?;
    let has_database = || DataDir::find(&settings.data).is_ok_and(|dir| dir.database().exists());
    match settings.database_url.is_some() || has_database() {
        true => Ok(Some(admin::open(sources, data).await?.secrets)),
        false => Ok(None),
    }
}

/// Where a server gets the key from.
pub(super) async fn key_source(
    stored: Option<&dyn Secrets>,
    name: &str,
    table: &ModelTable,
) -> anyhow::Result<&'static str> {
    if let Some(source) = table.key_source() {
        return Ok(source);
    }
    Ok(if find_stored(stored, name).await?.is_some() { "store" } else { "none" })
}

pub(crate) async fn find_stored(stored: Option<&dyn Secrets>, name: &str) -> anyhow::Result<Option<Secret>> {
    match stored {
        Some(secrets) => server::model_key(secrets, name).await,
        None => Ok(None),
    }
}
