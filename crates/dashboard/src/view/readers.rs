//! Defines the data of the readers pages: tiles, panels, and the page of a project without views.

use std::cmp::Ordering;

use askama::Template;

use super::{Chart, Link, Section, Shell, count, with_commas};

/// `/p/{projectId}/readers`
#[derive(Template)]
#[template(path = "readers.html")]
pub(crate) struct Readers {
    pub(crate) shell: Shell,
    pub(crate) picker: RangePicker,
    /// A sentence if page views are late.
    pub(crate) trouble: Option<String>,
    pub(crate) live: Option<LiveLine>,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) chart: Chart,
    pub(crate) merges: Vec<MergeRow>,
    pub(crate) panels: Vec<Panel>,
    /// The number of open findings.
    pub(crate) open_findings: String,
    /// The URL of this page that waits until everything is counted.
    pub(crate) complete_url: String,
    /// The query of the same report in the API.
    pub(crate) api_query: String,
}

/// `/p/{projectId}/readers/{list}`: all rows of a panel, in pages.
#[derive(Template)]
#[template(path = "readers_list.html")]
pub(crate) struct ReaderList {
    pub(crate) shell: Shell,
    pub(crate) picker: RangePicker,
    pub(crate) panel: Panel,
    pub(crate) complete_url: String,
    pub(crate) back: String,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) api_query: String,
}

/// `/p/{projectId}/readers` of a project that never had a view.
#[derive(Template)]
#[template(path = "no_readers.html")]
pub(crate) struct NoReaders {
    pub(crate) shell: Shell,
    /// The script element for the pages of the docs site.
    pub(crate) snippet: String,
    /// The command that allows the site to send views. `None` if the project has a site.
    pub(crate) allow: Option<String>,
    pub(crate) import: String,
    pub(crate) curl: String,
}

/// `/p/{projectId}/readers/live`: the readers of the last 30 minutes. Also part of the readers page.
#[derive(Template)]
#[template(path = "readers_live.html")]
pub(crate) struct LiveLine {
    pub(crate) href: String,
    pub(crate) readers: u64,
    pub(crate) human: u64,
    pub(crate) ai: u64,
}

/// The selected days and pages, and links to select others.
pub(crate) struct RangePicker {
    pub(crate) action: String,
    pub(crate) presets: Vec<LinkChoice>,
    pub(crate) is_custom: bool,
    /// As typed, if the range was refused.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) sort: &'static str,
    pub(crate) path: Option<PathFilter>,
    pub(crate) error: Option<String>,
}

/// A link in a group of which one is selected.
pub(crate) struct LinkChoice {
    pub(crate) href: String,
    pub(crate) label: &'static str,
    pub(crate) chosen: bool,
}

/// Shows only pages whose path begins with `path`.
pub(crate) struct PathFilter {
    pub(crate) path: String,
    /// The sections that contain the path, the outermost first.
    pub(crate) parents: Vec<Link>,
    pub(crate) clear: String,
}

pub(crate) struct Tile {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// `None` if it wasn't counted in time.
    pub(crate) number: Option<u64>,
    /// The number of the previous period.
    pub(crate) previous: u64,
    /// The length of the period.
    pub(crate) days: u64,
    pub(crate) note: &'static str,
    /// More is worse.
    pub(crate) is_fault: bool,
}

impl Tile {
    pub(super) fn figure(&self) -> String {
        self.number.map(with_commas).unwrap_or_default()
    }

    pub(super) fn change(&self) -> String {
        describe_change(self.number.unwrap_or(0), self.previous, self.days)
    }

    pub(super) fn class(&self) -> &'static str {
        match (self.number.unwrap_or(0).cmp(&self.previous), self.is_fault) {
            (Ordering::Equal, _) => "soft",
            (Ordering::Greater, false) | (Ordering::Less, true) => "plus",
            (Ordering::Greater, true) | (Ordering::Less, false) => "minus",
        }
    }
}

/// A list of counts by page, path, agent or referrer.
pub(crate) struct Panel {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The operation of the API that has the same rows.
    pub(crate) operation: &'static str,
    /// The heading of the first column.
    pub(crate) name_column: &'static str,
    pub(crate) columns: &'static [&'static str],
    pub(crate) sorts: Vec<LinkChoice>,
    /// `None` if it wasn't counted in time.
    pub(crate) rows: Option<Vec<Row>>,
    pub(crate) empty: &'static str,
    /// The URL of the full list, if this list is truncated.
    pub(crate) full_list: Option<String>,
    pub(crate) csv: String,
    /// Says that the path filter doesn't apply.
    pub(crate) note: Option<&'static str>,
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) aside: Option<String>,
    /// The URL of the report filtered by this row.
    pub(crate) href: Option<String>,
    pub(crate) numbers: Vec<u64>,
    /// The widths of the human, AI and other parts, in thousandths of the widest row.
    pub(crate) bar: [u64; 3],
    /// The URL that suggests a job about this row.
    pub(crate) job: Option<String>,
}

impl Row {
    fn figures(&self) -> Vec<String> {
        self.numbers.iter().copied().map(with_commas).collect()
    }
}

/// A pull request that was merged in the period.
pub(crate) struct MergeRow {
    pub(crate) number: String,
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) day: String,
}

/// The change since the previous period of as many days, in percent.
fn describe_change(now: u64, previous: u64, days: u64) -> String {
    let period = if days == 1 { "previous day".into() } else { format!("previous {}", count(days, "day")) };
    if previous == 0 {
        return if now == 0 { format!("none in {period}") } else { "new".into() };
    }
    let difference = u128::from(now.abs_diff(previous));
    let percent = (difference * 100 + u128::from(previous) / 2) / u128::from(previous);
    let percent = with_commas(u64::try_from(percent).unwrap_or(u64::MAX));
    match now.cmp(&previous) {
        Ordering::Equal => format!("same as {period}"),
        Ordering::Greater => format!("+{percent}% vs. {period}"),
        Ordering::Less => format!("−{percent}% vs. {period}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_name_the_period_that_they_compare_with() {
        #[track_caller]
        fn check(now: u64, previous: u64, text: &str) {
            assert_eq!(describe_change(now, previous, 30), text);
        }
        check(0, 0, "none in previous 30 days");
        check(5, 0, "new");
        check(5, 5, "same as previous 30 days");
        check(118, 100, "+18% vs. previous 30 days");
        check(2, 3, "−33% vs. previous 30 days");
        check(0, 7, "−100% vs. previous 30 days");
        check(u64::MAX, 1, "+18,446,744,073,709,551,615% vs. previous 30 days");
        assert_eq!(describe_change(2, 1, 1), "+100% vs. previous day");
    }
}
