//! Parses the query of a report of page views, and responds with JSON or CSV.
//!
//! All reports share the range, the format and the rate limit. Each declares its own parameters as a type
//! that implements [`ReportParameters`].

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use store::{Project, ProjectId, Usage};
use traffic::{ListQuery, Range, Sort, parse_bound};

use super::caller::Caller;
use super::csv;
use super::error::ApiError;
use super::limits;
use super::query::Query;
use app::App;

const MAX_ROWS: i64 = 250;
const DEFAULT_ROWS: i64 = 50;

/// The parameters that a report has besides the range and the format.
pub(super) trait ReportParameters: Sized + Send {
    fn parse(query: &mut Query<'_>, is_csv: bool) -> Self;
}

/// A valid request for a report. As an extractor, it also checks the API key and the rate limit.
pub(super) struct ReportQuery<P = ()> {
    pub(super) app: App,
    pub(super) project: ProjectId,
    pub(super) range: Range,
    pub(super) parameters: P,
    is_csv: bool,
    /// `None` if the request could not be counted.
    usage: Option<Usage>,
    uri: Uri,
}

impl<P: ReportParameters> FromRequestParts<App> for ReportQuery<P> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        Self::parse(app, &caller.project, &parts.uri, &parts.headers).await
    }
}

impl<P: ReportParameters> ReportQuery<P> {
    /// Checks the rate limit, then the query. Only a valid request counts towards the limit.
    pub(super) async fn parse(
        app: &App,
        project: &Project,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Self, ApiError> {
        let limit = limits::read_limit(app, project);
        limits::check_limit(app, &limit).await?;
        let mut query = Query::new(uri);
        let is_csv = csv::is_requested(&mut query, headers);
        let parameters = P::parse(&mut query, is_csv);
        let range = parse_range(&mut query)?;
        let usage = limits::count_request(app, &limit).await?;
        let (app, project, uri) = (app.clone(), project.id.clone(), uri.clone());
        Ok(Self { app, project, range, parameters, is_csv, usage, uri })
    }
}

impl<P> ReportQuery<P> {
    /// Responds with JSON, whatever the format of the query is.
    pub(super) fn respond_json(&self, body: impl Serialize) -> Response {
        self.add_rate_limit(Json(body).into_response())
    }

    /// Responds with the whole report in the format of the query. `csv` returns `None` if there is not enough
    /// memory for the file.
    pub(super) fn respond<R, J: Serialize>(
        &self,
        report: R,
        json: impl FnOnce(R) -> J,
        csv: impl FnOnce(&App, R) -> Option<Response>,
    ) -> Result<Response, ApiError> {
        match self.is_csv {
            true => Ok(self.add_rate_limit(csv(&self.app, report).ok_or(ApiError::Busy)?)),
            false => Ok(self.respond_json(json(report))),
        }
    }

    fn add_rate_limit(&self, mut response: Response) -> Response {
        if let Some(usage) = &self.usage {
            limits::set_rate_limit_headers(response.headers_mut(), usage);
        }
        response
    }
}

impl<P: AsRef<ListQuery>> ReportQuery<P> {
    /// Responds with a part of the rows, and `Link` headers for the next and the previous part.
    pub(super) fn respond_rows<R, J: Serialize>(
        &self,
        report: R,
        has_more: bool,
        json: impl FnOnce(R) -> J,
        csv: impl FnOnce(&App, R) -> Option<Response>,
    ) -> Result<Response, ApiError> {
        let mut response = self.respond(report, json, csv)?;
        let ListQuery { limit, offset, .. } = *self.parameters.as_ref();
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        Query::new(&self.uri).set_link_header(response.headers_mut(), limit.into(), offset, has_more);
        Ok(response)
    }
}

impl ReportParameters for () {
    fn parse(_: &mut Query<'_>, _: bool) -> Self {}
}

/// `limit` and `offset`. Without a limit, a CSV file has all rows.
pub(super) struct RowParameters(ListQuery);

impl ReportParameters for RowParameters {
    fn parse(query: &mut Query<'_>, is_csv: bool) -> Self {
        let all = is_csv && query.get("limit").is_none();
        let limit = query.integer("limit", 1, MAX_ROWS, DEFAULT_ROWS);
        let offset = query.integer("offset", 0, i64::MAX, 0);
        let limit = if all { u32::MAX } else { limit as u32 };
        Self(ListQuery::new(limit, offset.unsigned_abs()))
    }
}

impl AsRef<ListQuery> for RowParameters {
    fn as_ref(&self) -> &ListQuery {
        &self.0
    }
}

/// `limit` and `offset`, and for rows that are pages also `path` and `sort`.
pub(super) struct PageParameters(ListQuery);

impl ReportParameters for PageParameters {
    fn parse(query: &mut Query<'_>, is_csv: bool) -> Self {
        let sort = query.one_of("sort", &Sort::NAMES).and_then(Sort::from_name).unwrap_or_default();
        let path = parse_path_prefix(query);
        Self(ListQuery { sort, path, ..RowParameters::parse(query, is_csv).0 })
    }
}

impl AsRef<ListQuery> for PageParameters {
    fn as_ref(&self) -> &ListQuery {
        &self.0
    }
}

/// `path`: the prefix of the page paths that the report includes.
pub(super) fn parse_path_prefix(query: &mut Query<'_>) -> Option<String> {
    let path = query.get("path")?.to_owned();
    if !path.starts_with('/') {
        query.add_problem("path must begin with `/`; it's a prefix of page paths".into());
    }
    Some(path)
}

/// `dateFrom` and `dateTo`. Fails if any parameter of the query is invalid.
pub(super) fn parse_range(query: &mut Query<'_>) -> Result<Range, ApiError> {
    let mut ends = [None, None];
    for (end, name) in ends.iter_mut().zip(["dateFrom", "dateTo"]) {
        match query.get(name).map(parse_bound).transpose() {
            Ok(moment) => *end = moment,
            Err(error) => query.add_problem(format!("{name}: {error}")),
        }
    }
    let range = Range::new(ends[0], ends[1]);
    if let Err(error) = &range {
        query.add_problem(error.to_string());
    }
    query.finish()?;
    range.map_err(|error| ApiError::invalid("invalid_query", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(u32, u64), &[&str]>) {
        let uri: Uri = format!("/views?{text}").parse().unwrap();
        let mut query = Query::new(&uri);
        let is_csv = csv::is_requested(&mut query, &HeaderMap::new());
        let PageParameters(list) = PageParameters::parse(&mut query, is_csv);
        let got = parse_range(&mut query).map(|_| (list.limit, list.offset)).map_err(|error| match error {
            ApiError::Invalid { details, .. } => details,
            other => panic!("{other}"),
        });
        assert_eq!(got, expected.map_err(|all| all.iter().map(|s| s.to_string()).collect()), "{text}");
    }

    #[test]
    fn ranges_limits_and_offsets() {
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
    fn paths_sort_orders_and_formats() {
        check("path=/guides/&sort=human", Ok((50, 0)));
        check("format=csv", Ok((u32::MAX, 0)));
        check("format=csv&limit=7&offset=3", Ok((7, 3)));
        check("format=json", Ok((50, 0)));
        check(
            "format=xml&sort=best&path=guides",
            Err(&[
                "format must be one of json, csv",
                "sort must be one of total, human, ai, path",
                "path must begin with `/`; it's a prefix of page paths",
            ]),
        );
    }
}
