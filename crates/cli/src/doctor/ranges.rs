//! Checks the files with address ranges of agents in the data directory.

use std::io::ErrorKind;

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use store::DataDir;
use traffic::{AddressRanges, BadRangeFile, RangeList, RangeSource};

use super::report::Report;

const NAME: &str = "address ranges";
/// Operators change their addresses every few months.
const MAX_AGE_DAYS: i32 = 90;
const REPLACE: &str = "download the operator's current list, check it with `docwright ranges check`, put it into the \
                       folder, and restart the server";

pub(super) fn check(report: &mut Report, dir: &DataDir) {
    let folder = dir.ranges();
    match std::fs::read_dir(&folder) {
        Ok(_) => {}
        // Most servers use only the lists of this version.
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => {
            let message = format!("{} cannot be read: {error}", folder.display());
            return report.warn(NAME, message, "let the server's user read the folder and its files");
        }
    }
    let (ranges, bad) = AddressRanges::load(&folder);
    bad.iter().for_each(|file| report_bad(report, file));
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let files = ranges.lists().iter().filter(|list| list.source != RangeSource::Shipped);
    let (old, fresh): (Vec<_>, Vec<_>) = files.partition(|list| is_old(list, today));
    old.iter().for_each(|list| report_old(report, list));
    if old.is_empty() && bad.is_empty() && !fresh.is_empty() {
        let files = if fresh.len() == 1 { "1 file".to_owned() } else { format!("{} files", fresh.len()) };
        report.ok(NAME, format!("{files} in {}", folder.display()));
    }
}

fn report_bad(report: &mut Report, file: &BadRangeFile) {
    let message = format!("{}: {}", file.path.display(), file.problems.join(" "));
    report.warn(NAME, message, format!("the server doesn't use this file: {REPLACE}"));
}

fn report_old(report: &mut Report, list: &RangeList) {
    let RangeList { name, date, .. } = list;
    let date = date.as_deref().unwrap_or_default();
    let message = format!("the list of {name} is of {date}, more than {MAX_AGE_DAYS} days ago");
    report.warn(NAME, message, format!("new addresses of the operator count as claimed: {REPLACE}"));
}

/// A list whose date isn't known isn't old.
fn is_old(list: &RangeList, today: Date) -> bool {
    let day = list.date.as_deref().and_then(|date| date.parse::<Date>().ok());
    day.and_then(|day| today.since(day).ok()).is_some_and(|age| age.get_days() > MAX_AGE_DAYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_old_after_90_days() {
        let today: Date = "2026-11-19".parse().unwrap();
        let check = |date: Option<&str>, expected: bool| {
            let date = date.map(str::to_owned);
            let source = RangeSource::Shipped;
            let list = RangeList { name: "GPTBot".into(), is_proxy: false, source, date, ranges: 1 };
            assert_eq!(is_old(&list, today), expected, "{:?}", list.date);
        };
        check(Some("2026-08-21"), false);
        check(Some("2026-08-20"), true);
        check(Some("2026-11-30"), false);
        check(Some("soon"), false);
        check(None, false);
    }
}
