//! Shows the progress of an import: a bar on a terminal, else a line from time to time.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::source::Meter;
use crate::client::progress::{terminal_width, truncate};
use crate::output;

const CELLS: u64 = 16;
/// Between two lines without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct ProgressBar {
    name: String,
    size: Option<u64>,
    is_terminal: bool,
    started: Instant,
    last_line: Instant,
    /// Bytes that an earlier import read. They say nothing about the speed of this one.
    skipped: u64,
}

/// Numbers of bytes, of a file whose size is known.
struct FileBytes {
    size: u64,
    read: u64,
    skipped: u64,
}

impl ProgressBar {
    pub(super) fn new(name: &str, meter: &Meter) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let now = Instant::now();
        let (skipped, is_terminal) = (meter.read(), std::io::stderr().is_terminal() && !is_dumb);
        Self {
            name: output::sanitize(name),
            size: meter.size,
            is_terminal,
            started: now,
            last_line: now,
            skipped,
        }
    }

    /// Draws the bar after `lines` lines and `read` bytes of the file.
    pub(super) fn draw(&mut self, lines: u64, read: u64) {
        let bytes = self.size.map(|size| FileBytes { size, read: read.min(size), skipped: self.skipped });
        let text = format_row(&self.name, lines, self.started.elapsed(), bytes);
        if self.is_terminal {
            draw_line(&truncate(&text, terminal_width().saturating_sub(1), "~"));
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            output::print_message(text);
        }
    }

    /// Prints a message above the bar.
    pub(super) fn print_message(&self, text: String) {
        self.clear();
        output::print_message(text);
    }

    pub(super) fn clear(&self) {
        if self.is_terminal {
            draw_line("");
        }
    }
}

fn draw_line(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "\r\x1b[2K{text}").and_then(|()| err.flush());
}

/// `access.log  [########--------]  52%  1200000 lines  310000 per second  0:04 left`
fn format_row(name: &str, lines: u64, time: Duration, bytes: Option<FileBytes>) -> String {
    let rate = (lines as f64 / time.as_secs_f64().max(0.001)) as u64;
    let counts = format!("{lines} lines  {rate} per second");
    let Some(FileBytes { size, read, skipped }) = bytes.filter(|bytes| bytes.size > 0) else {
        return format!("{name}  {counts}");
    };
    let full = (read * CELLS / size) as usize;
    let bar = "#".repeat(full) + &"-".repeat(CELLS as usize - full);
    let seconds = time.as_secs_f64() * (size - read) as f64 / read.saturating_sub(skipped).max(1) as f64;
    let seconds = seconds.min(f64::from(u32::MAX)) as u64;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{name}  [{bar}] {:>3}%  {counts}  {minutes}:{seconds:02} left", read * 100 / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_progress_the_speed_and_the_remaining_time() {
        #[track_caller]
        fn check(read: u64, skipped: u64, expected: &str) {
            let bytes = Some(FileBytes { size: 100, read, skipped });
            assert_eq!(format_row("a", 500, Duration::from_secs(10), bytes), expected);
        }
        check(0, 0, "a  [----------------]   0%  500 lines  50 per second  16:40 left");
        check(50, 0, "a  [########--------]  50%  500 lines  50 per second  0:10 left");
        check(50, 40, "a  [########--------]  50%  500 lines  50 per second  0:50 left");
        check(100, 0, "a  [################] 100%  500 lines  50 per second  0:00 left");
        assert_eq!(format_row("-", 500, Duration::from_secs(10), None), "-  500 lines  50 per second");
    }
}
