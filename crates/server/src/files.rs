//! What is known of readers as files for spreadsheets: a row at a time, as the client reads them, and
//! with nothing in them that a spreadsheet would take for a formula. `None`: there is no room for it now.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use traffic::{AgentCount, Missing, Tally};

use crate::app::App;

/// Rows are sent together up to about this many bytes.
const PIECE: usize = 16 * 1024;
/// What a row takes in memory beside its texts.
const ROW: usize = 128;

/// Pages, hosts or moments, each with its numbers: human, AI and both.
pub(crate) fn counts(app: &App, name: &str, first: &str, rows: Vec<(String, [u64; 3])>) -> Option<Response> {
    let bytes = rows.iter().map(|(text, _)| text.len() + ROW).sum();
    let row = |(text, numbers): (String, [u64; 3])| {
        [text].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    };
    file(app, name, &[first, "human", "ai", "total"], rows.into_iter().map(row), bytes)
}

pub(crate) fn referrers(app: &App, hosts: Vec<(String, Tally)>) -> Option<Response> {
    let rows = hosts.into_iter().map(|(host, reads)| (host, [reads.human, reads.ai, reads.total()]));
    counts(app, "referrers", "host", rows.collect())
}

pub(crate) fn agents(app: &App, agents: Vec<AgentCount>) -> Option<Response> {
    let row = |agent: AgentCount| {
        let operator = agent.operator.unwrap_or_default().to_owned();
        vec![operator, agent.product, agent.class.as_str().to_owned(), agent.reads.to_string()]
    };
    let bytes = agents.iter().map(|agent| agent.product.len() + ROW).sum();
    let columns = ["operator", "product", "class", "views"];
    file(app, "agents", &columns, agents.into_iter().map(row), bytes)
}

pub(crate) fn not_found(app: &App, pages: Vec<Missing>) -> Option<Response> {
    let text = |page: &Missing| {
        page.path.len() + page.referrers.iter().map(|(from, _)| from.len() + ROW).sum::<usize>()
    };
    let bytes = pages.iter().map(|page| text(page) + ROW).sum();
    let row = |page: Missing| {
        let from: Vec<String> = page.referrers.into_iter().map(|(from, _)| from).collect();
        let Tally { human, ai } = page.looks;
        let numbers = [human, ai, page.looks.total()].map(|number| number.to_string());
        [vec![page.path], numbers.to_vec(), vec![from.join(" ")]].concat()
    };
    let columns = ["path", "human", "ai", "total", "referrers"];
    file(app, "not-found", &columns, pages.into_iter().map(row), bytes)
}

/// A file of that name: the names of the columns, and a line a row. The rows are in memory until they
/// are read; `bytes` is what they take.
fn file<R>(app: &App, name: &str, columns: &[&str], rows: R, bytes: usize) -> Option<Response>
where
    R: IntoIterator<Item = Vec<String>>,
    R::IntoIter: Send + 'static,
{
    let room = app.answers.take(bytes + PIECE)?;
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
    Some((headers, Body::from_stream(pieces)).into_response())
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
}
