//! `docwright serve`

use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::Context;
use base::SystemClock;
use server::{Server, Settings};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::args::Serve;
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, args: Serve) -> anyhow::Result<()> {
    start_log("info");
    let settings = settings(sources, &args)?;
    let server = Server::open(&settings, Arc::new(SystemClock)).await?;
    output::say(format!("Docwright serves {} (data in {})", server.app.public_url, settings.data.display()));
    if let Some(link) = server.first_login().await? {
        output::say(format!("Nobody is signed in yet. This link works once, for 15 minutes:\n  {link}"));
    }
    server.run(stop_on_signal()?).await
}

fn settings(sources: &Sources, args: &Serve) -> anyhow::Result<Settings> {
    let mut settings = sources.data(args.data.data.as_deref())?;
    if let Some(listen) = sources.text("listen", args.listen.as_deref())? {
        settings.listen = listen
            .parse()
            .with_context(|| format!("`{listen}` is no address to listen on; one is 127.0.0.1:4747"))?;
    }
    settings.public_url = sources.public_url(args.public_url.as_deref())?;
    let proxies = (!args.trusted_proxy.is_empty()).then(|| args.trusted_proxy.join(","));
    let proxies = sources.text("trusted_proxies", proxies.as_deref())?.unwrap_or_default();
    let proxies = proxies.split(',').map(str::trim).filter(|proxy| !proxy.is_empty());
    settings.proxies.trusted = proxies.map(parse_proxy).collect::<Result<_, _>>()?;
    if let Some(header) = sources.text("proxy_header", args.proxy_header.as_deref())? {
        settings.proxies.header = header.parse().map_err(anyhow::Error::msg)?;
    }
    settings.limits.jobs = number(sources, "jobs_per_hour", &args.jobs_per_hour, settings.limits.jobs)?;
    settings.limits.reads = number(sources, "reads_per_hour", &args.reads_per_hour, settings.limits.reads)?;
    settings.workers =
        number(sources, "workers", &args.workers, settings.workers as u32)?.min(1_000) as usize;
    Ok(settings)
}

fn number(sources: &Sources, name: &str, flag: &Option<String>, default: u32) -> anyhow::Result<u32> {
    let Some(text) = sources.text(name, flag.as_deref())? else { return Ok(default) };
    let number = text.parse().ok().filter(|number| *number > 0);
    number.with_context(|| format!("{name} must be a whole number, at least 1"))
}

fn parse_proxy(text: &str) -> anyhow::Result<ipnet::IpNet> {
    let address = text.parse::<std::net::IpAddr>().map(ipnet::IpNet::from);
    address.or_else(|_| text.parse()).with_context(|| format!("`{text}` is no address or CIDR range"))
}

/// Text for a person at a terminal, JSON for a machine that collects it.
pub(crate) fn start_log(default: &str) {
    let filter = EnvFilter::try_from_env("DOCWRIGHT_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        log.with_ansi(std::env::var_os("NO_COLOR").is_none()).init();
    } else {
        log.json().init();
    }
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
            output::say("Stopping: requests end, jobs are given back. Once more to stop at once.");
            told.cancel();
        }
    });
    Ok(stop)
}
