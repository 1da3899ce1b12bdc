//! Writes conditions and literals of ClickHouse's SQL.

use super::ledger::LedgerSnapshot;
use super::schema::DAY_OF_AT;
use crate::range_parts::{DAY, HOUR, RangeParts, Span};
use crate::series_steps::EVENT_TIMES;

/// A string literal. Paths and user agents are chosen by strangers.
pub(super) fn quote(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for character in text.chars() {
        match character {
            '\\' | '\'' => literal.extend(['\\', character]),
            '\0'..='\x1f' => literal.push_str(&format!("\\x{:02X}", character as u32)),
            _ => literal.push(character),
        }
    }
    literal.push('\'');
    literal
}

pub(super) fn quote_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    texts.into_iter().map(quote).collect::<Vec<_>>().join(", ")
}

/// Conditions on the rows of one project.
pub(super) struct Conditions<'s> {
    snapshot: &'s LedgerSnapshot,
}

impl<'s> Conditions<'s> {
    pub(super) fn new(snapshot: &'s LedgerSnapshot) -> Self {
        Self { snapshot }
    }

    /// The rows of the project whose generation counts. `day` is the expression of a row's day.
    fn current(&self, day: &str) -> String {
        format!(
            "project = {} AND {}",
            self.snapshot.project,
            current_generation(&self.snapshot.generations, day)
        )
    }

    /// Rows of `views_daily` or `views_names` of whole days.
    pub(super) fn days(&self, days: Span) -> String {
        format!("{} AND {}", self.current("day"), between("day", clamp(days, DAY)))
    }

    /// Rows of `views_hourly`.
    pub(super) fn hours(&self, spans: &[Span]) -> String {
        let spans = spans.iter().map(|span| between("hour", clamp(*span, HOUR)));
        format!("{} AND {}", self.current("toUInt32(intDiv(hour, 24))"), any(spans))
    }

    /// Raw events. Those before `raw_from` are deleted, or about to be.
    pub(super) fn raw(&self, spans: &[Span]) -> String {
        let from = self.snapshot.raw_from;
        let spans = spans.iter().map(|span| {
            let (from, to) = clamp((span.0.max(from), span.1.max(from)), 1);
            format!("(at >= fromUnixTimestamp64Milli({from}, 'UTC') AND at < fromUnixTimestamp64Milli({to}, 'UTC'))")
        });
        format!("{} AND {}", self.current(DAY_OF_AT), any(spans))
    }

    /// Reads in a range by path and class, from the cheapest source of each part. The columns are `path`, `class` and
    /// `n`.
    pub(super) fn reads(&self, parts: &RangeParts) -> String {
        let mut sources = vec![format!(
            "SELECT path, class, n FROM views_daily WHERE class < 2 AND {}",
            self.days(parts.days)
        )];
        if !parts.hours.is_empty() {
            let hours = self.hours(&parts.hours);
            sources.push(format!("SELECT path, class, n FROM views_hourly WHERE class < 2 AND {hours}"));
        }
        if !parts.raw_spans.is_empty() {
            let raw = self.raw(&parts.raw_spans);
            sources.push(format!(
                "SELECT path, class, toUInt64(1) AS n FROM views WHERE kind = 0 AND class < 2 AND {raw}"
            ));
        }
        sources.join(" UNION ALL ")
    }
}

/// Whether a row has the generation that counts on its day.
pub(super) fn current_generation(rewritten: &[(i64, i64)], day: &str) -> String {
    if rewritten.is_empty() {
        return "generation = 0".into();
    }
    format!("generation = {}", generation_of(rewritten, day))
}

pub(super) fn generation_of(rewritten: &[(i64, i64)], day: &str) -> String {
    let list = |numbers: &mut dyn Iterator<Item = i64>| {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let days = list(&mut rewritten.iter().map(|(day, _)| *day));
    let generations = list(&mut rewritten.iter().map(|(_, generation)| *generation));
    format!("transform({day}, [{days}]::Array(UInt32), [{generations}]::Array(UInt32), toUInt32(0))")
}

fn between(column: &str, (from, to): Span) -> String {
    format!("({column} >= {from} AND {column} < {to})")
}

fn any(conditions: impl Iterator<Item = String>) -> String {
    let conditions: Vec<String> = conditions.collect();
    if conditions.is_empty() { "0".into() } else { format!("({})", conditions.join(" OR ")) }
}

/// Restricts a span, in units of `unit` milliseconds, to the years in which events can be.
fn clamp((from, to): Span, unit: i64) -> Span {
    let (first, last) = (EVENT_TIMES.0 / unit, EVENT_TIMES.1 / unit);
    (from.clamp(first, last), to.clamp(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_cannot_end_early() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(quote(text), expected);
        }
        check("/a", "'/a'");
        check("it's", r"'it\'s'");
        check(r"\', 1); --", r"'\\\', 1); --'");
        check("é\n\0", r"'é\x0A\x00'");
        assert_eq!(quote_all(["a", "'"]), r"'a', '\''");
    }

    #[test]
    fn only_the_generation_of_the_day_counts() {
        assert_eq!(current_generation(&[], "day"), "generation = 0");
        let expected =
            "generation = transform(day, [7, 9]::Array(UInt32), [1, 3]::Array(UInt32), toUInt32(0))";
        assert_eq!(current_generation(&[(7, 1), (9, 3)], "day"), expected);
    }
}
