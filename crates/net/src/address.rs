//! Blocks requests to internal addresses (SSRF protection).
//!
//! A URL is checked when it is configured. Every DNS lookup is checked again, because the owner of a name can
//! point it to another address at any time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Cloud metadata services, which hand out the credentials of this machine.
const METADATA_HOSTS: &[&str] =
    &["metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"];

/// Cloud metadata services at addresses that are not link-local.
const METADATA_ADDRESSES: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Parses and checks the URL of a service. The error is a sentence with the subject `name`. Where it helps,
/// the error advises to change `setting`, which allows private addresses.
pub fn parse_url(name: &str, text: &str, allow_private: bool, setting: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|_| format!("{name} must look like https://example.com/v1"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(format!("{name} must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{name} must not contain a user or password. Set the key separately"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{name} must not contain `?` or `#`"));
    }
    let host = url.host_str().unwrap_or_default();
    check_host(host, allow_private).map_err(|blocked| format!("{name}: {}", blocked.with_advice(setting)))?;
    if url.scheme() == "http" && !allow_private {
        return Err(format!(
            "{name} must begin with https://. For a host in your own network, set {setting}"
        ));
    }
    Ok(url)
}

/// Whether a URL names this machine or a private network: by an address, or by a name without a dot, which only a
/// local network resolves. Nothing is looked up.
pub fn is_private_url(text: &str) -> bool {
    let Ok(url) = Url::parse(text.trim()) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.');
    match host.parse() {
        Ok(address) => !is_public(address),
        Err(_) => !host.contains('.') || host.ends_with(".localhost"),
    }
}

fn check_host(host: &str, allow_private: bool) -> Result<(), BlockedAddress> {
    let bare = host.trim_matches(['[', ']']);
    if let Ok(address) = bare.parse() {
        return check(address, allow_private);
    }
    let name = bare.trim_end_matches('.').to_ascii_lowercase();
    if METADATA_HOSTS.contains(&name.as_str()) { Err(BlockedAddress(Reason::AlwaysBlocked)) } else { Ok(()) }
}

/// A DNS resolver that fails for blocked addresses.
pub(crate) struct FilteringResolver {
    pub(crate) allow_private: bool,
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            found.iter().try_for_each(|found| check(found.ip(), allow_private))?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The error for an address that the server must not call.
#[derive(Debug, thiserror::Error)]
#[error("{}", match .0 {
    Reason::AlwaysBlocked => "a cloud metadata, link-local or multicast address is never called",
    Reason::Private => "it is on this machine or in a private network",
})]
pub struct BlockedAddress(Reason);

impl BlockedAddress {
    /// The error with advice: `setting` allows private addresses for this caller.
    pub fn with_advice(&self, setting: &str) -> String {
        match self.0 {
            Reason::AlwaysBlocked => self.to_string(),
            Reason::Private => format!("{self}. To allow this, set {setting}"),
        }
    }
}

#[derive(Debug)]
enum Reason {
    AlwaysBlocked,
    Private,
}

fn check(address: IpAddr, allow_private: bool) -> Result<(), BlockedAddress> {
    let destinations = possible_destinations(address);
    if destinations.iter().any(|destination| is_always_blocked(*destination)) {
        return Err(BlockedAddress(Reason::AlwaysBlocked));
    }
    let is_private = destinations.iter().any(|destination| is_private(*destination));
    if is_private && !allow_private { Err(BlockedAddress(Reason::Private)) } else { Ok(()) }
}

/// Whether an address is neither on this machine nor in a private network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    check(address, false).is_ok()
}

/// The addresses at which packets to `address` may arrive: the address itself, and for an IPv6 address that
/// embeds an IPv4 address also the embedded one (mapped, compatible, translated, NAT64, 6to4, Teredo).
fn possible_destinations(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(six) = address else { return vec![address] };
    let joined =
        |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)));
    let embedded = match six.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => vec![],
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => vec![joined(high, low)],
        // The translator decides where the IPv4 address is: at the end, or split by eight other bits.
        [0x64, 0xff9b, 1, first, second, third, high, low] => {
            [joined(high, low), joined(first, second << 8 | third >> 8)].into_iter().filter(is_host).collect()
        }
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            [joined(!high, !low), joined(server_high, server_low)].into_iter().filter(is_host).collect()
        }
        [0x2002, high, low, ..] => vec![joined(high, low)],
        _ => vec![],
    };
    [vec![address], embedded].concat()
}

/// False for padding: the bits beside an embedded address are all zeros or all ones.
fn is_host(address: &IpAddr) -> bool {
    !matches!(address, IpAddr::V4(four) if matches!(four.octets()[0], 0 | 255))
}

fn is_always_blocked(address: IpAddr) -> bool {
    METADATA_ADDRESSES.contains(&address)
        || address.is_unspecified()
        || address.is_multicast()
        || match address {
            IpAddr::V4(four) => four.is_link_local() || four.is_broadcast() || four.octets()[0] == 0,
            IpAddr::V6(six) => six.is_unicast_link_local(),
        }
}

fn is_private(address: IpAddr) -> bool {
    address.is_loopback()
        || match address {
            IpAddr::V4(four) => {
                let [a, b, c, _] = four.octets();
                let shared = a == 100 && (64..128).contains(&b);
                let special = (a == 192 && b == 0 && c == 0) || (a == 198 && (b & 0xfe) == 18) || a >= 240;
                four.is_private() || shared || special
            }
            IpAddr::V6(six) => six.is_unique_local() || is_site_local_or_tunneled(six.segments()),
        }
}

/// IPv6 ranges that can lead into a private network: the deprecated site-local range, and ranges whose
/// packets a translator or a tunnel forwards to an IPv4 address that only it knows (local NAT64,
/// IPv4-translated, Teredo).
fn is_site_local_or_tunneled(segments: [u16; 8]) -> bool {
    matches!(segments, [0x64, 0xff9b, 1, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x2001, 0, ..])
        || (segments[0] & 0xffc0) == 0xfec0
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn private_urls() {
        for private in [
            "http://127.0.0.1:11434/v1",
            "http://[::1]/v1",
            "http://10.1.2.3",
            "http://localhost:8000",
            "http://ollama/v1",
        ] {
            assert!(is_private_url(private), "{private}");
        }
        for public in
            ["https://api.openai.com/v1", "https://9.9.9.9/v1", "https://models.example.com.", "no URL"]
        {
            assert!(!is_private_url(public), "{public}");
        }
    }

    #[test]
    fn internal_addresses_are_blocked_in_every_spelling() {
        let always_blocked = [
            "http://169.254.169.254",
            "https://169.254.169.254/latest",
            "http://[::ffff:169.254.169.254]",
            "http://[64:ff9b::a9fe:a9fe]",
            "http://[2002:a9fe:a9fe::1]",
            "http://[::ffff:0:a9fe:a9fe]",
            "http://[::ffff:0:169.254.169.254]",
            "http://[64:ff9b:1::a9fe:a9fe]",
            "http://[64:ff9b:1:a9fe:a9:fe00::]",
            "http://[2001:0:a9fe:a9fe::1]",
            "http://[2001::5601:5601]",
            "http://0xa9fea9fe",
            "http://2852039166",
            "http://0251.0376.0251.0376",
            "http://[fe80::1]",
            "http://[fd00:ec2::254]",
            "http://100.100.100.200",
            "http://168.63.129.16",
            "http://metadata.google.internal",
            "https://METADATA.google.internal./v1",
            "http://0.0.0.0",
            "http://0",
            "http://[::]",
            "http://224.0.0.1",
            "http://255.255.255.255",
        ];
        for url in always_blocked {
            let error = parse_url("base_url", url, true, "allow_private").unwrap_err();
            assert!(error.contains("is never called"), "{url}: {error}");
        }
        let private = [
            "https://127.0.0.1",
            "https://[::1]",
            "https://[::ffff:127.0.0.1]",
            "https://[::7f00:2]",
            "https://0x7f.1",
            "https://2130706433",
            "https://10.0.0.1",
            "https://172.16.5.5",
            "https://192.168.1.1",
            "https://100.64.0.1",
            "https://198.18.0.1",
            "https://[fc00::1]",
            "https://[fec0::1]",
            "https://[::ffff:0:127.0.0.1]",
            "https://[::ffff:0:8.8.8.8]",
            "https://[0:0:0:0:ffff:0:808:808]",
            "https://[64:ff9b:1::808:808]",
            "https://[0064:FF9B:0001::8.8.8.8]",
            "https://[64:ff9b:1:ffff:ffff:ffff:ffff:ffff]",
            "https://[2001::1]",
            "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
            "https://[2001:0000:ffff:ffff:ffff:ffff:ffff:ffff]",
        ];
        for url in private {
            let error = parse_url("base_url", url, false, "allow_private").unwrap_err();
            assert!(error.contains("To allow this, set allow_private"), "{url}: {error}");
            parse_url("base_url", url, true, "allow_private").unwrap();
        }
    }

    #[test]
    fn a_base_url_has_only_scheme_host_and_path() {
        for (url, expected) in [
            ("ftp://example.com", "base_url must begin with https:// or http://"),
            ("file:///etc/passwd", "base_url must begin with https:// or http://"),
            ("example.com", "base_url must look like https://example.com/v1"),
            ("https://me:secret@example.com", "must not contain a user or password"),
            ("https://example.com/?key=1", "base_url must not contain `?` or `#`"),
            ("http://example.com", "base_url must begin with https://. For"),
        ] {
            let error = parse_url("base_url", url, false, "allow_private").unwrap_err();
            assert!(error.contains(expected) && !error.contains("secret"), "{url}: {error}");
        }
        parse_url("base_url", "https://8.8.8.8/v1", false, "allow_private").unwrap();
        // Addresses next to the blocked ranges are allowed.
        for public in ["2606:4700::1111", "64:ff9b::808:808", "64:ff9b:2::1", "2001:1::1", "2001:4860::8888"]
        {
            parse_url("base_url", &format!("https://[{public}]"), false, "allow_private").unwrap();
        }
        parse_url("base_url", "http://example.com", true, "allow_private").unwrap();
    }

    proptest! {
        #[test]
        fn every_spelling_of_a_private_range_is_blocked(range in 0..3_usize, rest: [u16; 8], long: bool, upper: bool) {
            let mut segments = rest;
            let start: &[u16] = [&[0x64, 0xff9b, 1][..], &[0, 0, 0, 0, 0xffff, 0], &[0x2001, 0]][range];
            segments[..start.len()].copy_from_slice(start);
            let text = match long {
                true => segments.map(|segment| format!("{segment:04x}")).join(":"),
                false => Ipv6Addr::from(segments).to_string(),
            };
            let text = if upper { text.to_ascii_uppercase() } else { text };
            let url = format!("https://[{text}]/v1");
            prop_assert!(parse_url("base_url", &url, false, "allow_private").is_err(), "{}", url);
            prop_assert!(!is_public(IpAddr::from(segments)));
        }
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_loopback_is_blocked() {
        let look_up =
            |allow_private| FilteringResolver { allow_private }.resolve(Name::from_str("localhost").unwrap());
        let Err(error) = look_up(false).await else { panic!("localhost was allowed") };
        assert!(error.downcast_ref::<BlockedAddress>().is_some(), "{error}");
        assert!(look_up(true).await.unwrap().all(|found| found.ip().is_loopback()));
    }
}
