//! Runs `docwright worker`: jobs, without the API and the dashboard.

use std::sync::Arc;

use base::SystemClock;
use server::WorkerProcess;

use crate::args::Worker;
use crate::settings::{CommandKind, NO_WORKERS, Sources};
use crate::{log, serve};

pub(crate) async fn run(sources: &Sources, args: &Worker) -> anyhow::Result<()> {
    let settings = sources.settings(CommandKind::Worker, &args.data, &args.settings.flags)?;
    anyhow::ensure!(settings.server.workers > 0, "workers: {NO_WORKERS}");
    log::start(&settings.log)?;
    let settings = settings.server;
    let stop = serve::stop_on_signal()?;
    let opening = WorkerProcess::open_when_reachable(&settings, Arc::new(SystemClock));
    let Some(worker) = stop.run_until_cancelled(opening).await.transpose()? else { return Ok(()) };
    log::announce(&format!("Docwright runs jobs (caches in {})", settings.data.display()));
    worker.run(stop).await;
    Ok(())
}
