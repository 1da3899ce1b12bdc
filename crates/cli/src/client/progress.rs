//! Shows the progress of a watched job. On a terminal, the current step has a spinner and a timer below the finished
//! steps; elsewhere, each step is a line.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wire::JobEvent;

use crate::output;

const FRAME_INTERVAL: Duration = Duration::from_millis(100);
/// For a terminal that does not report its width.
const DEFAULT_WIDTH: usize = 80;

pub(super) struct ProgressView {
    /// `None` without a terminal.
    screen: Option<Screen>,
    current: Option<Step>,
}

/// A terminal that can be drawn on.
struct Screen {
    in_color: bool,
    glyphs: &'static Glyphs,
}

struct Glyphs {
    spinner: &'static [&'static str],
    done: &'static str,
    failed: &'static str,
    ellipsis: &'static str,
}

const UNICODE: Glyphs = Glyphs {
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    done: "✓",
    failed: "✗",
    ellipsis: "…",
};
const ASCII: Glyphs = Glyphs { spinner: &["|", "/", "-", "\\"], done: "+", failed: "x", ellipsis: "~" };

struct Step {
    kind: String,
    message: String,
    started: Instant,
}

impl ProgressView {
    pub(super) fn new() -> Self {
        let err = std::io::stderr();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let screen = (err.is_terminal() && !is_dumb).then(|| Screen {
            in_color: output::supports_color(&err),
            glyphs: if is_utf8_locale() { &UNICODE } else { &ASCII },
        });
        Self { screen, current: None }
    }

    pub(super) fn start_step(&mut self, event: &JobEvent) {
        self.finish_step(true);
        match &self.screen {
            None => output::print_message(format_line(event)),
            Some(_) => {
                let (kind, message) = (output::sanitize(&event.r#type), to_single_line(&message(event)));
                self.current = Some(Step { kind, message, started: Instant::now() });
                self.draw();
            }
        }
    }

    /// Prints a message above the current step.
    pub(super) fn print_message(&self, text: &str) {
        match &self.screen {
            None => output::print_message(text),
            Some(screen) => screen.draw_line(text, "\n"),
        }
        self.draw();
    }

    /// Resolves when it is time to draw again; never without a terminal.
    pub(super) async fn next_frame(&self) {
        match self.screen {
            Some(_) => tokio::time::sleep(FRAME_INTERVAL).await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn draw(&self) {
        let (Some(screen), Some(step)) = (&self.screen, &self.current) else { return };
        let frame = step.started.elapsed().as_millis() / FRAME_INTERVAL.as_millis();
        let mark = screen.glyphs.spinner[frame as usize % screen.glyphs.spinner.len()];
        screen.draw_line(&screen.row(mark, "36", step, terminal_width()), "");
    }

    /// Marks the current step as done or failed.
    pub(super) fn finish_step(&mut self, is_ok: bool) {
        let (Some(screen), Some(step)) = (&self.screen, self.current.take()) else { return };
        let (mark, code) = if is_ok { (screen.glyphs.done, "32") } else { (screen.glyphs.failed, "31") };
        // The last step is never drawn over, so it can wrap: the reason of a failure must be readable.
        let columns = if step.kind == "ended" { usize::MAX } else { terminal_width() };
        screen.draw_line(&screen.row(mark, code, &step, columns), "\n");
    }
}

impl Screen {
    fn draw_line(&self, row: &str, end: &str) {
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r\x1b[2K{row}{end}").and_then(|()| err.flush());
    }

    /// Leaves the last column free: some terminals begin a new line when it is written.
    fn row(&self, mark: &str, code: &str, step: &Step, width: usize) -> String {
        let seconds = step.started.elapsed().as_secs_f32();
        let text = format!("{seconds:>5.1}s  {:<8}  {}", step.kind, step.message);
        let text = truncate(&text, width.saturating_sub(mark.width() + 2), self.glyphs.ellipsis);
        format!("{} {text}", output::colorize(mark, code, self.in_color))
    }
}

/// Truncates text to a number of columns.
pub(super) fn truncate(text: &str, columns: usize, ellipsis: &str) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = ellipsis.width();
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    let beginning: String = text.chars().take_while(fits).collect();
    if columns == 0 { String::new() } else { beginning + ellipsis }
}

pub(super) fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0).unwrap_or(DEFAULT_WIDTH)
}

/// Decides by the first variable that is set, as the C library does.
fn is_utf8_locale() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}

/// Formats an event as one line.
pub(super) fn format_line(event: &JobEvent) -> String {
    let time = event.at.get(11..19).unwrap_or_default();
    to_single_line(&format!("  {time}  {:<8}  {}", event.r#type, message(event)))
}

fn message(event: &JobEvent) -> String {
    let text = event.data.get("message").and_then(Value::as_str).unwrap_or_default();
    output::plain_code(text) + &format_usage(event.data.get("usage").unwrap_or(&Value::Null))
}

/// The tokens and the cost of an ended run, if it used a model.
fn format_usage(usage: &Value) -> String {
    let [input, output] = ["inputTokens", "outputTokens"].map(|name| usage[name].as_u64().unwrap_or(0));
    if input == 0 && output == 0 {
        return String::new();
    }
    let cost = usage["cost"].as_f64().map(|cost| format!(", cost {cost}")).unwrap_or_default();
    format!(" ({input} tokens in, {output} out{cost})")
}

fn to_single_line(text: &str) -> String {
    output::sanitize(&text.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_fits_the_width_with_any_text() {
        #[track_caller]
        fn check(text: &str, columns: usize, expected: &str) {
            let truncated = truncate(text, columns, "…");
            assert_eq!(truncated, expected);
            assert!(truncated.width() <= columns);
        }
        check("short", 5, "short");
        check("longer", 5, "long…");
        check("日本語の文", 10, "日本語の文");
        check("日本語の文", 9, "日本語の…");
        check("日本語の文", 8, "日本語…");
        check("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…");
        check("x", 0, "");
        check("xy", 1, "…");
    }

    #[test]
    fn the_end_of_a_run_has_its_tokens_and_cost() {
        #[track_caller]
        fn check(usage: Value, expected: &str) {
            assert_eq!(format_usage(&usage), expected);
        }
        check(Value::Null, "");
        check(json!({}), "");
        check(json!({ "inputTokens": 0, "outputTokens": 0, "cost": 0.0 }), "");
        check(json!({ "inputTokens": 300, "outputTokens": 30 }), " (300 tokens in, 30 out)");
        let priced = json!({ "inputTokens": 1, "outputTokens": 0, "cost": 0.000_000_3 });
        check(priced, " (1 tokens in, 0 out, cost 0.0000003)");
    }

    #[test]
    fn only_the_mark_has_a_color() {
        let step = Step { kind: "edit".into(), message: "a".repeat(100), started: Instant::now() };
        let row = |in_color| Screen { in_color, glyphs: &ASCII }.row("+", "32", &step, 30);
        assert_eq!(row(false), "+   0.0s  edit      aaaaaaaa~");
        assert_eq!(row(true), "\x1b[32m+\x1b[0m   0.0s  edit      aaaaaaaa~");
    }
}
