//! Decides whether a client requests CSV.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use traffic::weighted_items;

use super::query::Query;

/// Whether the query has `format=csv`, or `Accept` prefers CSV to JSON.
pub(super) fn is_requested(query: &mut Query<'_>, headers: &HeaderMap) -> bool {
    match query.one_of("format", &["json", "csv"]) {
        Some(format) => format == "csv",
        None => query.get("format").is_none() && is_preferred(headers),
    }
}

/// At equal weights, the first one counts.
fn is_preferred(headers: &HeaderMap) -> bool {
    let mut best = (0, false);
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for item in values.flat_map(weighted_items) {
        let (name, weight) = (item.name.to_ascii_lowercase(), item.weight.unwrap_or(0));
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
    fn csv_is_requested_by_format_or_accept() {
        #[track_caller]
        fn check(query: &str, accept: &'static str, expected: bool) {
            let uri: Uri = format!("/views?{query}").parse().unwrap();
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(is_requested(&mut Query::new(&uri), &headers), expected, "{query} {accept}");
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
