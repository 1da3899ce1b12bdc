//! Asks a server whether it can do its work. For containers and service managers, which have no HTTP client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::{create_http_client, errors};
use crate::args::Data;
use crate::output;
use crate::settings::{CommandKind, Flags, Sources};

/// Longer than the server's own limit for its test writes.
const TIMEOUT: Duration = Duration::from_secs(8);

pub(crate) async fn run(sources: &Sources) -> anyhow::Result<()> {
    let settings = sources.settings(CommandKind::Client, &Data::default(), &Flags::default())?;
    let (http, base) = match (settings.url, settings.server.tls_cert) {
        (Some(url), _) => create_http_client(&url)?,
        (None, None) => create_http_client(&format!("http://{}", reachable(settings.server.listen)))?,
        (None, Some(_)) => {
            // The certificate is for the server's name, not for this address. The request has no secret.
            let http = reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build()?;
            (http, format!("https://{}", reachable(settings.server.listen)))
        }
    };
    let response = http.get(format!("{base}/readyz")).timeout(TIMEOUT).send().await;
    let response = response.map_err(|error| errors::unreachable(&base, error))?;
    if !response.status().is_success() {
        return Err(errors::from_response(response).await);
    }
    output::print_bytes(b"ready\n")
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
