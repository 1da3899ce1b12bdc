//! Lays out the bar chart of human and AI views over time.
//!
//! Horizontal positions are in percent of the width and vertical positions in pixels, so that a chart fits any screen
//! and its text keeps its size.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use traffic::{Interval, Point};

use super::{count, with_commas};

/// The height of the bars, without the space above them for the labels of marks.
const HEIGHT: f64 = 180.0;
const TOP: f64 = 16.0;
/// The number of grid lines above the lowest one.
const GRID_LINES: u64 = 4;
const MAX_LABELS: usize = 8;
/// In percent of the width. A mark that is closer to a labeled one has no label.
const MIN_LABEL_DISTANCE: f64 = 7.0;
/// The share of its step that a bar fills.
const BAR_WIDTH: f64 = 0.74;

#[derive(Default)]
pub(crate) struct Chart {
    /// "Views per day".
    pub(crate) title: &'static str,
    /// A summary for screen readers.
    pub(crate) description: String,
    pub(crate) bars: Vec<Bar>,
    pub(crate) lines: Vec<Line>,
    pub(crate) labels: Vec<Label>,
    pub(crate) marks: Vec<Mark>,
}

pub(crate) struct Bar {
    pub(crate) at: String,
    pub(crate) human: u64,
    pub(crate) ai: u64,
    pub(crate) step: HorizontalSpan,
    pub(crate) bar: HorizontalSpan,
    pub(crate) human_part: VerticalSpan,
    pub(crate) ai_part: VerticalSpan,
    /// The current step, which is still counting.
    pub(crate) is_current: bool,
}

impl Bar {
    pub(super) fn total(&self) -> u64 {
        self.human + self.ai
    }

    pub(super) fn figures(&self) -> [String; 3] {
        [self.human, self.ai, self.total()].map(with_commas)
    }
}

/// In percent.
pub(crate) struct HorizontalSpan {
    pub(crate) x: String,
    pub(crate) width: String,
}

/// In pixels.
pub(crate) struct VerticalSpan {
    pub(crate) y: String,
    pub(crate) height: String,
}

pub(crate) struct Line {
    pub(crate) y: f64,
    pub(crate) label: String,
}

pub(crate) struct Label {
    pub(crate) x: String,
    pub(crate) text: String,
    /// Hidden on narrow screens.
    pub(crate) is_minor: bool,
}

/// A merged pull request.
pub(crate) struct Mark {
    pub(crate) x: String,
    /// Empty if the previous label is too close.
    pub(crate) label: String,
    /// The label is to the left of the line, because the line is near the right edge.
    pub(crate) is_label_left: bool,
}

impl Chart {
    /// `end` is the end of the last step. `merges` are times and labels, oldest first.
    pub(crate) fn new(
        points: &[Point],
        interval: Interval,
        (end, now): (Timestamp, Timestamp),
        merges: &[(Timestamp, String)],
    ) -> Self {
        let highest = points.iter().map(|point| point.reads.total()).max().unwrap_or(0);
        let top = scale(highest);
        let ends = points.iter().skip(1).map(|point| point.at).chain([end.as_millisecond()]);
        let spans: Vec<(i64, i64)> = points.iter().map(|point| point.at).zip(ends).collect();
        let bar = |(index, point): (usize, &Point)| {
            let (from, to) = spans[index];
            let is_current = (from..to).contains(&now.as_millisecond());
            bar(point, interval, (index, points.len()), top, is_current)
        };
        Self {
            title: title(interval),
            description: description(points, interval),
            bars: points.iter().enumerate().map(bar).collect(),
            lines: (0..=GRID_LINES).map(|line| grid_line(line, top)).collect(),
            labels: labels(points, interval),
            marks: marks(&spans, merges),
        }
    }

    pub(super) fn height(&self) -> f64 {
        TOP + HEIGHT + 24.0
    }

    pub(super) fn floor(&self) -> f64 {
        TOP + HEIGHT
    }

    pub(super) fn has_current_step(&self) -> bool {
        self.bars.iter().any(|bar| bar.is_current)
    }
}

fn title(interval: Interval) -> &'static str {
    match interval {
        Interval::Hour => "Views per hour",
        Interval::Day => "Views per day",
        Interval::Week => "Views per week",
        Interval::Month => "Views per month",
    }
}

fn description(points: &[Point], interval: Interval) -> String {
    let sum = |of: fn(&Point) -> u64| points.iter().map(of).sum();
    let (human, ai) = (sum(|point| point.reads.human), sum(|point| point.reads.ai));
    let ends = points.first().zip(points.last()).map(|(first, last)| {
        format!(", from {} to {}", step_name(first.at, interval), step_name(last.at, interval))
    });
    let busiest = points.iter().max_by_key(|point| point.reads.total()).filter(|p| p.reads.total() > 0);
    let busiest = busiest.map(|point| {
        format!(
            " The busiest {} is {}, with {}.",
            interval.as_str(),
            step_name(point.at, interval),
            count(point.reads.total(), "view")
        )
    });
    format!(
        "{} and {}{}.{} The table below has the same numbers.",
        count(human, "human view"),
        count(ai, "AI view"),
        ends.unwrap_or_default(),
        busiest.unwrap_or_default()
    )
}

fn bar(point: &Point, interval: Interval, (index, bars): (usize, usize), top: u64, is_current: bool) -> Bar {
    let step = 100.0 / bars as f64;
    let x = index as f64 * step;
    let height = |views: u64| views as f64 / top as f64 * HEIGHT;
    let (human, ai) = (height(point.reads.human), height(point.reads.ai));
    let vertical = |bottom: f64, height: f64| VerticalSpan {
        y: format!("{:.1}", TOP + HEIGHT - bottom - height),
        height: format!("{height:.1}"),
    };
    let horizontal =
        |x: f64, width: f64| HorizontalSpan { x: format!("{x:.3}"), width: format!("{width:.3}") };
    Bar {
        at: step_name(point.at, interval),
        human: point.reads.human,
        ai: point.reads.ai,
        step: horizontal(x, step),
        bar: horizontal(x + step * (1.0 - BAR_WIDTH) / 2.0, step * BAR_WIDTH),
        human_part: vertical(0.0, human),
        ai_part: vertical(human, ai),
        is_current,
    }
}

/// The smallest of 4, 8, 12, … 32, 40, 80, … that isn't below `highest`, so that every grid line has a round number.
fn scale(highest: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for step in [1, 2, 3, 4, 5, 6, 8] {
            let top = (step * GRID_LINES).saturating_mul(power);
            if top >= highest {
                return top;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn grid_line(line: u64, top: u64) -> Line {
    Line {
        y: TOP + HEIGHT - HEIGHT * line as f64 / GRID_LINES as f64,
        label: abbreviate(top / GRID_LINES * line),
    }
}

/// `12000` as `12k`.
fn abbreviate(number: u64) -> String {
    let tenths = |of: u64, unit: &str| match (number / of, number % of / (of / 10)) {
        (whole, 0) => format!("{whole}{unit}"),
        (whole, tenth) => format!("{whole}.{tenth}{unit}"),
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => tenths(1_000, "k"),
        1_000_000..1_000_000_000 => tenths(1_000_000, "M"),
        _ => tenths(1_000_000_000, "G"),
    }
}

fn labels(points: &[Point], interval: Interval) -> Vec<Label> {
    let every = points.len().div_ceil(MAX_LABELS).max(1);
    let label = |(number, (index, point)): (usize, (usize, &Point))| Label {
        x: format!("{:.3}", (index as f64 + 0.5) * 100.0 / points.len() as f64),
        text: short_step_name(point.at, interval),
        is_minor: number % 2 == 1,
    };
    // The first and the last label would reach over the edge.
    let fits = |(index, _): &(usize, &Point)| points.len() < 6 || *index > 0 && index + 1 < points.len();
    let labeled = points.iter().enumerate().skip(every / 2).step_by(every).filter(fits);
    labeled.enumerate().map(label).collect()
}

fn marks(spans: &[(i64, i64)], merges: &[(Timestamp, String)]) -> Vec<Mark> {
    let mut last_label = f64::NEG_INFINITY;
    let mut marks = Vec::new();
    for (at, name) in merges {
        let at = at.as_millisecond();
        let Some(index) = spans.iter().position(|(from, to)| (*from..*to).contains(&at)) else { continue };
        let (from, to) = spans[index];
        let part = (at - from) as f64 / (to - from) as f64;
        let x = (index as f64 + part) * 100.0 / spans.len() as f64;
        let label = if x - last_label >= MIN_LABEL_DISTANCE { name.clone() } else { String::new() };
        if !label.is_empty() {
            last_label = x;
        }
        marks.push(Mark { x: format!("{x:.3}"), label, is_label_left: x > 100.0 - MIN_LABEL_DISTANCE });
    }
    marks
}

fn zoned(at: i64) -> Zoned {
    Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(TimeZone::UTC)
}

/// The start of a step, as precise as the interval.
fn step_name(at: i64, interval: Interval) -> String {
    let format = match interval {
        Interval::Hour => "%Y-%m-%d %H:00",
        Interval::Day | Interval::Week => "%Y-%m-%d",
        Interval::Month => "%Y-%m",
    };
    zoned(at).strftime(format).to_string()
}

fn short_step_name(at: i64, interval: Interval) -> String {
    let format = match interval {
        Interval::Hour => "%a %H:00",
        Interval::Day | Interval::Week => "%b %-d",
        Interval::Month => "%b %Y",
    };
    zoned(at).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use traffic::Tally;

    use super::*;

    const DAY: i64 = 24 * 60 * 60 * 1000;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_millisecond(day * DAY).unwrap()
    }

    #[test]
    fn scales_are_round_and_not_below_the_highest_bar() {
        for (highest, top) in [(0, 4), (4, 4), (5, 8), (9, 12), (41, 80), (1_662, 2_000), (20_001, 24_000)] {
            assert_eq!(scale(highest), top, "{highest}");
        }
        assert_eq!(scale(u64::MAX), u64::MAX);
    }

    #[test]
    fn large_numbers_are_abbreviated() {
        for (number, text) in [(0, "0"), (999, "999"), (1_500, "1.5k"), (20_000, "20k"), (2_000_000, "2M")] {
            assert_eq!(abbreviate(number), text);
        }
    }

    #[test]
    fn bars_are_stacked_and_the_current_day_is_marked() {
        let point = |day: i64, human, ai| Point { at: day * DAY, reads: Tally { human, ai } };
        let points = [point(10, 2, 2), point(11, 0, 0), point(12, 1, 0), point(13, 0, 0)];
        let now = at(12) + jiff::SignedDuration::from_hours(3);
        let merges = [(at(9), "#1".to_owned()), (at(11), "#2".to_owned()), (at(11), "#3".to_owned())];
        let chart = Chart::new(&points, Interval::Day, (at(14), now), &merges);
        let first = &chart.bars[0];
        assert_eq!((&*first.human_part.y, &*first.human_part.height), ("106.0", "90.0"));
        assert_eq!((&*first.ai_part.y, &*first.ai_part.height), ("16.0", "90.0"));
        assert_eq!((&*first.step.x, &*first.step.width), ("0.000", "25.000"));
        let current: Vec<_> = chart.bars.iter().map(|bar| bar.is_current).collect();
        assert_eq!(current, [false, false, true, false]);
        let marks: Vec<_> = chart.marks.iter().map(|mark| (&*mark.x, &*mark.label)).collect();
        assert_eq!(marks, [("25.000", "#2"), ("25.000", "")]);
        assert!(chart.description.starts_with("3 human views and 2 AI views, from 1970-01-11"));
        assert!(Chart::new(&[], Interval::Hour, (at(1), at(0)), &merges).marks.is_empty());
    }
}
