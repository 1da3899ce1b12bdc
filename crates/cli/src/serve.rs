//! `docwright serve`

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use base::SystemClock;
use server::{DAY, ProxyHeader, Server, Settings};
use store::ViewsChoice;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::Serve;
use crate::settings::Sources;
use crate::{log, output};

pub(crate) async fn run(sources: &Sources, args: Serve) -> anyhow::Result<()> {
    let filter = sources.text("log", args.log.as_deref())?;
    let format = sources.text("log_format", args.log_format.as_deref())?;
    log::start(filter.as_deref(), format.as_deref(), "info")?;
    let settings = settings(sources, &args)?;
    // Before it waits for its database, and before anybody is told that it serves.
    let stop = stop_on_signal()?;
    let opening = Server::open_when_reachable(&settings, Arc::new(SystemClock));
    let Some(server) = stop.run_until_cancelled(opening).await.transpose()? else { return Ok(()) };
    log::tell(&format!("Docwright serves {} (data in {})", server.app.public_url, settings.data.display()));
    if settings.workers == 0 && settings.database_url.is_none() {
        log::tell(
            "No job is worked off here: with --workers 0 that is left to others on a PostgreSQL database",
        );
    }
    greet(&server).await?;
    server.run(stop).await
}

/// The link is a secret: it is shown to a person, and not to a log.
async fn greet(server: &Server) -> anyhow::Result<()> {
    if !std::io::stderr().is_terminal() {
        if !server.app.sessions.has_live_session().await? {
            log::tell("Nobody is signed in yet: `docwright login` makes a link to sign in with");
        }
    } else if let Some(link) = server.first_login().await? {
        output::say(format!("Nobody is signed in yet. This link works once, for 15 minutes:\n  {link}"));
    }
    Ok(())
}

pub(crate) fn settings(sources: &Sources, args: &Serve) -> anyhow::Result<Settings> {
    let mut settings = sources.data(&args.data)?;
    if let Some(listen) = sources.text("listen", args.listen.as_deref())? {
        settings.listen = parse_listen(&listen)?;
    }
    settings.public_url = sources.public_url(args.public_url.as_deref())?;
    let proxies = (!args.trusted_proxy.is_empty()).then(|| args.trusted_proxy.join(","));
    let proxies = sources.text("trusted_proxies", proxies.as_deref())?.unwrap_or_default();
    settings.proxies.trusted = parse_proxies(&proxies)?;
    if let Some(header) = sources.text("proxy_header", args.proxy_header.as_deref())? {
        settings.proxies.header = parse_proxy_header(&header).map_err(anyhow::Error::msg)?;
    }
    settings.limits.jobs = number(sources, "jobs_per_hour", &args.jobs_per_hour, settings.limits.jobs)?;
    settings.limits.reads = number(sources, "reads_per_hour", &args.reads_per_hour, settings.limits.reads)?;
    settings.limits.beacons =
        number(sources, "beacons_per_minute", &args.beacons_per_minute, settings.limits.beacons)?;
    let views = &mut settings.views;
    views.raw_days = number(sources, "views_days", &args.views_days, views.raw_days)?;
    views.new_pages = number(sources, "new_pages_per_day", &args.new_pages_per_day, views.new_pages)?;
    let memory = number(sources, "views_memory", &args.views_memory, (views.memory >> 20) as u32)?;
    views.memory = (memory as usize) << 20;
    if let Some(wish) = sources.text("page_views", args.page_views.as_deref())? {
        settings.page_views = parse_wish(&wish).map_err(anyhow::Error::msg)?;
    }
    settings.transcripts = days(sources, "transcript_days", &args.transcript_days, settings.transcripts)?;
    settings.branches = days(sources, "branch_days", &args.branch_days, settings.branches)?;
    work(sources, &mut settings, &args.workers, &args.project_jobs)?;
    settings.metrics = sources.yes("metrics", args.metrics)?;
    Ok(settings)
}

/// What whoever works off jobs is told.
pub(crate) fn work(
    sources: &Sources,
    settings: &mut Settings,
    workers: &Option<String>,
    project_jobs: &Option<String>,
) -> anyhow::Result<()> {
    if let Some(text) = sources.text("cache_gib", None)? {
        settings.caches = u64::from(parse_count(&text).context("cache_gib")?) << 30;
    }
    settings.project_jobs = number(sources, "project_jobs", project_jobs, settings.project_jobs)?;
    if let Some(text) = sources.text("workers", workers.as_deref())? {
        settings.workers = parse_count(&text).context("workers")?.min(1_000) as usize;
    }
    settings.models = sources.models()?;
    settings.agent = sources.agent_limits()?;
    Ok(())
}

pub(crate) fn parse_listen(text: &str) -> anyhow::Result<SocketAddr> {
    text.parse().map_err(|_| anyhow!("`{text}` is no address to listen on; one is 127.0.0.1:4747"))
}

fn number(sources: &Sources, name: &str, flag: &Option<String>, default: u32) -> anyhow::Result<u32> {
    let Some(text) = sources.text(name, flag.as_deref())? else { return Ok(default) };
    parse_number(&text).with_context(|| name.to_owned())
}

/// 0 is for ever.
fn days(
    sources: &Sources,
    name: &str,
    flag: &Option<String>,
    default: Option<Duration>,
) -> anyhow::Result<Option<Duration>> {
    let Some(text) = sources.text(name, flag.as_deref())? else { return Ok(default) };
    let days = parse_count(&text).with_context(|| name.to_owned())?;
    Ok((days > 0).then(|| DAY.saturating_mul(days)))
}

pub(crate) fn parse_number(text: &str) -> anyhow::Result<u32> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.context("it must be a whole number, at least 1")
}

pub(crate) fn parse_count(text: &str) -> anyhow::Result<u32> {
    text.parse().ok().context("it must be a whole number, or 0")
}

pub(crate) fn parse_wish(text: &str) -> Result<ViewsChoice, String> {
    match text {
        "yes" | "true" => Ok(ViewsChoice::Take),
        "no" | "false" => Ok(ViewsChoice::Leave),
        _ => Err("page_views is yes or no".into()),
    }
}

pub(crate) fn parse_proxy_header(text: &str) -> Result<ProxyHeader, String> {
    text.parse()
}

/// Those that stand between commas.
pub(crate) fn parse_proxies(text: &str) -> anyhow::Result<Vec<ipnet::IpNet>> {
    text.split(',').map(str::trim).filter(|proxy| !proxy.is_empty()).map(parse_proxy).collect()
}

fn parse_proxy(text: &str) -> anyhow::Result<ipnet::IpNet> {
    let address = text.parse::<std::net::IpAddr>().map(ipnet::IpNet::from);
    address.or_else(|_| text.parse()).with_context(|| format!("`{text}` is no address or CIDR range"))
}

/// The first SIGTERM or SIGINT asks for a graceful stop; the second one ends it here and now.
pub(crate) fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let told = stop.clone();
    tokio::spawn(async move {
        for last in [false, true] {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            if last {
                std::process::exit(1);
            }
            log::tell("Stopping: requests end, jobs are given back. Once more to stop at once.");
            told.cancel();
        }
    });
    Ok(stop)
}
