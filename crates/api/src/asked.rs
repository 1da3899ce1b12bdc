//! What questions about page views have in common: when, which part, in which form. Asking one counts.

use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use store::Usage;
use traffic::{ListQuery, Range, Sort, parse_bound};

use super::caller::Caller;
use super::csv;
use super::error::ApiError;
use super::limits;
use super::query::Query;
use app::App;

const MOST: i64 = 250;
const USUAL: i64 = 50;

pub(super) struct Asked<'a> {
    query: Query<'a>,
    pub(super) range: Range,
    pub(super) csv: bool,
    /// `None` when the question could not be counted.
    usage: Option<Usage>,
}

impl<'a> Asked<'a> {
    /// `more` reads the parameters that not every question has; it is told whether CSV is asked for.
    pub(super) async fn of<T>(
        app: &App,
        caller: &Caller,
        (uri, headers): (&'a Uri, &HeaderMap),
        more: impl FnOnce(&mut Query<'a>, bool) -> T,
    ) -> Result<(Self, T), ApiError> {
        let reads = limits::reads(app, &caller.project);
        limits::room(app, &reads).await?;
        let mut query = Query::of(uri);
        let csv = csv::is_asked_for(&mut query, headers);
        let more = more(&mut query, csv);
        let range = range(&mut query)?;
        let usage = limits::count(app, &reads).await?;
        Ok((Self { query, range, csv, usage }, more))
    }

    /// An answer that is all there is.
    pub(super) fn whole(&self, body: impl IntoResponse) -> Response {
        let mut response = body.into_response();
        if let Some(usage) = &self.usage {
            limits::told(response.headers_mut(), usage);
        }
        response
    }

    /// A part of an answer, with links to its neighbours.
    pub(super) fn part(&self, body: impl IntoResponse, portion: &ListQuery, has_more: bool) -> Response {
        let mut response = self.whole(body);
        let offset = i64::try_from(portion.offset).unwrap_or(i64::MAX);
        self.query.link(response.headers_mut(), portion.limit.into(), offset, has_more);
        response
    }
}

/// `limit` and `offset`. A file has all there is, if nobody says otherwise.
pub(super) fn portion(query: &mut Query<'_>, csv: bool) -> ListQuery {
    let all = csv && query.text("limit").is_none();
    let limit = query.whole("limit", 1, MOST, USUAL);
    let offset = query.whole("offset", 0, i64::MAX, 0);
    let limit = if all { u32::MAX } else { limit as u32 };
    ListQuery::new(limit, offset.unsigned_abs())
}

/// The same of pages: also `path` and `sort`.
pub(super) fn pages(query: &mut Query<'_>, csv: bool) -> ListQuery {
    let sort = query.one_of("sort", &Sort::NAMES).and_then(Sort::from_name).unwrap_or_default();
    ListQuery { sort, path: path(query), ..portion(query, csv) }
}

/// What the paths of pages begin with.
pub(super) fn path(query: &mut Query<'_>) -> Option<String> {
    let path = query.text("path")?.to_owned();
    if !path.starts_with('/') {
        query.problem("path must begin with `/`: it is what the paths of pages begin with".into());
    }
    Some(path)
}

/// `dateFrom` and `dateTo`, and with them whatever else was wrong with the query.
fn range(query: &mut Query<'_>) -> Result<Range, ApiError> {
    let mut ends = [None, None];
    for (end, name) in ends.iter_mut().zip(["dateFrom", "dateTo"]) {
        match query.text(name).map(parse_bound).transpose() {
            Ok(moment) => *end = moment,
            Err(error) => query.problem(format!("{name}: {error}")),
        }
    }
    let range = Range::new(ends[0], ends[1]);
    if let Err(error) = &range {
        query.problem(error.to_string());
    }
    query.done()?;
    range.map_err(|error| ApiError::invalid("invalid_query", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(u32, u64), &[&str]>) {
        let uri: Uri = format!("/views?{text}").parse().unwrap();
        let mut query = Query::of(&uri);
        let csv = csv::is_asked_for(&mut query, &HeaderMap::new());
        let asked = pages(&mut query, csv);
        let got = range(&mut query).map(|_| (asked.limit, asked.offset)).map_err(|error| match error {
            ApiError::Invalid { details, .. } => details,
            other => panic!("{other}"),
        });
        assert_eq!(got, expected.map_err(|all| all.iter().map(|s| s.to_string()).collect()), "{text}");
    }

    #[test]
    fn questions() {
        check("", Ok((50, 0)));
        check("limit=250&offset=1000000&other=x", Ok((250, 1_000_000)));
        check("limit=0", Err(&["limit must be between 1 and 250, got 0"]));
        check("limit=251", Err(&["limit must be between 1 and 250, got 251"]));
        check("limit=ten", Err(&["limit must be a whole number, between 1 and 250"]));
        check("limit=", Err(&["limit must be a whole number, between 1 and 250"]));
        check("offset=-1", Err(&["offset must be at least 0, got -1"]));
        check("dateFrom=2026-03-01&dateTo=2026-03-01", Ok((50, 0)));
        check("dateFrom=2026-03-01T00:00:00%2B05:30", Ok((50, 0)));
        check("dateFrom=2026-03-01T00:00:00+05:30", Ok((50, 0)));
        check(
            "limit=x&offset=99999999999999999999",
            Err(&[
                "limit must be a whole number, between 1 and 250",
                "offset must be a whole number, at least 0",
            ]),
        );
    }

    #[test]
    fn parts_and_forms() {
        check("path=/guides/&sort=human", Ok((50, 0)));
        check("format=csv", Ok((u32::MAX, 0)));
        check("format=csv&limit=7&offset=3", Ok((7, 3)));
        check("format=json", Ok((50, 0)));
        check(
            "format=xml&sort=best&path=guides",
            Err(&[
                "format must be one of json, csv",
                "sort must be one of total, human, ai, path",
                "path must begin with `/`: it is what the paths of pages begin with",
            ]),
        );
    }
}
