//! Page views: site totals and counts a page, human and AI apart.

use axum::Json as Answer;
use axum::extract::{Query, State};
use traffic::{Counts, Range, bound};
use wire::{PageView, PageViews, Totals};

use super::caller::Caller;
use super::error::ApiError;
use crate::app::App;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 250;

type Pairs = Query<Vec<(String, String)>>;

/// `GET /v1/analytics/{projectId}/views`
pub(super) async fn views(
    State(app): State<App>,
    caller: Caller,
    query: Result<Pairs, axum::extract::rejection::QueryRejection>,
) -> Result<Answer<PageViews>, ApiError> {
    let Query(pairs) =
        query.map_err(|_| ApiError::invalid("invalid_query", "the query is not valid text"))?;
    let question = Question::parse(&pairs)?;
    let project = &caller.project.id.0;
    let counts = app.views.count(project, &question.range, question.limit, question.offset).await;
    Ok(Answer(page_views(counts.map_err(anyhow::Error::from)?)))
}

fn page_views(counts: Counts) -> PageViews {
    let view = |page: traffic::PageCount| PageView {
        total: page.human + page.ai,
        path: page.path,
        human: page.human,
        ai: page.ai,
    };
    PageViews {
        totals: Totals {
            human: counts.totals.human,
            ai: counts.totals.ai,
            total: counts.totals.human + counts.totals.ai,
        },
        views: counts.pages.into_iter().map(view).collect(),
        has_more: counts.has_more,
    }
}

#[derive(Debug)]
struct Question {
    range: Range,
    limit: u32,
    offset: u64,
}

impl Question {
    /// Every problem at once, so that a client mends its query in one go.
    fn parse(pairs: &[(String, String)]) -> Result<Self, ApiError> {
        let mut problems = Vec::new();
        let mut note = |problem: String| problems.push(problem);
        let value =
            |name: &str| pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());

        let limit = whole(value("limit"), "limit", (1, MAX_LIMIT.into()), DEFAULT_LIMIT.into());
        let offset = whole(value("offset"), "offset", (0, i64::MAX), 0);
        let mut date = |name: &str| {
            let parsed = value(name).map(bound).transpose();
            parsed.map_err(|error| note(format!("{name}: {error}"))).ok().flatten()
        };
        let (from, to) = (date("dateFrom"), date("dateTo"));
        let range = Range::new(from, to).map_err(|error| note(error.to_string()));
        let [limit, offset] = [limit, offset].map(|number| number.map_err(&mut note).unwrap_or_default());
        match (range, problems.is_empty()) {
            (Ok(range), true) => Ok(Self { range, limit: limit as u32, offset: offset.unsigned_abs() }),
            _ => Err(ApiError::Invalid {
                code: "invalid_query",
                message: problems.first().cloned().unwrap_or_default(),
                details: problems,
            }),
        }
    }
}

fn whole(text: Option<&str>, name: &str, (low, high): (i64, i64), default: i64) -> Result<i64, String> {
    let Some(text) = text else { return Ok(default) };
    let range = match high {
        i64::MAX => format!("at least {low}"),
        _ => format!("between {low} and {high}"),
    };
    match text.parse::<i64>() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        Ok(number) => Err(format!("{name} must be {range}, got {number}")),
        Err(_) => Err(format!("{name} must be a whole number, {range}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions() {
        #[track_caller]
        fn check(pairs: &[(&str, &str)], expected: Result<(u32, u64), &[&str]>) {
            let pairs: Vec<_> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            let got = Question::parse(&pairs).map(|q| (q.limit, q.offset)).map_err(|error| match error {
                ApiError::Invalid { details, .. } => details,
                other => panic!("{other}"),
            });
            assert_eq!(got, expected.map_err(|all| all.iter().map(|s| s.to_string()).collect()));
        }
        check(&[], Ok((50, 0)));
        check(&[("limit", "250"), ("offset", "1000000"), ("other", "x")], Ok((250, 1_000_000)));
        check(&[("limit", "0")], Err(&["limit must be between 1 and 250, got 0"]));
        check(&[("limit", "251")], Err(&["limit must be between 1 and 250, got 251"]));
        check(&[("limit", "ten")], Err(&["limit must be a whole number, between 1 and 250"]));
        check(&[("limit", "")], Err(&["limit must be a whole number, between 1 and 250"]));
        check(&[("offset", "-1")], Err(&["offset must be at least 0, got -1"]));
        check(&[("dateFrom", "2026-03-01"), ("dateTo", "2026-03-01")], Ok((50, 0)));
        check(
            &[("limit", "x"), ("offset", "99999999999999999999")],
            Err(&[
                "limit must be a whole number, between 1 and 250",
                "offset must be a whole number, at least 0",
            ]),
        );
    }
}
