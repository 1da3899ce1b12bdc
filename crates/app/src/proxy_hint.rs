//! Detects a reverse proxy that the server isn't configured to trust, and names the missing setting.
//!
//! Behind such a proxy all people have the same address, and share its password attempts. The evidence is
//! that different people sign in from one private address, with a header that only proxies send.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::request::Parts;
use store::{DataDir, parse_person_name};

use crate::address::peer;
use crate::app::App;
use crate::settings::ProxyHeader;

/// So many names from one address belong to more than one person.
const MIN_NAMES: usize = 5;
const MAX_ADDRESSES: usize = 64;

#[derive(Default)]
pub struct ProxyHint(Mutex<State>);

#[derive(Default)]
struct State {
    /// Hashes of the names that were tried, by address.
    names: HashMap<IpAddr, HashSet<u64>>,
    is_reported: bool,
}

/// A request that may come from an untrusted proxy.
#[derive(Debug, Clone, Copy)]
pub struct Suspicion {
    address: IpAddr,
    header: ProxyHeader,
}

impl Suspicion {
    pub fn of(parts: &Parts, app: &App) -> Option<Self> {
        let address = peer(parts).filter(|address| is_private(*address))?;
        let headers = [ProxyHeader::XForwardedFor, ProxyHeader::Forwarded];
        let header = headers.into_iter().find(|header| parts.headers.contains_key(header.name()))?;
        let is_trusted = app.proxies.trusted.iter().any(|net| net.contains(&address));
        (!is_trusted).then_some(Self { address, header })
    }

    /// Records an attempt to sign in as `name`.
    pub fn note_name(self, app: &App, name: &str) {
        let Ok(name) = parse_person_name(name) else { return };
        if !app.proxy_hint.add_name(self.address, &name) {
            return;
        }
        let sentence = self.sentence();
        tracing::warn!("{sentence}");
        if let Err(error) = DataDir::at(&app.data).note_untrusted_proxy(&sentence) {
            tracing::warn!("cannot record the proxy for `docwright doctor`: {error}");
        }
    }

    fn sentence(self) -> String {
        let Self { address, header } = self;
        let (name, flag) = match header {
            ProxyHeader::XForwardedFor => ("X-Forwarded-For", ""),
            ProxyHeader::Forwarded => ("Forwarded", " --proxy-header Forwarded"),
        };
        format!(
            "{address} is probably a reverse proxy: {MIN_NAMES} different names signed in from there with the \
             header {name}. All people behind it share 20 password attempts a minute. Start the server with \
             --trusted-proxy {address}{flag}, or set trusted_proxies = \"{address}\" in docwright.toml."
        )
    }
}

impl ProxyHint {
    /// Returns true once: when this name makes it likely that `address` is a proxy.
    fn add_name(&self, address: IpAddr, name: &str) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = state.names.contains_key(&address);
        if state.is_reported || (!is_known && state.names.len() >= MAX_ADDRESSES) {
            return false;
        }
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let names = state.names.entry(address).or_default();
        names.insert(hasher.finish());
        state.is_reported = names.len() >= MIN_NAMES;
        state.is_reported
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_from_one_address_are_reported_once() {
        let hint = ProxyHint::default();
        let [proxy, other] = ["10.0.0.2", "10.0.0.3"].map(|text| text.parse::<IpAddr>().unwrap());
        for name in ["a", "b", "c", "d"] {
            assert!(!hint.add_name(proxy, name) && !hint.add_name(proxy, name));
            assert!(!hint.add_name(other, "a"), "one person who retries");
        }
        assert!(hint.add_name(proxy, "e"));
        assert!(!hint.add_name(proxy, "f"));
    }

    #[test]
    fn private_addresses() {
        for address in ["127.0.0.1", "10.1.2.3", "172.17.0.1", "192.168.1.1", "::1", "fd00::1", "fe80::1"] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in ["8.8.8.8", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }
}
