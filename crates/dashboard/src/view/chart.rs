//! People and machines by step of time, drawn as bars. Everything across is in per cent of the width and
//! everything down in pixels, so that a chart fits any screen and its letters keep their size.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use traffic::{Interval, Point};

use super::readers::grouped;

/// Of the bars; above them is room for the marks.
const HEIGHT: f64 = 180.0;
const TOP: f64 = 16.0;
/// Lines across, the lowest one left out.
const LINES: u64 = 4;
const MOST_LABELS: usize = 8;
/// In per cent: marks that are closer share a label.
const APART: f64 = 7.0;
/// What a bar takes of its step.
const WIDTH: f64 = 0.74;

#[derive(Default)]
pub(crate) struct Chart {
    /// "Views a day".
    pub(crate) title: &'static str,
    /// What it shows, in a sentence.
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
    pub(crate) step: Across,
    pub(crate) bar: Across,
    pub(crate) people: Down,
    pub(crate) machines: Down,
    /// More may come.
    pub(crate) running: bool,
}

impl Bar {
    pub(super) fn total(&self) -> u64 {
        self.human + self.ai
    }

    pub(super) fn figures(&self) -> [String; 3] {
        [self.human, self.ai, self.total()].map(grouped)
    }
}

/// In per cent.
pub(crate) struct Across {
    pub(crate) x: String,
    pub(crate) width: String,
}

/// In pixels.
pub(crate) struct Down {
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
    /// Left out where there is little room.
    pub(crate) minor: bool,
}

pub(crate) struct Mark {
    pub(crate) x: String,
    /// Empty where the mark before it is too close.
    pub(crate) label: String,
    /// Before the line, at the right edge.
    pub(crate) left: bool,
}

impl Chart {
    /// `end` is where the last step ends, `merges` are moments with their names, oldest first.
    pub(crate) fn new(
        points: &[Point],
        interval: Interval,
        (end, now): (Timestamp, Timestamp),
        merges: &[(Timestamp, String)],
    ) -> Self {
        let most = points.iter().map(|point| point.reads.total()).max().unwrap_or(0);
        let top = scale(most);
        let ends = points.iter().skip(1).map(|point| point.at).chain([end.as_millisecond()]);
        let spans: Vec<(i64, i64)> = points.iter().map(|point| point.at).zip(ends).collect();
        let bar = |(place, point): (usize, &Point)| {
            let (from, to) = spans[place];
            let running = (from..to).contains(&now.as_millisecond());
            bar(point, interval, (place, points.len()), top, running)
        };
        Self {
            title: title(interval),
            description: description(points, interval),
            bars: points.iter().enumerate().map(bar).collect(),
            lines: (0..=LINES).map(|line| grid(line, top)).collect(),
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

    pub(super) fn any_running(&self) -> bool {
        self.bars.iter().any(|bar| bar.running)
    }
}

fn title(interval: Interval) -> &'static str {
    match interval {
        Interval::Hour => "Views an hour",
        Interval::Day => "Views a day",
        Interval::Week => "Views a week",
        Interval::Month => "Views a month",
    }
}

fn description(points: &[Point], interval: Interval) -> String {
    let sum = |of: fn(&Point) -> u64| grouped(points.iter().map(of).sum());
    let (human, ai) = (sum(|point| point.reads.human), sum(|point| point.reads.ai));
    let ends = points.first().zip(points.last()).map(|(first, last)| {
        format!(", from {} to {}", written(first.at, interval), written(last.at, interval))
    });
    let busiest = points.iter().max_by_key(|point| point.reads.total()).filter(|p| p.reads.total() > 0);
    let busiest = busiest.map(|point| {
        format!(
            " Most in one {}: {} at {}.",
            interval.as_str(),
            grouped(point.reads.total()),
            written(point.at, interval)
        )
    });
    format!(
        "{human} views by people and {ai} by AI{}.{} The numbers are in the table below.",
        ends.unwrap_or_default(),
        busiest.unwrap_or_default()
    )
}

fn bar(point: &Point, interval: Interval, (place, all): (usize, usize), top: u64, running: bool) -> Bar {
    let step = 100.0 / all as f64;
    let x = place as f64 * step;
    let tall = |reads: u64| reads as f64 / top as f64 * HEIGHT;
    let (people, machines) = (tall(point.reads.human), tall(point.reads.ai));
    let down = |above: f64, height: f64| Down {
        y: format!("{:.1}", TOP + HEIGHT - above - height),
        height: format!("{height:.1}"),
    };
    let across = |x: f64, width: f64| Across { x: format!("{x:.3}"), width: format!("{width:.3}") };
    Bar {
        at: written(point.at, interval),
        human: point.reads.human,
        ai: point.reads.ai,
        step: across(x, step),
        bar: across(x + step * (1.0 - WIDTH) / 2.0, step * WIDTH),
        people: down(0.0, people),
        machines: down(people, machines),
        running,
    }
}

/// The least of 4, 8, 12, … 32, 40, 80, … that nothing stands out of, so that every line has a round number.
fn scale(most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for step in [1, 2, 3, 4, 5, 6, 8] {
            let top = (step * LINES).saturating_mul(power);
            if top >= most {
                return top;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn grid(line: u64, top: u64) -> Line {
    Line { y: TOP + HEIGHT - HEIGHT * line as f64 / LINES as f64, label: short(top / LINES * line) }
}

/// `12k`: there is little room beside the bars.
fn short(number: u64) -> String {
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
    let every = points.len().div_ceil(MOST_LABELS).max(1);
    let label = |(number, (place, point)): (usize, (usize, &Point))| Label {
        x: format!("{:.3}", (place as f64 + 0.5) * 100.0 / points.len() as f64),
        text: brief(point.at, interval),
        minor: number % 2 == 1,
    };
    // The first and the last would reach over the edge.
    let inside = |(place, _): &(usize, &Point)| points.len() < 6 || *place > 0 && place + 1 < points.len();
    let some = points.iter().enumerate().skip(every / 2).step_by(every).filter(inside);
    some.enumerate().map(label).collect()
}

fn marks(spans: &[(i64, i64)], merges: &[(Timestamp, String)]) -> Vec<Mark> {
    let mut labelled = f64::NEG_INFINITY;
    let mut marks = Vec::new();
    for (at, name) in merges {
        let at = at.as_millisecond();
        let Some(place) = spans.iter().position(|(from, to)| (*from..*to).contains(&at)) else { continue };
        let (from, to) = spans[place];
        let part = (at - from) as f64 / (to - from) as f64;
        let x = (place as f64 + part) * 100.0 / spans.len() as f64;
        let label = if x - labelled >= APART { name.clone() } else { String::new() };
        if !label.is_empty() {
            labelled = x;
        }
        marks.push(Mark { x: format!("{x:.3}"), label, left: x > 100.0 - APART });
    }
    marks
}

fn zoned(at: i64) -> Zoned {
    Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(TimeZone::UTC)
}

/// As exact as the step is.
fn written(at: i64, interval: Interval) -> String {
    let format = match interval {
        Interval::Hour => "%Y-%m-%d %H:00",
        Interval::Day | Interval::Week => "%Y-%m-%d",
        Interval::Month => "%Y-%m",
    };
    zoned(at).strftime(format).to_string()
}

fn brief(at: i64, interval: Interval) -> String {
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
    fn scales_are_round_and_hold_everything() {
        for (most, top) in [(0, 4), (4, 4), (5, 8), (9, 12), (41, 80), (1_662, 2_000), (20_001, 24_000)] {
            assert_eq!(scale(most), top, "{most}");
        }
        assert_eq!(scale(u64::MAX), u64::MAX);
    }

    #[test]
    fn short_numbers() {
        for (number, text) in [(0, "0"), (999, "999"), (1_500, "1.5k"), (20_000, "20k"), (2_000_000, "2M")] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn bars_stand_on_each_other_and_the_running_day_is_told_apart() {
        let point = |day: i64, human, ai| Point { at: day * DAY, reads: Tally { human, ai } };
        let points = [point(10, 2, 2), point(11, 0, 0), point(12, 1, 0), point(13, 0, 0)];
        let now = at(12) + jiff::SignedDuration::from_hours(3);
        let merges = [(at(9), "#1".to_owned()), (at(11), "#2".to_owned()), (at(11), "#3".to_owned())];
        let chart = Chart::new(&points, Interval::Day, (at(14), now), &merges);
        let first = &chart.bars[0];
        assert_eq!((&*first.people.y, &*first.people.height), ("106.0", "90.0"));
        assert_eq!((&*first.machines.y, &*first.machines.height), ("16.0", "90.0"));
        assert_eq!((&*first.step.x, &*first.step.width), ("0.000", "25.000"));
        assert_eq!(chart.bars.iter().map(|bar| bar.running).collect::<Vec<_>>(), [false, false, true, false]);
        let marks: Vec<_> = chart.marks.iter().map(|mark| (&*mark.x, &*mark.label)).collect();
        assert_eq!(marks, [("25.000", "#2"), ("25.000", "")]);
        assert!(chart.description.starts_with("3 views by people and 2 by AI, from 1970-01-11"));
        assert!(Chart::new(&[], Interval::Hour, (at(1), at(0)), &merges).marks.is_empty());
    }
}
