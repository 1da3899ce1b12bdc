//! Answers as CSV, for spreadsheets: a row at a time, as the client reads them, and with nothing in
//! them that a spreadsheet would take for a formula.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::error::ApiError;
use super::query::Query;
use crate::app::App;

/// Rows are sent together up to about this many bytes.
const PIECE: usize = 16 * 1024;

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

/// A file of that name: the names of the columns, and a line a row. The rows are in memory until they
/// are read; `bytes` is what they take.
pub(super) fn answer<R>(
    app: &App,
    name: &str,
    columns: &[&str],
    rows: R,
    bytes: usize,
) -> Result<Response, ApiError>
where
    R: IntoIterator<Item = Vec<String>>,
    R::IntoIter: Send + 'static,
{
    let room = app.answers.take(bytes + PIECE).ok_or(ApiError::Busy)?;
    let head = line(columns.iter().map(|column| (*column).to_owned()));
    let told = (Some(head), rows.into_iter(), room);
    let pieces = stream::unfold(told, |(head, mut rows, room)| async move {
        let mut piece = head.unwrap_or_default();
        while piece.len() < PIECE {
            let Some(row) = rows.next() else { break };
            piece.push_str(&line(row));
        }
        (!piece.is_empty()).then(|| (Ok::<_, Infallible>(Bytes::from(piece)), (None, rows, room)))
    });
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.csv\"")),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(cell).collect();
    cells.join(",") + "\r\n"
}

/// Paths and hosts are a stranger's choice: one that begins as a formula does gets an apostrophe.
fn cell(text: String) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Uri};

    use super::*;

    #[test]
    fn cells_are_harmless() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(cell(text.into()), expected);
        }
        check("/guide", "/guide");
        check("", "");
        check("=1+1", "'=1+1");
        check("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0");
        check("+1", "'+1");
        check("-1", "'-1");
        check("@SUM(A1)", "'@SUM(A1)");
        check("\t=1", "'\t=1");
        check("\r=1", "\"'\r=1\"");
        check("a,b", "\"a,b\"");
        check("=a,\"b\"", "\"'=a,\"\"b\"\"\"");
        check("a\nb", "\"a\nb\"");
    }

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
