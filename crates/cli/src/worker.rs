//! `docwright worker`

use std::sync::Arc;

use base::SystemClock;
use server::Workshop;

use crate::args::WorkOnly;
use crate::settings::Sources;
use crate::{log, serve};

pub(crate) async fn run(sources: &Sources, args: &WorkOnly) -> anyhow::Result<()> {
    let filter = sources.text("log", args.log.as_deref())?;
    let format = sources.text("log_format", args.log_format.as_deref())?;
    log::start(filter.as_deref(), format.as_deref(), "info")?;
    let mut settings = sources.data(&args.data)?;
    settings.public_url = sources.public_url(args.public_url.as_deref())?;
    serve::work(sources, &mut settings, &args.workers, &args.project_jobs)?;
    let stop = serve::stop_on_signal()?;
    let opening = Workshop::open_when_reachable(&settings, Arc::new(SystemClock));
    let Some(workshop) = stop.run_until_cancelled(opening).await.transpose()? else { return Ok(()) };
    log::tell(&format!("Docwright works off jobs (caches in {})", settings.data.display()));
    workshop.run(stop).await;
    Ok(())
}
