//! Parses the values of settings.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use ipnet::IpNet;
use server::DAY;
use store::ViewsChoice;
use traffic::is_clickhouse_name;

pub(crate) fn parse_listen(text: &str) -> anyhow::Result<SocketAddr> {
    text.parse().map_err(|_| anyhow!("`{text}` is not an address with a port, such as 127.0.0.1:4747"))
}

pub(crate) fn parse_positive(text: &str) -> anyhow::Result<u32> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.context("it must be a whole number, at least 1")
}

/// Why `docwright worker` refuses `workers = 0`.
pub(crate) const NO_WORKERS: &str = "`docwright worker` only runs jobs: set --workers to at least 1";

/// The value of `--workers` of `docwright worker`.
pub(crate) fn parse_worker_count(text: &str) -> anyhow::Result<u32> {
    let count = parse_count(text)?;
    ensure!(count > 0, NO_WORKERS);
    Ok(count)
}

pub(super) fn parse_count(text: &str) -> anyhow::Result<u32> {
    text.parse().ok().context("it must be a whole number, or 0")
}

/// `None`, which 0 stands for, is forever.
pub(super) fn parse_days(text: &str) -> anyhow::Result<Option<Duration>> {
    let days = parse_count(text)?;
    Ok((days > 0).then(|| DAY.saturating_mul(days)))
}

pub(super) fn parse_bool(text: &str) -> anyhow::Result<bool> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => bail!("it must be true or false"),
    }
}

pub(super) fn parse_views_choice(text: &str) -> anyhow::Result<ViewsChoice> {
    match text {
        "yes" | "true" => Ok(ViewsChoice::Take),
        "no" | "false" => Ok(ViewsChoice::Leave),
        _ => bail!("it must be yes or no"),
    }
}

/// The name becomes a part of statements.
pub(super) fn parse_cluster(text: &str) -> anyhow::Result<String> {
    ensure!(is_clickhouse_name(text), "it must be a name of letters, digits and _");
    Ok(text.to_owned())
}

/// A list, separated by commas.
pub(super) fn parse_proxies(text: &str) -> anyhow::Result<Vec<IpNet>> {
    text.split(',').map(str::trim).filter(|proxy| !proxy.is_empty()).map(parse_proxy).collect()
}

fn parse_proxy(text: &str) -> anyhow::Result<IpNet> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    address.or_else(|_| text.parse()).with_context(|| format!("`{text}` is not an IP address or CIDR range"))
}
