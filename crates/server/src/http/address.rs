//! The client's address: the connection's, unless a proxy that the operator trusts says more.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ipnet::IpNet;

use super::error::ApiError;
use crate::app::App;

pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl FromRequestParts<App> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.ok_or_else(|| anyhow::anyhow!("the connection has no address"))?.0.ip();
        Ok(Self(client(peer, &parts.headers, &app.trusted_proxies)))
    }
}

/// Walks the chain of proxies from the nearest: the first address that is no trusted proxy
/// is the client. What stands further left was written by the client itself.
fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(&address.to_canonical()));
    let mut nearest = peer;
    for hop in forwarded(headers).into_iter().rev() {
        if !is_trusted(&nearest) {
            break;
        }
        match hop {
            Some(address) => nearest = address,
            None => break,
        }
    }
    nearest.to_canonical()
}

/// The hops as told, nearest last; `None` for one that is no address. `Forwarded` is the
/// standard and wins over the older header.
fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let values = |name: &str| {
        let all = headers.get_all(name).iter().filter_map(|v| v.to_str().ok());
        all.flat_map(|v| v.split(',')).map(|v| v.trim().to_owned()).collect::<Vec<_>>()
    };
    let standard = values("forwarded");
    if !standard.is_empty() {
        return standard.iter().map(|element| forwarded_for(element)).collect();
    }
    values("x-forwarded-for").iter().map(|hop| parse_hop(hop)).collect()
}

fn forwarded_for(element: &str) -> Option<IpAddr> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| parse_hop(value.trim().trim_matches('"')))?
    })
}

/// An address, with or without a port, IPv6 in brackets or bare.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.trim().trim_start_matches('[').split(']').next()?;
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|hop| hop.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_addresses() {
        #[track_caller]
        fn check(peer: &str, header: (&'static str, &str), expected: &str) {
            let trusted = ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
            let mut headers = HeaderMap::new();
            headers.insert(header.0, header.1.parse().unwrap());
            assert_eq!(client(peer.parse().unwrap(), &headers, &trusted).to_string(), expected);
        }
        const XFF: &str = "x-forwarded-for";
        check("192.0.2.9", (XFF, "203.0.113.5"), "192.0.2.9"); // not a proxy of ours: a lie
        check("10.0.0.1", (XFF, "203.0.113.5"), "203.0.113.5");
        check("10.0.0.1", (XFF, "1.2.3.4, 203.0.113.5"), "203.0.113.5"); // the left one is the client's word
        check("10.0.0.1", (XFF, "203.0.113.5, 10.0.0.2"), "203.0.113.5");
        check("10.0.0.1", (XFF, "203.0.113.5, junk"), "10.0.0.1");
        check("10.0.0.1", (XFF, "203.0.113.5:4000"), "203.0.113.5");
        check("::1", ("forwarded", "for=\"[2001:db8::7]:4711\";proto=https"), "2001:db8::7");
        check("::1", ("forwarded", "for=203.0.113.5, for=10.0.0.9"), "203.0.113.5");
        check("::1", ("forwarded", "for=_hidden"), "::1");
        check("::ffff:10.0.0.1", (XFF, "203.0.113.5"), "203.0.113.5");
        check("10.0.0.1", ("x-other", "203.0.113.5"), "10.0.0.1");
    }
}
