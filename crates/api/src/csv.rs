//! Who wants an answer as a file for spreadsheets.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use super::query::Query;

/// `format=csv`, or an `Accept` that likes CSV better than JSON.
pub(super) fn is_asked_for(query: &mut Query<'_>, headers: &HeaderMap) -> bool {
    match query.one_of("format", &["json", "csv"]) {
        Some(format) => format == "csv",
        None => query.text("format").is_none() && is_preferred(headers),
    }
}

/// Of those that weigh the same, the first.
fn is_preferred(headers: &HeaderMap) -> bool {
    let mut best = (0.0, false);
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight: f32 = weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
        if matches!(&*name, "text/csv" | "application/json") && weight > best.0 {
            best = (weight, name == "text/csv");
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Uri};

    use super::*;

    #[test]
    fn who_asks_for_it() {
        #[track_caller]
        fn check(query: &str, accept: &'static str, expected: bool) {
            let uri: Uri = format!("/views?{query}").parse().unwrap();
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(is_asked_for(&mut Query::of(&uri), &headers), expected, "{query} {accept}");
        }
        check("", "", false);
        check("", "*/*", false);
        check("", "text/csv", true);
        check("", "Text/CSV; charset=utf-8", true);
        check("", "text/csv, application/json", true);
        check("", "application/json, text/csv", false);
        check("", "application/json;q=0.5, text/csv;q=0.9", true);
        check("", "text/csv;q=0", false);
        check("", "text/csv;q=junk", false);
        check("format=json", "text/csv", false);
        check("format=csv", "application/json", true);
    }
}
