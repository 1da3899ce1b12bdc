//! Writes reports about readers as CSV files for spreadsheets.
//!
//! Rows are rendered as the client reads them. No cell can be taken for a formula. The functions return
//! `None` if the budget for large responses is used up.

use std::convert::Infallible;
use std::fmt;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use traffic::{AgentCount, AiReferrals, MissingPath, Tally};

use crate::app::App;

/// The approximate size of a chunk of rows.
const CHUNK_BYTES: usize = 16 * 1024;
/// The memory of a row, without its texts.
const ROW_BYTES: usize = 128;

/// Rows with the columns `first`, human, AI and total.
pub fn counts(app: &App, name: &str, first: &str, rows: Vec<(String, [u64; 3])>) -> Option<Response> {
    let bytes = rows.iter().map(|(text, _)| text.len() + ROW_BYTES).sum();
    let row = |(text, numbers): (String, [u64; 3])| {
        [Cell::Text(text)].into_iter().chain(numbers.map(Cell::Number)).collect()
    };
    csv_response(app, name, &[first, "human", "ai", "total"], rows.into_iter().map(row), bytes)
}

pub fn referrers(app: &App, hosts: Vec<(String, Tally)>) -> Option<Response> {
    tallies(app, "referrers", "host", hosts)
}

pub fn ai_referrals(app: &App, operators: Vec<AiReferrals>) -> Option<Response> {
    let bytes = operators.len() * ROW_BYTES;
    let row = |counts: AiReferrals| {
        vec![Cell::Text(counts.operator.into()), Cell::Number(counts.reads), Cell::Number(counts.referrals)]
    };
    let columns = ["operator", "views", "referrals"];
    csv_response(app, "ai-referrals", &columns, operators.into_iter().map(row), bytes)
}

pub fn redirected(app: &App, paths: Vec<(String, Tally)>) -> Option<Response> {
    tallies(app, "redirected", "path", paths)
}

fn tallies(app: &App, name: &str, first: &str, rows: Vec<(String, Tally)>) -> Option<Response> {
    let rows = rows.into_iter().map(|(text, sum)| (text, [sum.human, sum.ai, sum.total()]));
    counts(app, name, first, rows.collect())
}

pub fn agents(app: &App, agents: Vec<AgentCount>) -> Option<Response> {
    let row = |agent: AgentCount| {
        let operator = agent.operator.unwrap_or_default().to_owned();
        let texts = [operator, agent.product, agent.class.as_str().to_owned()].map(Cell::Text);
        texts.into_iter().chain([Cell::Number(agent.reads)]).collect()
    };
    let bytes = agents.iter().map(|agent| agent.product.len() + ROW_BYTES).sum();
    let columns = ["operator", "product", "class", "views"];
    csv_response(app, "agents", &columns, agents.into_iter().map(row), bytes)
}

pub fn not_found(app: &App, pages: Vec<MissingPath>) -> Option<Response> {
    let text = |page: &MissingPath| {
        page.path.len() + page.referrers.iter().map(|(from, _)| from.len() + ROW_BYTES).sum::<usize>()
    };
    let bytes = pages.iter().map(|page| text(page) + ROW_BYTES).sum();
    let row = |page: MissingPath| {
        let from: Vec<String> = page.referrers.into_iter().map(|(from, _)| from).collect();
        let Tally { human, ai } = page.requests;
        let numbers = [human, ai, page.requests.total()].map(Cell::Number);
        let (path, from) = (Cell::Text(page.path), Cell::Text(from.join(" ")));
        [path].into_iter().chain(numbers).chain([from]).collect()
    };
    let columns = ["path", "human", "ai", "total", "referrers"];
    csv_response(app, "not-found", &columns, pages.into_iter().map(row), bytes)
}

/// A response with a file of that name. The rows are in memory until the client reads them; `bytes` is their
/// size.
fn csv_response<R>(app: &App, name: &str, columns: &[&str], rows: R, bytes: usize) -> Option<Response>
where
    R: IntoIterator<Item = Vec<Cell>>,
    R::IntoIter: Send + 'static,
{
    let permit = app.response_budget.try_acquire(bytes + CHUNK_BYTES)?;
    let header = columns.join(",") + "\r\n";
    let start = (Some(header), rows.into_iter(), permit);
    let chunks = stream::unfold(start, |(header, mut rows, permit)| async move {
        let mut chunk = header.unwrap_or_default();
        while chunk.len() < CHUNK_BYTES {
            let Some(row) = rows.next() else { break };
            chunk.push_str(&render_row(row));
        }
        (!chunk.is_empty()).then(|| (Ok::<_, Infallible>(Bytes::from(chunk)), (None, rows, permit)))
    });
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.csv\"")),
    ];
    Some((headers, Body::from_stream(chunks)).into_response())
}

fn render_row(cells: impl IntoIterator<Item = Cell>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
    cells.join(",") + "\r\n"
}

enum Cell {
    Number(u64),
    /// Always quoted, because in some locales a semicolon also separates cells. Anyone can choose paths and
    /// hosts, so a text that begins like a formula gets an apostrophe.
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

/// Whether a spreadsheet may take the text for a formula. Some programs ignore invisible characters at its
/// start, and some accept the full-width forms of the signs.
fn is_formula(text: &str) -> bool {
    let is_invisible =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}');
    text.starts_with(['\t', '\r', '\n'])
        || text.trim_start_matches(is_invisible).starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cells_are_quoted_and_never_formulas() {
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
        assert_eq!(render_row(cells), "\"/a\",1\r\n");
    }
}
