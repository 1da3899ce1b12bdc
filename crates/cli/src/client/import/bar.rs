//! How far an import is: a bar on a terminal, a line now and then in a log.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::source::Meter;
use crate::client::live::{fit, width};
use crate::output;

const CELLS: u64 = 16;
/// Between two lines of a log.
const QUIET: Duration = Duration::from_secs(10);

pub(super) struct Bar {
    name: String,
    size: Option<u64>,
    drawn_over: bool,
    begun: Instant,
    told: Instant,
    /// What was read before, and is no measure of what is to come.
    passed: u64,
}

/// Bytes of a file whose size is known.
struct Left {
    size: u64,
    read: u64,
    passed: u64,
}

impl Bar {
    pub(super) fn new(name: &str, meter: &Meter) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let now = Instant::now();
        let (passed, drawn_over) = (meter.read(), std::io::stderr().is_terminal() && !dumb);
        Self { name: output::plain(name), size: meter.size, drawn_over, begun: now, told: now, passed }
    }

    /// After so many lines, and so many bytes of the file.
    pub(super) fn draw(&mut self, lines: u64, read: u64) {
        let left = self.size.map(|size| Left { size, read: read.min(size), passed: self.passed });
        let text = row(&self.name, lines, self.begun.elapsed(), left);
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

/// `access.log  [########--------]  52 %  1200000 lines  310000 a second  0:04 left`
fn row(name: &str, lines: u64, time: Duration, left: Option<Left>) -> String {
    let rate = (lines as f64 / time.as_secs_f64().max(0.001)) as u64;
    let figures = format!("{lines} lines  {rate} a second");
    let Some(Left { size, read, passed }) = left.filter(|left| left.size > 0) else {
        return format!("{name}  {figures}");
    };
    let full = (read * CELLS / size) as usize;
    let bar = "#".repeat(full) + &"-".repeat(CELLS as usize - full);
    let seconds = time.as_secs_f64() * (size - read) as f64 / read.saturating_sub(passed).max(1) as f64;
    let seconds = seconds.min(f64::from(u32::MAX)) as u64;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{name}  [{bar}] {:>3} %  {figures}  {minutes}:{seconds:02} left", read * 100 / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_how_far_how_fast_and_how_long() {
        #[track_caller]
        fn check(read: u64, passed: u64, expected: &str) {
            let left = Some(Left { size: 100, read, passed });
            assert_eq!(row("a", 500, Duration::from_secs(10), left), expected);
        }
        check(0, 0, "a  [----------------]   0 %  500 lines  50 a second  16:40 left");
        check(50, 0, "a  [########--------]  50 %  500 lines  50 a second  0:10 left");
        check(50, 40, "a  [########--------]  50 %  500 lines  50 a second  0:50 left");
        check(100, 0, "a  [################] 100 %  500 lines  50 a second  0:00 left");
        assert_eq!(row("-", 500, Duration::from_secs(10), None), "-  500 lines  50 a second");
    }
}
