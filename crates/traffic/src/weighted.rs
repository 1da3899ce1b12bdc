//! Parses HTTP headers that list alternatives with weights, such as `Accept` and `Accept-Encoding`.

/// An alternative of the header.
#[derive(Debug, PartialEq, Eq)]
pub struct WeightedItem<'a> {
    pub name: &'a str,
    /// In thousandths, because the header allows at most three digits; 1000 if there is no `q`. `None` if it
    /// is malformed.
    pub weight: Option<u16>,
}

/// The alternatives in a header's value, in its order. An empty one has an empty name.
pub fn weighted_items(header: &str) -> impl Iterator<Item = WeightedItem<'_>> {
    header.split(',').map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| key.trim().eq_ignore_ascii_case("q"))
            .map_or(Some(1000), |(_, value)| parse_weight(value.trim()));
        WeightedItem { name, weight }
    })
}

/// A number from 0 to 1 with at most three decimals: `1`, `0.5`, `0.250`, `1.000`. `0.` and `1.` pass, as the standard
/// allows. Anything else is malformed.
fn parse_weight(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_valid = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction: u16 = format!("{fraction:0<3}").parse().ok().filter(|_| is_valid)?;
    match (whole, fraction) {
        ("0", fraction) => Some(fraction),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_names_and_weights() {
        #[track_caller]
        fn check(header: &str, expected: &[(&str, Option<u16>)]) {
            let items: Vec<_> = weighted_items(header).map(|item| (item.name, item.weight)).collect();
            assert_eq!(items, expected, "{header}");
        }
        check("", &[("", Some(1000))]);
        check("gzip", &[("gzip", Some(1000))]);
        check("gzip; q=0.2 , zstd ; Q=0.3", &[("gzip", Some(200)), ("zstd", Some(300))]);
        check("gzip;level=9;q=0.5", &[("gzip", Some(500))]);
        check("Text/CSV; charset=utf-8", &[("Text/CSV", Some(1000))]);
        check(",,;;=,", &[("", Some(1000)), ("", Some(1000)), ("", Some(1000)), ("", Some(1000))]);
        check("*;q=0", &[("*", Some(0))]);
        for weight in ["junk", "NaN", "1.5", "2", "0.1234", "-1", ".5", "1e-1", ""] {
            check(&format!("a;q={weight}, b"), &[("a", None), ("b", Some(1000))]);
        }
    }
}
