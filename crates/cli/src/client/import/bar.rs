//! How far an import is: a bar on a terminal, a line now and then in a log.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::source::Meter;
use crate::client::live::{fit, width};
use crate::output;

const CELLS: u64 = 24;
/// Between two lines of a log.
const QUIET: Duration = Duration::from_secs(10);

pub(super) struct Bar {
    name: String,
    meter: Meter,
    drawn_over: bool,
    begun: Instant,
    told: Instant,
    /// What was read before, and is no measure of what is to come.
    passed: u64,
}

impl Bar {
    pub(super) fn new(name: &str, meter: Meter) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let now = Instant::now();
        let (passed, drawn_over) = (meter.read(), std::io::stderr().is_terminal() && !dumb);
        Self { name: output::plain(name), meter, drawn_over, begun: now, told: now, passed }
    }

    pub(super) fn draw(&mut self, lines: u64) {
        let text = row(&self.name, lines, self.begun.elapsed(), &self.meter, self.passed);
        if self.drawn_over {
            put(&fit(&text, width().saturating_sub(1), "~"));
        } else if self.told.elapsed() >= QUIET {
            self.told = Instant::now();
            output::say(text);
        }
    }

    /// Words above the bar.
    pub(super) fn say(&self, words: String) {
        self.clear();
        output::say(words);
    }

    pub(super) fn clear(&self) {
        if self.drawn_over {
            put("");
        }
    }
}

fn put(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "\r\x1b[2K{text}").and_then(|()| err.flush());
}

/// `access.log  [######------]  52 %  1200000 lines  310000 a second  0:04 left`
fn row(name: &str, lines: u64, time: Duration, meter: &Meter, passed: u64) -> String {
    let rate = (lines as f64 / time.as_secs_f64().max(0.001)) as u64;
    let figures = format!("{lines} lines  {rate} a second");
    let Some(size) = meter.size.filter(|size| *size > 0) else { return format!("{name}  {figures}") };
    let read = meter.read().min(size);
    let full = (read * CELLS / size) as usize;
    let bar = "#".repeat(full) + &"-".repeat(CELLS as usize - full);
    let left = time.as_secs_f64() * (size - read) as f64 / read.saturating_sub(passed).max(1) as f64;
    let left = left.min(f64::from(u32::MAX)) as u64;
    let (minutes, seconds) = (left / 60, left % 60);
    format!("{name}  [{bar}] {:>3} %  {figures}  {minutes}:{seconds:02} left", read * 100 / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_how_far_how_fast_and_how_long() {
        let time = Duration::from_secs(10);
        let file = Meter::of(Some(100));
        assert_eq!(
            row("a", 0, time, &file, 0),
            format!("a  [{}]   0 %  0 lines  0 a second  16:40 left", "-".repeat(24))
        );
        file.note(50);
        let half = format!("[{}{}]", "#".repeat(12), "-".repeat(12));
        assert_eq!(
            row("a", 500, time, &file, 0),
            format!("a  {half}  50 %  500 lines  50 a second  0:10 left")
        );
        assert_eq!(
            row("a", 500, time, &file, 40),
            format!("a  {half}  50 %  500 lines  50 a second  0:50 left")
        );
        assert_eq!(row("-", 500, time, &Meter::of(None), 0), "-  500 lines  50 a second");
    }
}
