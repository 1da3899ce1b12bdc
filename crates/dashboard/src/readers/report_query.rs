//! Parses and writes the query of the readers pages: the days, the path filter and the order.
//!
//! Everything that a person selects is in the URL, so that it can be bookmarked and shared.

use axum::http::Uri;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use traffic::{Interval, ListQuery, Range, Sort};

use app::path::query_value;

/// The names and labels of the predefined ranges.
pub(super) const PRESETS: [(&str, &str); 4] =
    [("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days"), ("12m", "12 months")];
const DEFAULT_RANGE: &str = "30d";
const CUSTOM: &str = "custom";
/// Events have no other years. The end is exclusive.
const YEARS: (i16, i16) = (2000, 2100);
const MAX_DAYS: i32 = 3_660;

#[derive(Clone)]
pub(super) struct ReportQuery {
    /// One of [`PRESETS`], or [`CUSTOM`].
    pub(super) range_name: String,
    /// The first day, and the day after the last, in UTC.
    pub(super) from: Date,
    pub(super) to: Date,
    pub(super) path: Option<String>,
    pub(super) sort: Sort,
    pub(super) offset: u64,
    /// Wait until everything is counted, however long that takes.
    pub(super) wait: bool,
}

impl ReportQuery {
    /// Replaces an invalid value with its default, and returns a sentence about it. An invalid `offset` is replaced
    /// silently. If several values are invalid, the sentence is about the last one.
    pub(super) fn parse(uri: &Uri, today: Date) -> (Self, Option<String>) {
        let value = |name| query_value(uri, name);
        let (range_name, mut error) = match value("range") {
            empty if empty.is_empty() => (DEFAULT_RANGE.to_owned(), None),
            custom if custom == CUSTOM => (custom, None),
            known if PRESETS.iter().any(|(name, _)| *name == known) => (known, None),
            _ => (DEFAULT_RANGE.to_owned(), Some("Unknown range. Showing the last 30 days.".to_owned())),
        };
        let days = match &*range_name {
            CUSTOM => custom_days(&value("from"), &value("to")),
            preset => Ok(preset_days(preset, today)),
        };
        let (range_name, (from, to)) = match days {
            Ok(days) => (range_name, days),
            Err(sentence) => {
                error = Some(sentence);
                (DEFAULT_RANGE.to_owned(), preset_days(DEFAULT_RANGE, today))
            }
        };
        let path = Some(value("path")).filter(|path| !path.is_empty());
        if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            error = Some("A path must begin with “/”. Showing all pages.".to_owned());
        }
        let sort = match &*value("sort") {
            "" => Some(Sort::default()),
            name => Sort::from_name(name).filter(|sort| *sort != Sort::Path),
        };
        if sort.is_none() {
            error = Some("Unknown order. Showing the most viewed first.".to_owned());
        }
        let query = Self {
            range_name,
            from,
            to,
            path: path.filter(|path| path.starts_with('/')),
            sort: sort.unwrap_or_default(),
            offset: value("offset").parse().unwrap_or(0),
            wait: value("wait") == "1",
        };
        (query, error)
    }

    pub(super) fn days(&self) -> i32 {
        days_between(self.from, self.to)
    }

    pub(super) fn range(&self) -> Range {
        range_of_days(self.from, self.to)
    }

    /// The previous period: as many days, just before this one.
    pub(super) fn previous_range(&self) -> Range {
        range_of_days(self.from.saturating_sub(self.days().days()), self.from)
    }

    pub(super) fn interval(&self) -> Interval {
        match self.days() {
            ..=2 => Interval::Hour,
            3..=100 => Interval::Day,
            101..=800 => Interval::Week,
            _ => Interval::Month,
        }
    }

    pub(super) fn list_query(&self, limit: u32) -> ListQuery {
        ListQuery { limit, offset: self.offset, sort: self.sort, path: self.path.clone() }
    }

    /// The URL of a page with this query.
    pub(super) fn href(&self, page: &str) -> String {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.append_pair("range", &self.range_name);
        if self.range_name == CUSTOM {
            pairs.append_pair("from", &self.from.to_string());
            pairs.append_pair("to", &self.last_day().to_string());
        }
        if let Some(path) = &self.path {
            pairs.append_pair("path", path);
        }
        if self.sort != Sort::default() {
            pairs.append_pair("sort", sort_name(self.sort));
        }
        if self.offset > 0 {
            pairs.append_pair("offset", &self.offset.to_string());
        }
        if self.wait {
            pairs.append_pair("wait", "1");
        }
        format!("{page}?{}", pairs.finish())
    }

    /// The last day of the range, inclusive.
    pub(super) fn last_day(&self) -> Date {
        self.to.saturating_sub(1.day())
    }
}

pub(super) fn sort_name(sort: Sort) -> &'static str {
    match sort {
        Sort::Human => "human",
        Sort::Ai => "ai",
        Sort::Total | Sort::Path => "total",
    }
}

pub(crate) fn day_of(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}

pub(crate) fn day_start(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC).map(|midnight| midnight.timestamp()).unwrap_or_default()
}

fn range_of_days(from: Date, to: Date) -> Range {
    let start = |day| Some(day_start(day).as_millisecond());
    Range::new(start(from), start(to)).unwrap_or_default()
}

fn days_between(from: Date, to: Date) -> i32 {
    from.duration_until(to).as_hours() as i32 / 24
}

/// The days of a preset, up to and including today.
fn preset_days(name: &str, today: Date) -> (Date, Date) {
    let to = today.saturating_add(1.day());
    let from = match name {
        "7d" => to.saturating_sub(7.days()),
        "90d" => to.saturating_sub(90.days()),
        "12m" => to.saturating_sub(12.months()),
        _ => to.saturating_sub(30.days()),
    };
    (from, to)
}

/// Both days are included. Browsers send dates as YYYY-MM-DD.
fn custom_days(from: &str, to: &str) -> Result<(Date, Date), String> {
    let day = |text: &str, which: &str| match text.trim().parse::<Date>() {
        Ok(day) if text.trim().len() == 10 && (YEARS.0..YEARS.1).contains(&day.year()) => Ok(day),
        _ => Err(format!(
            "Enter the {which} day as YYYY-MM-DD, with a year from {} to {}.",
            YEARS.0,
            YEARS.1 - 1
        )),
    };
    let (from, to) = (day(from, "first")?, day(to, "last")?.saturating_add(1.day()));
    match days_between(from, to) {
        ..=0 => Err("The first day is after the last day. Choose an earlier first day.".into()),
        1..=MAX_DAYS => Ok((from, to)),
        _ => Err("The range is longer than ten years. Choose fewer days.".into()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn invalid_values_are_replaced_and_reported() {
        #[track_caller]
        fn check(query: &str, from: &str, to: &str, days: i32, error: &str) {
            let uri: Uri = format!("/p/x/readers?{query}").parse().unwrap();
            let (parsed, message) = ReportQuery::parse(&uri, date(2026, 11, 15));
            assert_eq!((parsed.from.to_string(), parsed.to.to_string()), (from.into(), to.into()), "{query}");
            assert_eq!((parsed.days(), message.unwrap_or_default().contains(error)), (days, true), "{query}");
            let again: Uri = parsed.href("/p/x/readers").parse().unwrap();
            assert_eq!(ReportQuery::parse(&again, date(2026, 11, 15)).0.href(""), parsed.href(""), "{query}");
        }
        check("", "2026-10-17", "2026-11-16", 30, "");
        check("range=7d&path=/a%26b&sort=ai&offset=20&wait=1", "2026-11-09", "2026-11-16", 7, "");
        check("range=12m", "2025-11-16", "2026-11-16", 365, "");
        check("range=custom&from=2026-03-01&to=2026-03-01", "2026-03-01", "2026-03-02", 1, "");
        check("range=century", "2026-10-17", "2026-11-16", 30, "Unknown range");
        check("range=custom&from=2026-03-02&to=2026-03-01", "2026-10-17", "2026-11-16", 30, "after the last");
        check("range=custom&from=2026-02-30&to=2026-03-01", "2026-10-17", "2026-11-16", 30, "first day");
        check("range=custom&from=2026-02-20&to=%ff", "2026-10-17", "2026-11-16", 30, "last day");
        check("range=custom&from=-009999-01-01&to=2026-03-01", "2026-10-17", "2026-11-16", 30, "first day");
        check("range=custom&from=2000-01-01&to=2099-12-31", "2026-10-17", "2026-11-16", 30, "ten years");
        check("sort=best", "2026-10-17", "2026-11-16", 30, "Unknown order");
        check("sort=path", "2026-10-17", "2026-11-16", 30, "Unknown order");
        check("path=guides", "2026-10-17", "2026-11-16", 30, "must begin with");
    }

    #[test]
    fn the_previous_period_has_as_many_days() {
        let uri: Uri = "/p/x/readers?range=7d".parse().unwrap();
        let (query, _) = ReportQuery::parse(&uri, date(2026, 11, 15));
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap().as_millisecond());
        let previous = Range::new(at("2026-11-02T00:00:00Z"), at("2026-11-09T00:00:00Z")).unwrap();
        assert_eq!(query.previous_range(), previous);
    }
}
