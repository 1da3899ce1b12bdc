//! Runs `docwright serve`: the API, the dashboard and the worker in one process.

use std::io::IsTerminal;
use std::sync::Arc;

use base::SystemClock;
use server::Server;
use store::ViewsChoice;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::Serve;
use crate::settings::{CommandKind, Sources};
use crate::{log, output};

pub(crate) async fn run(sources: &Sources, args: Serve) -> anyhow::Result<()> {
    let settings = sources.settings(CommandKind::Serve, &args.data, &args.settings.flags)?;
    log::start(&settings.log)?;
    let mut settings = settings.server;
    if args.force {
        anyhow::ensure!(settings.page_views == ViewsChoice::Take, "--force needs --page-views yes");
        settings.page_views = ViewsChoice::TakeEmpty;
    }
    // Before the wait for the database, which a signal must be able to end.
    let stop = stop_on_signal()?;
    let opening = Server::open_when_reachable(&settings, Arc::new(SystemClock));
    let Some(server) = stop.run_until_cancelled(opening).await.transpose()? else { return Ok(()) };
    log::announce(&format!(
        "Docwright serves {} (data directory {})",
        server.app.public_url,
        settings.data.display()
    ));
    if settings.workers == 0 && settings.database_url.is_none() {
        log::announce(
            "This server runs no jobs, because --workers is 0, and no other process can run them without a PostgreSQL database. Set --workers to at least 1.",
        );
    }
    let repeat_flags = sources.repeat_flags(&args.data);
    offer_login(&server, &repeat_flags).await?;
    offer_project(&server, &repeat_flags).await?;
    server.run(stop).await
}

/// The login link is a secret, so it is printed to a terminal and never to a log.
async fn offer_login(server: &Server, repeat_flags: &str) -> anyhow::Result<()> {
    if !std::io::stderr().is_terminal() {
        if !server.app.sessions.has_live_session().await? {
            log::announce(&format!(
                "Nobody is signed in yet. To sign in, run `docwright login{repeat_flags}` and open its link."
            ));
        }
    } else if let Some(link) = server.first_login().await? {
        output::print_message(format!(
            "Nobody is signed in yet. To sign in, open this link. It works once, within 15 minutes:\n  {link}"
        ));
    }
    Ok(())
}

/// Everything that a browser can do works without one.
async fn offer_project(server: &Server, repeat_flags: &str) -> anyhow::Result<()> {
    if server.app.accounts.projects(None).await?.is_empty() {
        log::announce(&format!(
            "There is no project yet. To create one without a browser, with the URL of its repository or a path on this machine: docwright project create --name docs --repository URL{repeat_flags}"
        ));
    }
    Ok(())
}

/// The first SIGTERM or SIGINT starts a graceful stop; the second one ends the process immediately.
pub(crate) fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let cancel = stop.clone();
    tokio::spawn(async move {
        for is_second in [false, true] {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            if is_second {
                std::process::exit(1);
            }
            log::announce(
                "Stopping: requests finish, and running jobs go back to the queue. Press Ctrl-C again to stop immediately.",
            );
            cancel.cancel();
        }
    });
    Ok(stop)
}
