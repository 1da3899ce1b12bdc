//! What a reader page is asked: which days, which pages, in which order. All of it is in the address,
//! so that a view can be kept, sent and gone back to.

use axum::http::Uri;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use traffic::{Interval, ListQuery, Range, Sort};

use app::path::query_value;

/// The ranges that are a click away, and what they are called.
pub(super) const PRESETS: [(&str, &str); 4] =
    [("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days"), ("12m", "12 months")];
const USUAL: &str = "30d";
const CUSTOM: &str = "custom";
/// No event is of another time.
const YEARS: (i16, i16) = (2000, 2100);
const MOST_DAYS: i32 = 3_660;

#[derive(Clone)]
pub(super) struct Asked {
    pub(super) range: String,
    /// The first day, and the first that is not meant any more. Days are UTC's.
    pub(super) from: Date,
    pub(super) to: Date,
    pub(super) path: Option<String>,
    pub(super) sort: Sort,
    pub(super) offset: u64,
    /// Until everything is counted, however long that takes.
    pub(super) wait: bool,
}

impl Asked {
    /// What cannot be meant is left at its default, and said.
    pub(super) fn of(uri: &Uri, today: Date) -> (Self, Option<String>) {
        let value = |name| query_value(uri, name);
        let (range, mut error) = match value("range") {
            none if none.is_empty() => (USUAL.to_owned(), None),
            custom if custom == CUSTOM => (custom, None),
            known if PRESETS.iter().any(|(name, _)| *name == known) => (known, None),
            _ => (USUAL.to_owned(), Some("That is not one of the ranges: showing 30 days.".to_owned())),
        };
        let days = match &*range {
            CUSTOM => custom(&value("from"), &value("to")),
            preset => Ok(preset_days(preset, today)),
        };
        let (range, (from, to)) = match days {
            Ok(days) => (range, days),
            Err(sentence) => {
                error = Some(sentence);
                (USUAL.to_owned(), preset_days(USUAL, today))
            }
        };
        let path = Some(value("path")).filter(|path| !path.is_empty());
        if path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            error = Some("A path begins with “/”: showing every page.".to_owned());
        }
        let sort = match &*value("sort") {
            "" => Some(Sort::default()),
            name => Sort::from_name(name).filter(|sort| *sort != Sort::Path),
        };
        if sort.is_none() {
            error = Some("That is not one of the orders: showing the most read first.".to_owned());
        }
        let asked = Self {
            range,
            from,
            to,
            path: path.filter(|path| path.starts_with('/')),
            sort: sort.unwrap_or_default(),
            offset: value("offset").parse().unwrap_or(0),
            wait: value("wait") == "1",
        };
        (asked, error)
    }

    pub(super) fn days(&self) -> i32 {
        days_between(self.from, self.to)
    }

    pub(super) fn now(&self) -> Range {
        between(self.from, self.to)
    }

    /// As many days, just before.
    pub(super) fn before(&self) -> Range {
        between(self.from.saturating_sub(self.days().days()), self.from)
    }

    pub(super) fn interval(&self) -> Interval {
        match self.days() {
            ..=2 => Interval::Hour,
            3..=100 => Interval::Day,
            101..=800 => Interval::Week,
            _ => Interval::Month,
        }
    }

    pub(super) fn portion(&self, limit: u32) -> ListQuery {
        ListQuery { limit, offset: self.offset, sort: self.sort, path: self.path.clone() }
    }

    /// This very question, put to another page.
    pub(super) fn at(&self, page: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("range", &self.range);
        if self.range == CUSTOM {
            query.append_pair("from", &self.from.to_string());
            query.append_pair("to", &self.last_day().to_string());
        }
        if let Some(path) = &self.path {
            query.append_pair("path", path);
        }
        if self.sort != Sort::default() {
            query.append_pair("sort", sort_name(self.sort));
        }
        if self.offset > 0 {
            query.append_pair("offset", &self.offset.to_string());
        }
        if self.wait {
            query.append_pair("wait", "1");
        }
        format!("{page}?{}", query.finish())
    }

    /// The last day that is meant, as people say it.
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

pub(super) fn day_of(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}

/// When a day begins.
pub(super) fn start(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC).map(|midnight| midnight.timestamp()).unwrap_or_default()
}

fn between(from: Date, to: Date) -> Range {
    let at = |day| Some(start(day).as_millisecond());
    Range::new(at(from), at(to)).unwrap_or_default()
}

fn days_between(from: Date, to: Date) -> i32 {
    from.duration_until(to).as_hours() as i32 / 24
}

/// Up to and with today.
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

/// Both days are meant; dates as browsers send them.
fn custom(from: &str, to: &str) -> Result<(Date, Date), String> {
    let day = |text: &str, which: &str| match text.trim().parse::<Date>() {
        Ok(day) if text.trim().len() == 10 && (YEARS.0..YEARS.1).contains(&day.year()) => Ok(day),
        _ => Err(format!("Give the {which} day as YYYY-MM-DD, between {} and {}.", YEARS.0, YEARS.1 - 1)),
    };
    let (from, to) = (day(from, "first")?, day(to, "last")?.saturating_add(1.day()));
    match days_between(from, to) {
        ..=0 => Err("The first day must not be after the last one.".into()),
        1..=MOST_DAYS => Ok((from, to)),
        _ => Err("That is more than ten years: choose fewer days.".into()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn questions() {
        #[track_caller]
        fn check(query: &str, from: &str, to: &str, days: i32, error: &str) {
            let uri: Uri = format!("/p/x/readers?{query}").parse().unwrap();
            let (asked, said) = Asked::of(&uri, date(2026, 11, 15));
            assert_eq!((asked.from.to_string(), asked.to.to_string()), (from.into(), to.into()), "{query}");
            assert_eq!((asked.days(), said.unwrap_or_default().contains(error)), (days, true), "{query}");
            let again: Uri = asked.at("/p/x/readers").parse().unwrap();
            assert_eq!(Asked::of(&again, date(2026, 11, 15)).0.at(""), asked.at(""), "{query}");
        }
        check("", "2026-10-17", "2026-11-16", 30, "");
        check("range=7d&path=/a%26b&sort=ai&offset=20&wait=1", "2026-11-09", "2026-11-16", 7, "");
        check("range=12m", "2025-11-16", "2026-11-16", 365, "");
        check("range=custom&from=2026-03-01&to=2026-03-01", "2026-03-01", "2026-03-02", 1, "");
        check("range=century", "2026-10-17", "2026-11-16", 30, "not one of the ranges");
        check("range=custom&from=2026-03-02&to=2026-03-01", "2026-10-17", "2026-11-16", 30, "after the last");
        check("range=custom&from=2026-02-30&to=2026-03-01", "2026-10-17", "2026-11-16", 30, "first day");
        check("range=custom&from=2026-02-20&to=%ff", "2026-10-17", "2026-11-16", 30, "last day");
        check("range=custom&from=-009999-01-01&to=2026-03-01", "2026-10-17", "2026-11-16", 30, "first day");
        check("range=custom&from=2000-01-01&to=2099-12-31", "2026-10-17", "2026-11-16", 30, "ten years");
        check("sort=best", "2026-10-17", "2026-11-16", 30, "not one of the orders");
        check("sort=path", "2026-10-17", "2026-11-16", 30, "not one of the orders");
        check("path=guides", "2026-10-17", "2026-11-16", 30, "begins with");
    }

    #[test]
    fn the_days_before() {
        let uri: Uri = "/p/x/readers?range=7d".parse().unwrap();
        let (asked, _) = Asked::of(&uri, date(2026, 11, 15));
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap().as_millisecond());
        let before = Range::new(at("2026-11-02T00:00:00Z"), at("2026-11-09T00:00:00Z")).unwrap();
        assert_eq!(asked.before(), before);
    }
}
