//! Normalizes the origin of a site (scheme, host and port), so that equal origins are equal texts.

use std::net::Ipv6Addr;

/// Parses an origin. The result is as browsers write it: lower case, no default port, nothing after the port.
/// `None` for anything else, such as the `null` that browsers send for a page without an origin.
pub fn parse_site(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let (scheme, rest) = text.split_once("://")?;
    let default_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, digits)) if !digits.ends_with(']') => (host, port(digits)?),
        _ => (authority, default_port),
    };
    let host = host_name(host)?;
    Some(if port == default_port {
        format!("{scheme}://{host}")
    } else {
        format!("{scheme}://{host}:{port}")
    })
}

fn port(digits: &str) -> Option<u16> {
    // `parse` would accept a sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// A name, an IPv4 address, or an IPv6 address in brackets. Browsers send names in other scripts encoded
/// (`xn--`), so other characters are invalid.
fn host_name(text: &str) -> Option<String> {
    if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().ok().map(|address| format!("[{address}]"));
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (!text.is_empty() && text.bytes().all(is_allowed)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(parse_site(text).as_deref(), expected, "{text}");
        }
        let acme = Some("https://docs.acme.dev");
        check("https://docs.acme.dev", acme);
        check("HTTPS://Docs.ACME.dev/", acme);
        check(" https://docs.acme.dev:443 ", acme);
        check("https://docs.acme.dev:8443", Some("https://docs.acme.dev:8443"));
        check("http://docs.acme.dev:443", Some("http://docs.acme.dev:443"));
        check("http://127.0.0.1:80", Some("http://127.0.0.1"));
        check("http://[::1]:4000", Some("http://[::1]:4000"));
        check("http://[0:0:0:0:0:0:0:1]", Some("http://[::1]"));
        check("http://my_host:03000", Some("http://my_host:3000"));
        for invalid in [
            "",
            "null",
            "docs.acme.dev",
            "//docs.acme.dev",
            "https://",
            "https:///",
            "https://:443",
            "https://docs.acme.dev/guide",
            "https://docs.acme.dev//",
            "https://docs.acme.dev?x",
            "https://docs.acme.dev#x",
            "https://me@docs.acme.dev",
            "https://docs.acme.dev:",
            "https://docs.acme.dev:+80",
            "https://docs.acme.dev:65536",
            "https://*.acme.dev",
            "https://dö.example",
            "https://[::1",
            "https://[::1]x",
            "https://a b",
            "ftp://docs.acme.dev",
            "file://",
        ] {
            check(invalid, None);
        }
    }
}
