//! Query parameters, every problem told at once.

use std::borrow::Cow;

use axum::http::header::{HeaderValue, LINK};
use axum::http::{HeaderMap, Uri};

use super::error::ApiError;

/// The parameters of a request, and what was wrong with those that were asked for.
pub(super) struct Query<'a> {
    path: &'a str,
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    problems: Vec<String>,
}

impl<'a> Query<'a> {
    /// What is no text is decoded to a sign for that, which no parameter of ours takes.
    pub(super) fn of(uri: &'a Uri) -> Self {
        let text = uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(text.as_bytes()).collect();
        Self { path: uri.path(), pairs, problems: Vec::new() }
    }

    /// The last one of that name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    pub(super) fn problem(&mut self, sentence: String) {
        self.problems.push(sentence);
    }

    /// A whole number from `low` to `high`.
    pub(super) fn whole(&mut self, name: &str, low: i64, high: i64, default: i64) -> i64 {
        let Some(text) = self.text(name) else { return default };
        let range = match high {
            i64::MAX => format!("at least {low}"),
            _ => format!("between {low} and {high}"),
        };
        let problem = match text.parse::<i64>() {
            Ok(number) if (low..=high).contains(&number) => return number,
            Ok(number) => format!("{name} must be {range}, got {number}"),
            Err(_) => format!("{name} must be a whole number, {range}"),
        };
        self.problem(problem);
        default
    }

    pub(super) fn one_of(&mut self, name: &str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text(name)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            self.problem(format!("{name} must be one of {}", words.join(", ")));
        }
        found
    }

    /// Fails if anything was wrong, with all of it, so that a client mends its query in one go.
    pub(super) fn done(&mut self) -> Result<(), ApiError> {
        match self.problems.first() {
            None => Ok(()),
            Some(first) => Err(ApiError::Invalid {
                code: "invalid_query",
                message: first.clone(),
                details: std::mem::take(&mut self.problems),
            }),
        }
    }

    /// `Link` to the neighbouring pages, with everything else that was asked.
    pub(super) fn link(&self, headers: &mut HeaderMap, limit: i64, offset: i64, has_more: bool) {
        let mut links = Vec::new();
        if has_more {
            links.push(self.page(limit, offset.saturating_add(limit), "next"));
        }
        if offset > 0 {
            links.push(self.page(limit, (offset - limit).max(0), "prev"));
        }
        if let (false, Ok(value)) = (links.is_empty(), HeaderValue::from_str(&links.join(", "))) {
            headers.insert(LINK, value);
        }
    }

    fn page(&self, limit: i64, offset: i64, relation: &str) -> String {
        let others = self.pairs.iter().filter(|(key, _)| key != "limit" && key != "offset");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others);
        query.append_pair("limit", &limit.to_string()).append_pair("offset", &offset.to_string());
        format!("<{}?{}>; rel=\"{relation}\"", self.path, query.finish())
    }
}
