//! Parses query parameters, and reports all problems at once.

use std::borrow::Cow;

use axum::http::header::{HeaderValue, LINK};
use axum::http::{HeaderMap, Uri};

use super::error::ApiError;

/// The parameters of a request, and the problems found so far.
pub(super) struct Query<'a> {
    path: &'a str,
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    problems: Vec<String>,
}

impl<'a> Query<'a> {
    /// Bytes that aren't UTF-8 become U+FFFD, which no parameter accepts.
    pub(super) fn new(uri: &'a Uri) -> Self {
        let text = uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(text.as_bytes()).collect();
        Self { path: uri.path(), pairs, problems: Vec::new() }
    }

    /// The value of a parameter. If it is repeated, the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    pub(super) fn add_problem(&mut self, sentence: String) {
        self.problems.push(sentence);
    }

    /// Parses an integer from `min` to `max`.
    pub(super) fn integer(&mut self, name: &str, min: i64, max: i64, default: i64) -> i64 {
        let Some(text) = self.get(name) else { return default };
        let range = match max {
            i64::MAX => format!("at least {min}"),
            _ => format!("between {min} and {max}"),
        };
        let problem = match text.parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => return number,
            Ok(number) => format!("{name} must be {range}, got {number}"),
            Err(_) => format!("{name} must be a whole number, {range}"),
        };
        self.add_problem(problem);
        default
    }

    /// Parses one of the given words.
    pub(super) fn one_of(&mut self, name: &str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.get(name)?;
        let word = words.iter().find(|word| **word == text).copied();
        if word.is_none() {
            self.add_problem(format!("{name} must be one of {}", words.join(", ")));
        }
        word
    }

    /// Fails with all problems, so that a client can correct its query in one step.
    pub(super) fn finish(&mut self) -> Result<(), ApiError> {
        match self.problems.first() {
            None => Ok(()),
            Some(first) => Err(ApiError::Invalid {
                code: "invalid_query",
                message: first.clone(),
                details: std::mem::take(&mut self.problems),
            }),
        }
    }

    /// Sets `Link` to the next and the previous part of a list. The links keep the other parameters.
    pub(super) fn set_link_header(&self, headers: &mut HeaderMap, limit: i64, offset: i64, has_more: bool) {
        let mut links = Vec::new();
        if has_more {
            links.push(self.link(limit, offset.saturating_add(limit), "next"));
        }
        if offset > 0 {
            links.push(self.link(limit, (offset - limit).max(0), "prev"));
        }
        if let (false, Ok(value)) = (links.is_empty(), HeaderValue::from_str(&links.join(", "))) {
            headers.insert(LINK, value);
        }
    }

    fn link(&self, limit: i64, offset: i64, relation: &str) -> String {
        let others = self.pairs.iter().filter(|(key, _)| key != "limit" && key != "offset");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others);
        query.append_pair("limit", &limit.to_string()).append_pair("offset", &offset.to_string());
        format!("<{}?{}>; rel=\"{relation}\"", self.path, query.finish())
    }
}
