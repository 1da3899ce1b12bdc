//! The reader pages as data: tiles, panels, and what somebody sees who has no readers yet.

use askama::Template;

use super::{Chart, Link, Section, Shell};

/// `/p/{projectId}/readers`
#[derive(Template)]
#[template(path = "readers.html")]
pub(crate) struct Readers {
    pub(crate) shell: Shell,
    pub(crate) picker: Picker,
    pub(crate) live: Option<LiveLine>,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) chart: Chart,
    pub(crate) merges: Vec<MergeRow>,
    pub(crate) panels: Vec<Panel>,
    /// The same page, with everything on it counted.
    pub(crate) whole: String,
    pub(crate) query: String,
}

/// `/p/{projectId}/readers/{list}`: all of a panel, page by page.
#[derive(Template)]
#[template(path = "readers_list.html")]
pub(crate) struct ReaderList {
    pub(crate) shell: Shell,
    pub(crate) picker: Picker,
    pub(crate) panel: Panel,
    pub(crate) whole: String,
    pub(crate) back: String,
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
    pub(crate) query: String,
}

/// `/p/{projectId}/readers`, before anybody came.
#[derive(Template)]
#[template(path = "readers_none.html")]
pub(crate) struct NoReaders {
    pub(crate) shell: Shell,
    /// For the pages of the docs site.
    pub(crate) snippet: String,
    /// What lets the site's browsers send: `None` when a site is named already.
    pub(crate) allow: Option<String>,
    pub(crate) import: String,
    pub(crate) curl: String,
}

/// `/p/{projectId}/readers/live`: who reads just now. Also a part of the page.
#[derive(Template)]
#[template(path = "readers_live.html")]
pub(crate) struct LiveLine {
    pub(crate) href: String,
    pub(crate) readers: u64,
    pub(crate) human: u64,
    pub(crate) ai: u64,
}

/// Which days and which pages, and how to choose others.
pub(crate) struct Picker {
    pub(crate) action: String,
    pub(crate) presets: Vec<Choice>,
    pub(crate) custom: bool,
    /// As typed, if that was refused.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) sort: &'static str,
    pub(crate) path: Option<Filter>,
    pub(crate) error: Option<String>,
}

/// One of several, each of which is somewhere to go.
pub(crate) struct Choice {
    pub(crate) href: String,
    pub(crate) label: &'static str,
    pub(crate) chosen: bool,
}

/// Only pages whose path begins so.
pub(crate) struct Filter {
    pub(crate) path: String,
    /// The sections that it is in, the largest first.
    pub(crate) above: Vec<Link>,
    pub(crate) clear: String,
}

pub(crate) struct Tile {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// `None`: it was not counted in time.
    pub(crate) number: Option<u64>,
    pub(crate) before: u64,
    pub(crate) note: &'static str,
    /// More of it is worse.
    pub(crate) fault: bool,
}

impl Tile {
    fn figure(&self) -> String {
        self.number.map(grouped).unwrap_or_default()
    }

    /// Against the range before, in words.
    fn change(&self) -> String {
        change(self.number.unwrap_or(0), self.before)
    }

    fn class(&self) -> &'static str {
        let more = self.number.unwrap_or(0);
        match more.cmp(&self.before) {
            std::cmp::Ordering::Equal => "soft",
            std::cmp::Ordering::Greater => {
                if self.fault {
                    "minus"
                } else {
                    "plus"
                }
            }
            std::cmp::Ordering::Less => {
                if self.fault {
                    "plus"
                } else {
                    "minus"
                }
            }
        }
    }
}

/// A list of what was counted by some name.
pub(crate) struct Panel {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) first: &'static str,
    pub(crate) columns: &'static [&'static str],
    pub(crate) sorts: Vec<Choice>,
    /// `None`: it was not counted in time.
    pub(crate) rows: Option<Vec<Row>>,
    pub(crate) empty: &'static str,
    /// Where all of it is, when this is not.
    pub(crate) more: Option<String>,
    pub(crate) csv: String,
    /// What the filter does not reach.
    pub(crate) note: Option<&'static str>,
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) aside: Option<String>,
    /// To see only that.
    pub(crate) href: Option<String>,
    pub(crate) numbers: Vec<u64>,
    /// How much of the largest row this one is, human, AI and neither, in thousandths.
    pub(crate) bar: [u64; 3],
    /// Where to start a job about it.
    pub(crate) job: Option<String>,
}

impl Row {
    fn figures(&self) -> Vec<String> {
        self.numbers.iter().copied().map(grouped).collect()
    }
}

/// A pull request that was merged in the range.
pub(crate) struct MergeRow {
    pub(crate) number: String,
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) day: String,
}

/// `41,930`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// In per cent of what was before; of nothing there are none.
fn change(now: u64, before: u64) -> String {
    if before == 0 {
        return if now == 0 { "none before either".into() } else { "new".into() };
    }
    let difference = u128::from(now.abs_diff(before));
    let percent = (difference * 100 + u128::from(before) / 2) / u128::from(before);
    let percent = grouped(u64::try_from(percent).unwrap_or(u64::MAX));
    match now.cmp(&before) {
        std::cmp::Ordering::Equal => "as before".into(),
        std::cmp::Ordering::Greater => format!("+{percent} % on before"),
        std::cmp::Ordering::Less => format!("−{percent} % on before"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (41_930, "41,930")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn changes() {
        #[track_caller]
        fn check(now: u64, before: u64, text: &str) {
            assert_eq!(change(now, before), text);
        }
        check(0, 0, "none before either");
        check(5, 0, "new");
        check(5, 5, "as before");
        check(118, 100, "+18 % on before");
        check(2, 3, "−33 % on before");
        check(0, 7, "−100 % on before");
        check(u64::MAX, 1, "+18,446,744,073,709,551,615 % on before");
    }
}
