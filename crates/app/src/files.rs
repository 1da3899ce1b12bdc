//! What is known of readers as files for spreadsheets: a row at a time, as the client reads them, and
//! with nothing in them that a spreadsheet would take for a formula. `None`: there is no room for it now.

use std::convert::Infallible;
use std::fmt;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use traffic::{AgentCount, MissingPath, Tally};

use crate::app::App;

/// Rows are sent together up to about this many bytes.
const PIECE: usize = 16 * 1024;
/// What a row takes in memory beside its texts.
const ROW: usize = 128;

/// Pages, hosts or moments, each with its numbers: human, AI and both.
pub fn counts(app: &App, name: &str, first: &str, rows: Vec<(String, [u64; 3])>) -> Option<Response> {
    let bytes = rows.iter().map(|(text, _)| text.len() + ROW).sum();
    let row = |(text, numbers): (String, [u64; 3])| {
        [Cell::Text(text)].into_iter().chain(numbers.map(Cell::Number)).collect()
    };
    file(app, name, &[first, "human", "ai", "total"], rows.into_iter().map(row), bytes)
}

pub fn referrers(app: &App, hosts: Vec<(String, Tally)>) -> Option<Response> {
    let rows = hosts.into_iter().map(|(host, reads)| (host, [reads.human, reads.ai, reads.total()]));
    counts(app, "referrers", "host", rows.collect())
}

pub fn agents(app: &App, agents: Vec<AgentCount>) -> Option<Response> {
    let row = |agent: AgentCount| {
        let operator = agent.operator.unwrap_or_default().to_owned();
        let texts = [operator, agent.product, agent.class.as_str().to_owned()].map(Cell::Text);
        texts.into_iter().chain([Cell::Number(agent.reads)]).collect()
    };
    let bytes = agents.iter().map(|agent| agent.product.len() + ROW).sum();
    let columns = ["operator", "product", "class", "views"];
    file(app, "agents", &columns, agents.into_iter().map(row), bytes)
}

pub fn not_found(app: &App, pages: Vec<MissingPath>) -> Option<Response> {
    let text = |page: &MissingPath| {
        page.path.len() + page.referrers.iter().map(|(from, _)| from.len() + ROW).sum::<usize>()
    };
    let bytes = pages.iter().map(|page| text(page) + ROW).sum();
    let row = |page: MissingPath| {
        let from: Vec<String> = page.referrers.into_iter().map(|(from, _)| from).collect();
        let Tally { human, ai } = page.requests;
        let numbers = [human, ai, page.requests.total()].map(Cell::Number);
        let (path, from) = (Cell::Text(page.path), Cell::Text(from.join(" ")));
        [path].into_iter().chain(numbers).chain([from]).collect()
    };
    let columns = ["path", "human", "ai", "total", "referrers"];
    file(app, "not-found", &columns, pages.into_iter().map(row), bytes)
}

/// A file of that name: the names of the columns, and a line a row. The rows are in memory until they
/// are read; `bytes` is what they take.
fn file<R>(app: &App, name: &str, columns: &[&str], rows: R, bytes: usize) -> Option<Response>
where
    R: IntoIterator<Item = Vec<Cell>>,
    R::IntoIter: Send + 'static,
{
    let room = app.answers.take(bytes + PIECE)?;
    let head = columns.join(",") + "\r\n";
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

fn line(cells: impl IntoIterator<Item = Cell>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
    cells.join(",") + "\r\n"
}

/// A cell of a file.
enum Cell {
    Number(u64),
    /// Quoted, always: in some countries a semicolon parts cells, too. Paths and hosts are a stranger's choice, so one
    /// that begins as a formula does gets an apostrophe.
    Text(String),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => {
                let apostrophe = if is_formula(text) { "'" } else { "" };
                write!(f, "\"{apostrophe}{}\"", text.replace('"', "\"\""))
            }
        }
    }
}

/// Whether a spreadsheet may take a text for a formula. Some leave out what stands before it and nobody sees, and some
/// know the wide forms of the signs.
fn is_formula(text: &str) -> bool {
    let unseen =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}');
    text.starts_with(['\t', '\r', '\n'])
        || text.trim_start_matches(unseen).starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cells_are_quoted_and_no_formulas() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(Cell::Text(text.into()).to_string(), expected);
        }
        check("/guide", "\"/guide\"");
        check("", "\"\"");
        check("a;=1+1", "\"a;=1+1\"");
        check("=1+1", "\"'=1+1\"");
        check("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\"");
        check("+1", "\"'+1\"");
        check("-1", "\"'-1\"");
        check("@SUM(A1)", "\"'@SUM(A1)\"");
        check("\t=1", "\"'\t=1\"");
        check("\r=1", "\"'\r=1\"");
        check("\n1", "\"'\n1\"");
        check(" =1", "\"' =1\"");
        check("\u{feff}=1", "\"'\u{feff}=1\"");
        check("＝1", "\"'＝1\"");
        check("a,b", "\"a,b\"");
        check("=a,\"b\"", "\"'=a,\"\"b\"\"\"");
        check("a\nb", "\"a\nb\"");
        let cells = [Cell::Text("/a".into()), Cell::Number(1)];
        assert_eq!(line(cells), "\"/a\",1\r\n");
    }
}
