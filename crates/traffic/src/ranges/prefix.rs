//! Parses address prefixes such as `192.0.2.0/24`, and recognizes addresses that are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Shorter prefixes are a mistake: no operator of an agent owns that much.
const MIN_LENGTH_V4: u8 = 8;
const MIN_LENGTH_V6: u8 = 20;

/// Private, reserved and documentation ranges.
const RESERVED_V4: [(Ipv4Addr, u8); 13] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];
/// The public part of IPv6, and the documentation range in it.
const PUBLIC_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const DOCUMENTATION_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32);

/// The first and the last address of a range. IPv4 addresses are mapped to IPv6.
pub(super) type Span = (u128, u128);

/// Parses a prefix, or an address without a length. The error is a sentence for the operator.
pub(super) fn parse_prefix(text: &str) -> Result<Span, String> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address
        .parse()
        .map_err(|_| format!("`{}` is not a prefix such as 20.125.66.80/28", shorten(text)))?;
    let (max, min) = if address.is_ipv4() { (32, MIN_LENGTH_V4) } else { (128, MIN_LENGTH_V6) };
    let length = length.map_or(Some(max), |length| length.parse().ok().filter(|length| *length <= max));
    let length = length.ok_or_else(|| format!("`{}`: the length must be 0 to {max}", shorten(text)))?;
    if length < min {
        return Err(format!("`{text}` is too wide: the length must be at least {min}"));
    }
    let (first, last) = span(address, length);
    if first != number(address) {
        return Err(format!(
            "`{text}` has bits after its length. Its first address is {}",
            address_of(first)
        ));
    }
    match is_public((first, last)) {
        true => Ok((first, last)),
        false => Err(format!("`{text}` contains private or reserved addresses")),
    }
}

/// The number of an address, if it is public.
pub(super) fn public_number(address: IpAddr) -> Option<u128> {
    let number = number(address);
    is_public((number, number)).then_some(number)
}

fn is_public(range: Span) -> bool {
    let overlaps = |other: Span| range.0 <= other.1 && other.0 <= range.1;
    let all_v4 = span(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    if overlaps(all_v4) {
        return !RESERVED_V4.iter().any(|(address, length)| overlaps(span(IpAddr::V4(*address), *length)));
    }
    let public = span(IpAddr::V6(PUBLIC_V6.0), PUBLIC_V6.1);
    let is_inside = public.0 <= range.0 && range.1 <= public.1;
    is_inside && !overlaps(span(IpAddr::V6(DOCUMENTATION_V6.0), DOCUMENTATION_V6.1))
}

fn span(address: IpAddr, length: u8) -> Span {
    let length = u32::from(length) + if address.is_ipv4() { 96 } else { 0 };
    let rest = u128::MAX.checked_shr(length).unwrap_or(0);
    let first = number(address) & !rest;
    (first, first | rest)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn address_of(number: u128) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from_bits(number)).to_canonical()
}

/// The beginning of a text, for an error.
fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_their_errors() {
        #[track_caller]
        fn check(text: &str, expected: Result<(&str, &str), &str>) {
            let parsed = parse_prefix(text)
                .map(|(first, last)| (address_of(first).to_string(), address_of(last).to_string()));
            let expected = expected.map(|(first, last)| (first.to_owned(), last.to_owned()));
            assert_eq!(parsed, expected.map_err(str::to_owned), "{text}");
        }
        check("20.125.66.80/28", Ok(("20.125.66.80", "20.125.66.95")));
        check("100.24.86.21", Ok(("100.24.86.21", "100.24.86.21")));
        check("2a03:2880::/29", Ok(("2a03:2880::", "2a03:2887:ffff:ffff:ffff:ffff:ffff:ffff")));
        check("100.64.0.0/11", Err("`100.64.0.0/11` contains private or reserved addresses"));
        check("0.0.0.0/0", Err("`0.0.0.0/0` is too wide: the length must be at least 8"));
        check("::/0", Err("`::/0` is too wide: the length must be at least 20"));
        check("10.0.0.0/8", Err("`10.0.0.0/8` contains private or reserved addresses"));
        check("100.0.0.0/8", Err("`100.0.0.0/8` contains private or reserved addresses"));
        check("127.0.0.1", Err("`127.0.0.1` contains private or reserved addresses"));
        check("224.0.0.0/8", Err("`224.0.0.0/8` contains private or reserved addresses"));
        check("fd00::/32", Err("`fd00::/32` contains private or reserved addresses"));
        check("::1", Err("`::1` contains private or reserved addresses"));
        check("::ffff:10.0.0.0/104", Err("`::ffff:10.0.0.0/104` contains private or reserved addresses"));
        check("2001:db8:1::/48", Err("`2001:db8:1::/48` contains private or reserved addresses"));
        check(
            "20.125.66.81/28",
            Err("`20.125.66.81/28` has bits after its length. Its first address is 20.125.66.80"),
        );
        check("20.125.66.80/33", Err("`20.125.66.80/33`: the length must be 0 to 32"));
        check("20.125.66.80/-1", Err("`20.125.66.80/-1`: the length must be 0 to 32"));
        check("20.125.66/24", Err("`20.125.66/24` is not a prefix such as 20.125.66.80/28"));
        check("", Err("`` is not a prefix such as 20.125.66.80/28"));
        check("openai\u{1b}.com", Err("`openai.com` is not a prefix such as 20.125.66.80/28"));
    }

    #[test]
    fn only_public_addresses_have_a_number() {
        let is_public = |address: &str| public_number(address.parse().unwrap()).is_some();
        assert!(is_public("20.125.66.80") && is_public("2a03:2880::1") && is_public("::ffff:20.125.66.80"));
        assert!(
            !["0.0.0.0", "192.168.1.1", "::1", "fe80::1", "::ffff:10.0.0.1"].map(is_public).contains(&true)
        );
        let mapped =
            ["20.125.66.80", "::ffff:20.125.66.80"].map(|address| public_number(address.parse().unwrap()));
        assert_eq!(mapped[0], mapped[1]);
    }
}
