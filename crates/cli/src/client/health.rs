//! Asks a server whether it can do its work. For containers and service managers, which have no HTTP client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::Response;

use super::{create_http_client, errors, local_url};
use crate::args::Data;
use crate::output;
use crate::settings::{CommandKind, Flags, Sources};

/// Longer than the server's own limit for its test writes.
const TIMEOUT: Duration = Duration::from_secs(8);

pub(crate) async fn run(sources: &Sources) -> anyhow::Result<()> {
    let settings = sources.settings(CommandKind::Client, &Data::default(), &Flags::default())?;
    let is_address_set = settings.url.is_some() || sources.text("listen", None)?.is_some();
    let (http, base) = match (settings.url, settings.server.tls_cert) {
        (Some(url), _) => create_http_client(&url)?,
        (None, None) => create_http_client(&format!("http://{}", reachable(settings.server.listen)))?,
        (None, Some(_)) => {
            // The certificate is for the server's name, not for this address. The request has no secret.
            let http = reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build()?;
            (http, format!("https://{}", reachable(settings.server.listen)))
        }
    };
    let mut answer = ask(&http, &base).await;
    // A server that was started with flags is somewhere else. Its data directory says where.
    let remembered = local_url(sources);
    if answer.is_err() && !is_address_set && remembered != base {
        let (http, base) = create_http_client(&remembered)?;
        answer = ask(&http, &base).await;
    }
    let response = answer?;
    if !response.status().is_success() {
        return Err(errors::from_response(response).await);
    }
    output::print_bytes(b"ready\n")
}

async fn ask(http: &reqwest::Client, base: &str) -> anyhow::Result<Response> {
    let answer = http.get(format!("{base}/readyz")).timeout(TIMEOUT).send().await;
    answer.map_err(|error| errors::unreachable(base, error))
}

/// A server that listens on every address is asked at the loopback address.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
