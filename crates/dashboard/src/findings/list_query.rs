//! Parses and writes the query of the list of findings, so that a filtered list can be bookmarked.

use axum::http::Uri;
use findings::{Kind, State};
use form_urlencoded::Serializer;
use store::{FindingFilter, FindingSort, HurtReaders};

use app::path::query_value;

const ALL_STATES: &str = "all";

#[derive(Clone)]
pub(super) struct FindingsQuery {
    /// `None`: every state.
    pub(super) state: Option<State>,
    pub(super) kind: Option<Kind>,
    pub(super) readers: Option<HurtReaders>,
    pub(super) sort: FindingSort,
    pub(super) offset: u64,
    /// Wait until everything is counted, however long that takes.
    pub(super) wait: bool,
}

impl FindingsQuery {
    /// Without a state, the list has the open findings.
    pub(super) fn parse(uri: &Uri) -> Self {
        let value = |name| query_value(uri, name);
        Self {
            state: match &*value("state") {
                ALL_STATES => None,
                name => Some(State::parse(name).unwrap_or(State::Open)),
            },
            kind: Kind::parse(&value("kind")),
            readers: match &*value("class") {
                "human" => Some(HurtReaders::Human),
                "ai" => Some(HurtReaders::Ai),
                _ => None,
            },
            sort: FindingSort::from_name(&value("sort")).unwrap_or_default(),
            offset: value("offset").parse().unwrap_or(0),
            wait: value("wait") == "1",
        }
    }

    /// Parses what [`Self::to_query`] wrote. Anything else is ignored.
    pub(super) fn parse_text(query: &str) -> Self {
        Self::parse(&format!("/?{query}").parse().unwrap_or_default())
    }

    pub(super) fn has_state(&self, state: State) -> bool {
        self.state.is_none_or(|wanted| wanted == state)
    }

    /// The offset is one of a list of one kind.
    pub(super) fn filter(&self, kind: Kind, limit: u32) -> FindingFilter {
        FindingFilter {
            state: self.state,
            kind: Some(kind),
            readers: self.readers,
            period: None,
            sort: self.sort,
            limit,
            offset: self.kind.map_or(0, |_| self.offset),
        }
    }

    /// Only what differs from the default.
    pub(super) fn to_query(&self) -> String {
        let mut query = Serializer::new(String::new());
        let state = self.state.map_or(ALL_STATES, State::as_str);
        let class = self.readers.map(|readers| if readers == HurtReaders::Ai { "ai" } else { "human" });
        let sort = Some(self.sort).filter(|sort| *sort != FindingSort::default());
        for (name, value) in [
            ("state", Some(state).filter(|_| self.state != Some(State::Open))),
            ("kind", self.kind.map(Kind::as_str)),
            ("class", class),
            ("sort", sort.map(FindingSort::as_str)),
        ] {
            query.extend_pairs(value.map(|value| (name, value)));
        }
        if self.offset > 0 {
            query.append_pair("offset", &self.offset.to_string());
        }
        query.finish()
    }

    /// The URL of the list. `root` is the path that all pages of the project begin with.
    pub(super) fn href(&self, root: &str) -> String {
        match self.to_query() {
            query if query.is_empty() => format!("{root}/findings"),
            query => format!("{root}/findings?{query}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_a_round_trip_and_unknown_values_are_ignored() {
        #[track_caller]
        fn check(query: &str, expected: &str) {
            assert_eq!(FindingsQuery::parse_text(query).to_query(), expected);
        }
        check("", "");
        check("state=open&sort=score&offset=0", "");
        check(
            "state=all&kind=dead-link&class=ai&sort=newest&offset=50",
            "state=all&kind=dead-link&class=ai&sort=newest&offset=50",
        );
        check("state=in-review&class=human", "state=in-review&class=human");
        check("state=<b>&kind=x&class=y&sort=z&offset=-1\u{7}", "");
    }
}
