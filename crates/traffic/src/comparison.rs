//! Asks two backends the same random questions.

use std::fmt::{self, Debug, Display};

use crate::interval::Interval;
use crate::list_query::{ListQuery, Sort};
use crate::range::Range;
use crate::range_parts::{DAY, HOUR};
use crate::reports::{PathDaysQuery, Reports, SeriesError};
use crate::views::{Failure, Tally, Views};

/// Pages that questions are about.
const MAX_PAGES: u32 = 200;
/// Days of a question that lists names. In more days, there can be more names than a report counts. Both backends count
/// the rest as other, but each in its own order.
const MAX_NAME_DAYS: i64 = 7;
const MAX_ANSWER_CHARS: usize = 300;
/// Kinds of questions.
const KINDS: u32 = 8;
/// In 2079.
const LAST_DAY: i64 = 40_000;
const INTERVALS: [Interval; 4] = [Interval::Hour, Interval::Day, Interval::Week, Interval::Month];

/// A question that two backends answer differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    question: String,
    old: String,
    new: String,
}

impl Difference {
    pub(crate) fn new(question: String, old: impl Debug, new: impl Debug) -> Self {
        let short = |answer: String| answer.chars().take(MAX_ANSWER_CHARS).collect();
        Self { question, old: short(format!("{old:?}")), new: short(format!("{new:?}")) }
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} before, {} after", self.question, self.old, self.new)
    }
}

/// A backend of both traits.
pub trait Backend: Views + Reports {}

impl<B: Views + Reports> Backend for B {}

/// How two backends answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// The questions that both were asked.
    pub questions: u32,
    /// The first one that they answer differently.
    pub difference: Option<Difference>,
}

/// Asks both about a project, until their answers differ.
pub async fn compare_reports(
    old: &dyn Backend,
    new: &dyn Backend,
    project: &str,
    questions: u32,
    seed: u64,
) -> Result<Comparison, Failure> {
    let mut random = Random(seed);
    let subject = Subject::of(old, project).await?;
    // Without any views, one question of each kind is enough.
    let questions = if subject.span.is_some() { questions } else { questions.min(KINDS) };
    let mut comparison = Comparison::default();
    while comparison.questions < questions && comparison.difference.is_none() {
        comparison.difference = subject.ask(old, new, comparison.questions, &mut random).await?;
        comparison.questions += 1;
    }
    Ok(comparison)
}

/// What questions of a project are about.
struct Subject<'p> {
    project: &'p str,
    pages: Vec<String>,
    /// From the first to after the last day with reads; without reads, with missing or redirected paths.
    span: Option<(i64, i64)>,
}

/// Compares the answers of both backends to one question.
macro_rules! compare {
    ($old:expr, $new:expr, $question:expr, |$backend:ident| $ask:expr) => {{
        let ask = async |$backend: &dyn Backend| $ask.await;
        let (old, new) = (ask($old).await?, ask($new).await?);
        Ok((old != new).then(|| Difference::new($question, old, new)))
    }};
}

impl<'p> Subject<'p> {
    async fn of(old: &dyn Backend, project: &'p str) -> Result<Self, Failure> {
        let counts = old.count(project, &Range::default(), &ListQuery::new(MAX_PAGES, 0)).await?;
        let months = series(old, project, &Range::default(), Interval::Month, None).await?;
        let points = months.map(|series| series.points).unwrap_or_default();
        let pages = counts.pages.into_iter().map(|page| page.path).collect();
        let span = match (points.first(), points.last()) {
            (Some(first), Some(last)) => Some((first.at - DAY, last.at + 32 * DAY)),
            _ => span_of_other_requests(old, project).await?,
        };
        Ok(Self { project, pages, span })
    }

    async fn ask(
        &self,
        old: &dyn Backend,
        new: &dyn Backend,
        number: u32,
        random: &mut Random,
    ) -> Result<Option<Difference>, Failure> {
        let (project, range, query) = (self.project, self.range(random), self.query(random));
        let (range, query) = match number % KINDS {
            3..=6 => self.bound_names(range, query, random),
            _ => (range, query),
        };
        let asked = |what: &str| format!("{project}: {what} in {range:?} with {query:?}");
        match number % KINDS {
            0 => compare!(old, new, asked("count"), |of| of.count(project, &range, &query)),
            1 => compare!(old, new, asked("visitors"), |of| of.visitors(project, &range, &query)),
            2 => {
                let (interval, path) = (random.pick(&INTERVALS), query.path.as_deref());
                let question = format!("{project}: series by {interval:?} of {path:?} in {range:?}");
                compare!(old, new, question, |of| series(of, project, &range, interval, path))
            }
            3 => compare!(old, new, asked("agents"), |of| of.agents(project, &range, &query)),
            4 => compare!(old, new, asked("referrers"), |of| of.referrers(project, &range, &query)),
            5 => compare!(old, new, asked("not found"), |of| of.not_found(project, &range, &query)),
            6 => compare!(old, new, asked("redirected"), |of| of.redirected(project, &range, &query)),
            _ => {
                let paths: Vec<String> = (0..random.below(5)).filter_map(|_| self.page(random)).collect();
                let query = PathDaysQuery { paths: &paths, with_visitors: random.below(2) == 0 };
                let question = format!("{project}: days of {paths:?} in {range:?}");
                compare!(old, new, question, |of| of.path_days(project, &range, &query))
            }
        }
    }

    /// Ends are open, at full days, at full hours, or at any millisecond.
    fn range(&self, random: &mut Random) -> Range {
        let Some((first, last)) = self.span else { return Range::default() };
        let mut end = || {
            let at = first + random.below((last - first).unsigned_abs()).cast_signed();
            match random.below(6) {
                0 => None,
                1 | 2 => Some(at.div_euclid(DAY) * DAY),
                3 => Some(at.div_euclid(HOUR) * HOUR),
                _ => Some(at),
            }
        };
        let (from, to) = (end(), end());
        // One of both orders is a range.
        Range::new(from, to).or_else(|_| Range::new(to, from)).unwrap_or_default()
    }

    /// Over a long range, only the totals, or the names of some of its days.
    fn bound_names(&self, range: Range, query: ListQuery, random: &mut Random) -> (Range, ListQuery) {
        let Some((first, last)) = self.span else { return (range, query) };
        let (from, to) = (range.from().unwrap_or(first), range.to().unwrap_or(last));
        let is_open = range.from().is_none() || range.to().is_none();
        if !is_open && to - from <= MAX_NAME_DAYS * DAY {
            return (range, query);
        }
        if random.below(2) == 0 {
            return (range, ListQuery::new(0, 0));
        }
        // Ends stay at full days and hours.
        let rest = ((to - from).div_euclid(DAY) - MAX_NAME_DAYS).max(0);
        let from = from + random.below(rest.unsigned_abs() + 1).cast_signed() * DAY;
        let to = to.min(from + MAX_NAME_DAYS * DAY);
        (Range::new(Some(from), Some(to)).unwrap_or_default(), query)
    }

    fn query(&self, random: &mut Random) -> ListQuery {
        let path = self.page(random).filter(|_| random.below(3) == 0);
        ListQuery {
            limit: random.below(60) as u32,
            offset: if random.below(3) == 0 { random.below(20) } else { 0 },
            sort: random.pick(&[Sort::Total, Sort::Human, Sort::Ai, Sort::Path]),
            path,
        }
    }

    fn page(&self, random: &mut Random) -> Option<String> {
        let last = self.pages.len().checked_sub(1)?;
        self.pages.get(random.below(last as u64 + 1) as usize).cloned()
    }
}

/// Finds the first and the last day with missing or redirected paths by bisection.
async fn span_of_other_requests(of: &dyn Backend, project: &str) -> Result<Option<(i64, i64)>, Failure> {
    let has_requests = async |from: Option<i64>, to: Option<i64>| {
        let (range, query) = (Range::new(from, to).unwrap_or_default(), ListQuery::new(0, 0));
        Ok::<_, Failure>(
            of.not_found(project, &range, &query).await?.totals != Tally::default()
                || of.redirected(project, &range, &query).await?.totals != Tally::default(),
        )
    };
    if !has_requests(None, None).await? {
        return Ok(None);
    }
    let (mut first, mut end) = (0, LAST_DAY);
    while first < end {
        let middle = (first + end) / 2;
        match has_requests(None, Some((middle + 1) * DAY)).await? {
            true => end = middle,
            false => first = middle + 1,
        }
    }
    let (mut last, mut end) = (first, LAST_DAY);
    while last < end {
        let middle = (last + end + 1) / 2;
        match has_requests(Some(middle * DAY), None).await? {
            true => last = middle,
            false => end = middle - 1,
        }
    }
    Ok(Some(((first - 1) * DAY, (last + 2) * DAY)))
}

/// A series, or `None` if it has too many points.
async fn series(
    of: &dyn Backend,
    project: &str,
    range: &Range,
    interval: Interval,
    path: Option<&str>,
) -> Result<Option<crate::reports::Series>, Failure> {
    match of.series(project, range, interval, path).await {
        Ok(series) => Ok(Some(series)),
        Err(SeriesError::TooManyPoints { .. }) => Ok(None),
        Err(SeriesError::Failed(failure)) => Err(failure),
    }
}

/// SplitMix64: the same seed asks the same questions.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_list_names_have_few_days() {
        let subject = Subject { project: "acme", pages: Vec::new(), span: Some((0, 400 * DAY)) };
        let mut random = Random(1);
        for _ in 0..500 {
            let (range, query) = (subject.range(&mut random), subject.query(&mut random));
            let (bounded, query) = subject.bound_names(range, query, &mut random);
            let only_totals = query == ListQuery::new(0, 0) && bounded == range;
            let days = bounded.from().zip(bounded.to()).map(|(from, to)| (to - from).div_euclid(DAY));
            assert!(
                only_totals || days.is_some_and(|days| (0..=MAX_NAME_DAYS).contains(&days)),
                "{bounded:?}"
            );
        }
    }
}
