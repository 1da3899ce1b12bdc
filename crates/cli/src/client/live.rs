//! How a watched job is shown: on a terminal the step that goes on turns and counts its seconds
//! below those that are done; in a log each step is a line.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use wire::JobEvent;

use crate::output;

const FRAME: Duration = Duration::from_millis(100);
/// For a terminal that does not say how wide it is.
const USUAL_WIDTH: usize = 80;

pub(super) struct View {
    screen: Option<Screen>,
    current: Option<Step>,
}

/// A terminal that can be drawn on.
struct Screen {
    in_colour: bool,
    glyphs: &'static Glyphs,
}

struct Glyphs {
    turning: &'static [&'static str],
    done: &'static str,
    failed: &'static str,
    cut: &'static str,
}

const UNICODE: Glyphs =
    Glyphs {
        turning: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"], done: "✓", failed: "✗", cut: "…"
    };
const ASCII: Glyphs = Glyphs { turning: &["|", "/", "-", "\\"], done: "+", failed: "x", cut: "~" };

struct Step {
    kind: String,
    message: String,
    since: Instant,
}

impl View {
    pub(super) fn new() -> Self {
        let err = std::io::stderr();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let screen = (err.is_terminal() && !dumb).then(|| Screen {
            in_colour: output::colour(&err),
            glyphs: if speaks_utf8() { &UNICODE } else { &ASCII },
        });
        Self { screen, current: None }
    }

    pub(super) fn step(&mut self, event: &JobEvent) {
        self.finish(true);
        match &self.screen {
            None => output::say(line(event)),
            Some(_) => {
                let (kind, message) = (output::plain(&event.r#type), one_line(&message(event)));
                self.current = Some(Step { kind, message, since: Instant::now() });
                self.draw();
            }
        }
    }

    /// Words above the step that goes on.
    pub(super) fn say(&self, words: &str) {
        match &self.screen {
            None => output::say(words),
            Some(screen) => screen.put(words, "\n"),
        }
        self.draw();
    }

    /// Resolves when it is time to draw again; never in a log.
    pub(super) async fn frame(&self) {
        match self.screen {
            Some(_) => tokio::time::sleep(FRAME).await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn draw(&self) {
        let (Some(screen), Some(step)) = (&self.screen, &self.current) else { return };
        let frame = step.since.elapsed().as_millis() / FRAME.as_millis();
        let turning = screen.glyphs.turning[frame as usize % screen.glyphs.turning.len()];
        screen.put(&screen.row(turning, "36", step, width()), "");
    }

    /// What goes on is done, well or not; it stays where it is.
    pub(super) fn finish(&mut self, well: bool) {
        let (Some(screen), Some(step)) = (&self.screen, self.current.take()) else { return };
        let (mark, code) = if well { (screen.glyphs.done, "32") } else { (screen.glyphs.failed, "31") };
        // The terminal wraps what is never drawn over: why a run failed is read to its end.
        let room = if step.kind == "ended" { usize::MAX } else { width() };
        screen.put(&screen.row(mark, code, &step, room), "\n");
    }
}

impl Screen {
    fn put(&self, row: &str, end: &str) {
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r\x1b[2K{row}{end}").and_then(|()| err.flush());
    }

    /// One column is left free: some terminals begin a new line when the last one is written.
    fn row(&self, mark: &str, code: &str, step: &Step, width: usize) -> String {
        let seconds = step.since.elapsed().as_secs_f32();
        let text = format!("{seconds:>5.1}s  {:<8}  {}", step.kind, step.message);
        let text = fit(&text, width.saturating_sub(mark.width() + 2), self.glyphs.cut);
        format!("{} {text}", output::paint(mark, code, self.in_colour))
    }
}

/// As much of the text as there is room for, in columns.
pub(super) fn fit(text: &str, columns: usize, cut: &str) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = cut.width();
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    let kept: String = text.chars().take_while(fits).collect();
    if columns == 0 { String::new() } else { kept + cut }
}

pub(super) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0).unwrap_or(USUAL_WIDTH)
}

/// By the first of the variables that says something, as the C library does it.
fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}

/// An event on one line of a log.
pub(super) fn line(event: &JobEvent) -> String {
    let time = event.at.get(11..19).unwrap_or_default();
    one_line(&format!("  {time}  {:<8}  {}", event.r#type, message(event)))
}

fn message(event: &JobEvent) -> String {
    let words = event.data.get("message").and_then(Value::as_str).unwrap_or_default();
    words.to_owned() + &figures(event.data.get("usage").unwrap_or(&Value::Null))
}

/// What a run that has ended took of its model, if it asked one.
fn figures(usage: &Value) -> String {
    let [input, output] = ["inputTokens", "outputTokens"].map(|name| usage[name].as_u64().unwrap_or(0));
    if input == 0 && output == 0 {
        return String::new();
    }
    let cost = usage["cost"].as_f64().map(|cost| format!(", cost {cost}")).unwrap_or_default();
    format!(" ({input} tokens in, {output} out{cost})")
}

fn one_line(text: &str) -> String {
    output::plain(&text.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_fits_whatever_is_in_it() {
        #[track_caller]
        fn check(text: &str, columns: usize, expected: &str) {
            let shown = fit(text, columns, "…");
            assert_eq!(shown, expected);
            assert!(shown.width() <= columns);
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
    fn the_end_of_a_run_tells_what_it_took() {
        #[track_caller]
        fn check(usage: Value, expected: &str) {
            assert_eq!(figures(&usage), expected);
        }
        check(Value::Null, "");
        check(json!({}), "");
        check(json!({ "inputTokens": 0, "outputTokens": 0, "cost": 0.0 }), "");
        check(json!({ "inputTokens": 300, "outputTokens": 30 }), " (300 tokens in, 30 out)");
        let priced = json!({ "inputTokens": 1, "outputTokens": 0, "cost": 0.000_000_3 });
        check(priced, " (1 tokens in, 0 out, cost 0.0000003)");
    }

    #[test]
    fn only_the_mark_has_a_colour() {
        let step = Step { kind: "edit".into(), message: "a".repeat(100), since: Instant::now() };
        let row = |in_colour| Screen { in_colour, glyphs: &ASCII }.row("+", "32", &step, 30);
        assert_eq!(row(false), "+   0.0s  edit      aaaaaaaa~");
        assert_eq!(row(true), "\x1b[32m+\x1b[0m   0.0s  edit      aaaaaaaa~");
    }
}
