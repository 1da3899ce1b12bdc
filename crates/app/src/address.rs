//! Determines the client's address: the peer of the connection, or what a trusted proxy says in its header.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::request::Parts;

use crate::app::App;
use crate::settings::{Proxies, ProxyHeader};

/// `None` when a trusted proxy sent something that isn't an address. Then a key that is bound to addresses is
/// refused.
pub struct ClientAddress(pub Option<IpAddr>);

impl FromRequestParts<App> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self(client_address(parts, app)))
    }
}

/// The same, for code outside of extractors.
pub fn client_address(parts: &Parts, app: &App) -> Option<IpAddr> {
    peer(parts).and_then(|peer| client(peer, &parts.headers, &app.proxies))
}

/// The other end of the connection.
pub fn peer(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip().to_canonical())
}

/// Walks the chain of proxies from the nearest one. The first address that isn't a trusted proxy is the
/// client. The client controls everything to the left of it, and every header except the one that the
/// operator's proxy writes.
fn client(peer: IpAddr, headers: &HeaderMap, proxies: &Proxies) -> Option<IpAddr> {
    let mut nearest = peer.to_canonical();
    for hop in hops(headers, proxies.header).into_iter().rev() {
        if !proxies.trusted.iter().any(|net| net.contains(&nearest)) {
            break;
        }
        nearest = hop?.to_canonical();
    }
    Some(nearest)
}

/// The hops in the header, the nearest last. `None` for a hop that isn't an address.
fn hops(headers: &HeaderMap, header: ProxyHeader) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(header.name()).iter().map(|line| line.as_bytes());
    let elements = lines.flat_map(|line| line.split(|byte| *byte == b','));
    let texts = elements.map(|element| std::str::from_utf8(element).unwrap_or_default());
    match header {
        ProxyHeader::XForwardedFor => texts.map(parse_hop).collect(),
        ProxyHeader::Forwarded => texts.map(forwarded_for).collect(),
    }
}

fn forwarded_for(element: &str) -> Option<IpAddr> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| parse_hop(value.trim().trim_matches('"')))?
    })
}

/// An address, with or without a port, IPv6 in brackets or bare.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.trim_start_matches('[').split(']').next()?;
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|hop| hop.ip()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(header: ProxyHeader, peer: &str, sent: &[(&'static str, &[u8])], expected: &str) {
        let trusted = vec!["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        let found = client(peer.parse().unwrap(), &headers, &Proxies { trusted, header });
        assert_eq!(found.map_or("unknown".into(), |address| address.to_string()), expected);
    }

    #[test]
    fn clients_behind_x_forwarded_for() {
        let xff = |peer: &str, value: &str, expected: &str| {
            check(ProxyHeader::XForwardedFor, peer, &[("x-forwarded-for", value.as_bytes())], expected);
        };
        xff("192.0.2.9", "203.0.113.5", "192.0.2.9"); // not a trusted proxy
        xff("10.0.0.1", "203.0.113.5", "203.0.113.5");
        xff("10.0.0.1", "1.2.3.4, 203.0.113.5", "203.0.113.5"); // the client controls the left one
        xff("10.0.0.1", "203.0.113.5, 10.0.0.2", "203.0.113.5");
        xff("10.0.0.1", "203.0.113.5, junk", "unknown");
        xff("10.0.0.1", "", "unknown");
        xff("10.0.0.1", "203.0.113.5:4000", "203.0.113.5");
        xff("::ffff:10.0.0.1", "203.0.113.5", "203.0.113.5");
        let other = [("forwarded", &b"for=10.1.1.1"[..]), ("x-forwarded-for", b"203.0.113.5")];
        check(ProxyHeader::XForwardedFor, "10.0.0.1", &other, "203.0.113.5");
        let latin = [("x-forwarded-for", &b"\xff, 203.0.113.5"[..])];
        check(ProxyHeader::XForwardedFor, "10.0.0.1", &latin, "203.0.113.5");
        let two_lines = [("x-forwarded-for", &b"1.2.3.4"[..]), ("x-forwarded-for", b"203.0.113.5")];
        check(ProxyHeader::XForwardedFor, "10.0.0.1", &two_lines, "203.0.113.5");
        check(ProxyHeader::XForwardedFor, "10.0.0.1", &[], "10.0.0.1");
    }

    #[test]
    fn clients_behind_forwarded() {
        let forwarded = |value: &str, expected: &str| {
            check(ProxyHeader::Forwarded, "::1", &[("forwarded", value.as_bytes())], expected);
        };
        forwarded("for=\"[2001:db8::7]:4711\";proto=https", "2001:db8::7");
        forwarded("for=203.0.113.5, for=10.0.0.9", "203.0.113.5");
        forwarded("for=_hidden", "unknown");
        forwarded("proto=https", "unknown");
        check(ProxyHeader::Forwarded, "::1", &[("x-forwarded-for", b"203.0.113.5")], "::1");
    }
}
