//! Whether `docwright serve` would take the settings, and the models among them. No model is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use base::SystemClock;
use server::{Admin, model};
use store::{DataDir, Secrets};

use super::report::Report;
use crate::args::{Data, Serve};
use crate::model::key;
use crate::serve;
use crate::settings::Sources;

/// What it finds is the environment's of whoever asks, which may not be the server's.
const ADVICE: &str =
    "mend it in docwright.toml or in the environment that the server starts with: it does not start";

pub(super) async fn settings(report: &mut Report, sources: &Sources, data: &Data) {
    let args = Serve { data: data.clone(), ..Serve::default() };
    let found = match serve::settings(sources, &args) {
        Ok(found) => found,
        Err(error) => return report.fail("settings", format!("{error:#}"), ADVICE),
    };
    report.ok("settings", "can be read");
    if let Err(error) = models(report, sources, data, found.models).await {
        report.fail("models", format!("{error:#}"), ADVICE);
    }
}

async fn models(
    report: &mut Report,
    sources: &Sources,
    data: &Data,
    models: BTreeMap<String, model::Settings>,
) -> anyhow::Result<()> {
    if models.is_empty() {
        return Ok(());
    }
    let Ok(kept) = kept(sources, data).await else {
        let advice = "see what is said of the database";
        report.warn("models", "the keys that the database keeps cannot be read", advice);
        return Ok(());
    };
    for (name, mut settings) in models {
        if settings.api_key.is_none() {
            settings.api_key = key::of(kept.as_deref(), &name).await?;
        }
        model::open(&settings).map_err(|why| anyhow!("{name}: {why}"))?;
        report.ok(
            "models",
            format!("{name}: {}; whether it answers: docwright model test {name}", settings.model),
        );
    }
    Ok(())
}

/// Where keys are kept, if there is such a place. Unlike other commands, the doctor changes nothing there.
async fn kept(sources: &Sources, data: &Data) -> anyhow::Result<Option<Arc<dyn Secrets>>> {
    let settings = sources.data(data)?;
    let dir = DataDir::at(&settings.data);
    if settings.database_url.is_none() && !dir.has_database() {
        return Ok(None);
    }
    Ok(Some(Admin::look(&settings, &dir, Arc::new(SystemClock)).await?.secrets))
}
