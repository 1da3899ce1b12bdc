//! Counts the site and given paths by day.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Shared;
use super::day_readers::DayReaders;
use super::rows::{Answer, path as path_of};
use super::snapshot::report;
use super::snapshot::{Moment, tally};
use super::sql::{Conditions, quote_all};
use crate::classify::Class;
use crate::event::Kind;
use crate::range::Range;
use crate::range_parts::{DAY, Span, days_in};
use crate::reports::{DayCounts, PathCounts, PathDays, PathDaysQuery};
use crate::views::{Failure, Tally};

/// The codes of the sources in the query.
const VIEWS: u8 = 0;
const NOT_FOUND: u8 = 2;

impl Shared {
    pub(super) async fn path_days(
        &self,
        project: &str,
        range: &Range,
        query: &PathDaysQuery<'_>,
    ) -> Result<PathDays, Failure> {
        let days = days_in(range);
        let report = report!(self, project, |moment| {
            let mut table =
                Table { wanted: query.paths.iter().map(String::as_str).collect(), ..Table::default() };
            self.add_counts(moment, days, &mut table).await?;
            table.add_waiting(moment, days);
            if query.with_visitors {
                let add = |day, readers: DayReaders| table.add_visitors(day, &readers);
                self.each_day_readers(moment, days, DayReaders::decode, add).await?;
            }
            Ok(table.into_report(query))
        });
        Ok(report?.unwrap_or_else(|| Table::default().into_report(query)))
    }

    async fn add_counts(&self, moment: &Moment, days: Span, table: &mut Table<'_>) -> Result<(), Failure> {
        let days = Conditions::new(&moment.ledger).days(days);
        // The path of the site's counts is empty.
        let wanted = quote_all(table.wanted.iter().copied());
        let of = |path: &str| match table.wanted.is_empty() {
            true => "[''] AS ofs".to_owned(),
            false => format!("if({path} IN ({wanted}), ['', {path}], ['']) AS ofs"),
        };
        let sql = format!(
            "SELECT source, day, arrayJoin(ofs) AS of, sumIf(n, class = 0), sumIf(n, class = 1) FROM (
                SELECT toUInt8({VIEWS}) AS source, day, {}, class, n FROM views_daily WHERE class < 2 AND {days}
                UNION ALL SELECT about AS source, day, {}, class, n FROM views_names WHERE about IN (2, 3) AND {days}
            ) GROUP BY source, day, of",
            of("toString(path)"),
            of("splitByChar('\\t', name)[1]"),
        );
        let rows = self.ready().await?.query(sql).await?;
        let mut answer = Answer::new(&rows);
        while !answer.is_empty() {
            let (source, day, path) = (answer.u8()?, i64::from(answer.u32()?), answer.string()?);
            let counted = Tally { human: answer.u64()?, ai: answer.u64()? };
            let wanted = table.wanted.get(path).copied();
            match (path, wanted) {
                ("", _) => add(table.site.entry(day).or_default(), source, counted),
                (_, Some(path)) => {
                    add(table.paths.entry(path).or_default().entry(day).or_default(), source, counted);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn add(counts: &mut DayCounts, source: u8, counted: Tally) {
    let field = match source {
        VIEWS => &mut counts.views,
        NOT_FOUND => &mut counts.not_found,
        _ => &mut counts.redirected,
    };
    field.add(counted.human, counted.ai);
}

type DaysOf = BTreeMap<i64, DayCounts>;

#[derive(Default)]
struct Table<'q> {
    site: DaysOf,
    paths: HashMap<&'q str, DaysOf>,
    wanted: HashSet<&'q str>,
}

impl Table<'_> {
    fn add_waiting(&mut self, moment: &Moment, days: Span) {
        for (block, row) in moment.rows() {
            let day = row.at.div_euclid(DAY);
            let source = match row.kind {
                Kind::Read => VIEWS,
                Kind::NotFound => NOT_FOUND,
                Kind::Redirected => 3,
                Kind::Other => continue,
            };
            if !(days.0..days.1).contains(&day) || !matches!(row.class, Class::Human | Class::Assistant) {
                continue;
            }
            let counted = tally(row.class, 1);
            add(self.site.entry(day).or_default(), source, counted);
            if let Some(path) = self.wanted.get(path_of(block, row)).copied() {
                add(self.paths.entry(path).or_default().entry(day).or_default(), source, counted);
            }
        }
    }

    fn add_visitors(&mut self, day: i64, readers: &DayReaders) {
        if readers.site.total > 0 {
            self.site.entry(day).or_default().visitors = readers.site;
        }
        for path in self.wanted.iter().copied() {
            if let Some(readers) = readers.pages.get(path) {
                self.paths.entry(path).or_default().entry(day).or_default().visitors = *readers;
            }
        }
    }

    /// Days without counts are left out.
    fn into_report(self, query: &PathDaysQuery<'_>) -> PathDays {
        let dated = |days: &DaysOf| -> Vec<DayCounts> {
            let has_any = |counts: &DayCounts| {
                [counts.views, counts.not_found, counts.redirected].iter().any(|tally| tally.total() > 0)
                    || counts.visitors.total > 0
            };
            let dated = days.iter().map(|(day, counts)| DayCounts { at: day * DAY, ..*counts });
            dated.filter(has_any).collect()
        };
        let counts = |path: &String| PathCounts {
            path: path.clone(),
            days: self.paths.get(&**path).map(dated).unwrap_or_default(),
        };
        PathDays { site: dated(&self.site), paths: query.paths.iter().map(counts).collect() }
    }
}
