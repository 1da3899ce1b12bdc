//! Effects in words.

use crate::text::grouped;

use super::{Change, Measure, Verdict};

/// What the counts of an effect are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Paths(usize),
    Pages(usize),
}

impl Subject {
    fn words(self) -> String {
        match self {
            Self::Paths(1) => "this path".to_owned(),
            Self::Paths(count) => format!("these {} paths", grouped(count as u64)),
            Self::Pages(1) => "this page".to_owned(),
            Self::Pages(count) => format!("these {} pages", grouped(count as u64)),
        }
    }
}

impl Change {
    /// The numbers, without a claim about their cause: "Not-found requests for this path: 31 → 0. Site-wide: −4%."
    pub fn sentence(&self, measure: Measure, subject: Subject) -> String {
        let what = match measure {
            Measure::NotFound => "Not-found requests for",
            Measure::Views => "Views of",
            Measure::Visitors => "Visitors of",
        };
        let numbers = || {
            let (before, after) = (grouped(self.before), grouped(self.after));
            let site = percent(self.site_before, self.site_after);
            format!("{what} {}: {before} → {after}. Site-wide: {site}.", subject.words())
        };
        match self.verdict {
            Verdict::TooFew => "Too few readers to tell.".to_owned(),
            Verdict::NoChange => format!("{} No change that can be told from chance.", numbers()),
            Verdict::Better | Verdict::Worse => numbers(),
        }
    }
}

/// The change in whole percent, with a true minus sign.
fn percent(before: u64, after: u64) -> String {
    if before == 0 {
        return "no readers before".to_owned();
    }
    let change = ((after as f64 / before as f64 - 1.0) * 100.0).round();
    let sign = match change {
        change if change > 0.0 => "+",
        change if change < 0.0 => "−",
        _ => "",
    };
    format!("{sign}{}%", grouped(change.abs() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_said_in_numbers() {
        #[track_caller]
        fn check(measure: Measure, subject: Subject, counts: [u64; 4], verdict: Verdict, expected: &str) {
            let [before, after, site_before, site_after] = counts;
            let change = Change { before, after, site_before, site_after, rate: None, verdict };
            assert_eq!(change.sentence(measure, subject), expected);
        }
        use {Measure::*, Subject::*, Verdict::*};
        check(
            NotFound,
            Paths(1),
            [31, 0, 100, 96],
            Better,
            "Not-found requests for this path: 31 → 0. Site-wide: −4%.",
        );
        check(
            Views,
            Pages(1_200),
            [1_000, 1_234_567, 3, 3],
            Better,
            "Views of these 1,200 pages: 1,000 → 1,234,567. Site-wide: 0%.",
        );
        check(
            Visitors,
            Pages(1),
            [40, 20, 10, 200],
            Worse,
            "Visitors of this page: 40 → 20. Site-wide: +1,900%.",
        );
        check(
            NotFound,
            Paths(2),
            [31, 30, 1_000, 1_001],
            NoChange,
            "Not-found requests for these 2 paths: 31 → 30. Site-wide: 0%. No change that can be told from chance.",
        );
        check(NotFound, Paths(1), [5, 0, 100, 96], TooFew, "Too few readers to tell.");
        check(
            Views,
            Pages(1),
            [20, 1, 0, 3],
            Worse,
            "Views of this page: 20 → 1. Site-wide: no readers before.",
        );
    }
}
