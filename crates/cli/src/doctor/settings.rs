//! Checks whether `docwright serve` would accept the settings and the models in them. It calls no model.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use base::SystemClock;
use server::{Admin, model};
use store::{DataDir, Secrets};

use super::report::Report;
use crate::args::Data;
use crate::model::key;
use crate::settings::{CommandKind, Flags, Sources};

/// The environment of the doctor can differ from the server's.
const ADVICE: &str = "fix it in docwright.toml, or in the environment that the server starts with: the server does not start with it";

pub(super) async fn check(report: &mut Report, sources: &Sources, data: &Data) {
    let settings = match sources.settings(CommandKind::Serve, data, &Flags::default()) {
        Ok(settings) => settings.server,
        Err(error) => return report.fail("settings", format!("{error:#}"), ADVICE),
    };
    match server::check_tls(&settings) {
        Ok(None) => report.ok("settings", "are valid"),
        Ok(Some(problem)) => {
            report.warn("settings", problem, "the server reads the new one within 10 seconds")
        }
        Err(error) => report.fail("settings", format!("{error:#}"), ADVICE),
    }
    if let Err(error) = check_models(report, sources, data, settings.models).await {
        report.fail("models", format!("{error:#}"), ADVICE);
    }
}

async fn check_models(
    report: &mut Report,
    sources: &Sources,
    data: &Data,
    models: BTreeMap<String, model::Settings>,
) -> anyhow::Result<()> {
    if models.is_empty() {
        return Ok(());
    }
    let Ok(stored) = stored_keys(sources, data).await else {
        let advice = "see the check of the database";
        report.warn("models", "the keys in the database cannot be read", advice);
        return Ok(());
    };
    for (name, mut settings) in models {
        if settings.api_key.is_none() {
            settings.api_key = key::find_stored(stored.as_deref(), &name).await?;
        }
        model::open(&settings).map_err(|error| anyhow!("{name}: {error}"))?;
        report.ok(
            "models",
            format!("{name}: {}; to test whether it answers: docwright model test {name}", settings.model),
        );
    }
    Ok(())
}

/// Opens the store of keys, if there is one. Unlike other commands, the doctor does not upgrade the database.
async fn stored_keys(sources: &Sources, data: &Data) -> anyhow::Result<Option<Arc<dyn Secrets>>> {
    let settings = sources.admin_settings(data)?;
    let dir = DataDir::at(&settings.data);
    if settings.database_url.is_none() && !dir.has_database() {
        return Ok(None);
    }
    Ok(Some(Admin::open_read_only(&settings, &dir, Arc::new(SystemClock)).await?.secrets))
}
