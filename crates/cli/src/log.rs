//! Writes the server's log to standard error: text on a terminal, else JSON for a log collector.
//!
//! Each event is one line: line breaks and control characters in its text are escaped.

use std::io::{IsTerminal, Write, stderr};
use std::panic::PanicHookInfo;

use anyhow::{Context, bail, ensure};
use tracing_subscriber::EnvFilter;

use crate::output;
use crate::settings::LogSettings;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

pub(crate) fn start(settings: &LogSettings) -> anyhow::Result<()> {
    let is_terminal = stderr().is_terminal();
    let is_json = settings.is_json.unwrap_or(!is_terminal);
    let filter = parse_filter(&settings.filter)?;
    let has_colors = is_terminal && !is_json && std::env::var_os("NO_COLOR").is_none();
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || LineWriter { has_colors });
    match is_json {
        true => log.json().flatten_event(true).with_current_span(true).with_span_list(false).init(),
        false => log.with_ansi(has_colors).init(),
    }
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Prints a sentence to a terminal, for the person who started the server; else logs it.
pub(crate) fn announce(sentence: &str) {
    if stderr().is_terminal() { output::print_message(sentence) } else { tracing::info!("{sentence}") }
}

/// Whether the setting `log_format` is JSON.
pub(crate) fn parse_is_json(text: &str) -> anyhow::Result<bool> {
    match text {
        "json" => Ok(true),
        "text" => Ok(false),
        other => bail!("it must be text or json, not `{other}`"),
    }
}

/// Refuses a word that is not a level, and a module without a level: the library would take the word for the name of a
/// module, and log nothing.
pub(crate) fn parse_filter(text: &str) -> anyhow::Result<EnvFilter> {
    const HINT: &str = "it must be a level (error, warn, info, debug), or a list such as info,access=off";
    let parts = || text.split(',').map(str::trim);
    if let Some(half) = parts().find(|part| part.starts_with('=') || part.ends_with('=')) {
        bail!("{HINT}, and `{half}` has only one side of `=`");
    }
    for word in parts().filter(|part| !part.contains(['=', '[', '{', '}', ']'])) {
        ensure!(LEVELS.contains(&word.to_ascii_lowercase().as_str()), "{HINT}, and `{word}` is neither");
    }
    EnvFilter::try_new(text).context(HINT)
}

/// Logs a panic, with the request or the job in which it happened. A message that was formatted at run time can contain
/// anything, such as a prompt, so only a literal message is logged.
fn log_panic(info: &PanicHookInfo<'_>) {
    let message = info.payload().downcast_ref::<&'static str>().unwrap_or(&"a bug");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "panicked: {message}");
}

/// Writes one event. It ignores errors, because the library would panic: a log that nobody reads must not stop the
/// server.
struct LineWriter {
    has_colors: bool,
}

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let _ = stderr().write_all(escape(text.trim_end_matches('\n'), self.has_colors).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Escapes control characters, line breaks and bidirectional controls, as JSON does; in a JSON event, they occur only in
/// strings. With colors, ESC stays: the formatter has already escaped every ESC that is not its own.
fn escape(text: &str, has_colors: bool) -> String {
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            '\x1b' if has_colors => line.push(c),
            '\n' => line.push_str("\\n"),
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => line.push_str(&unicode_escape(c)),
            _ if c.is_control() => line.push_str(&unicode_escape(c)),
            _ => line.push(c),
        }
    }
    line.push('\n');
    line
}

fn unicode_escape(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        assert_eq!(escape("plain ü …", false), "plain ü …\n");
        assert_eq!(escape("a\nb\r\x1b[2Jc\u{9b}1m\u{202e}d\x7f", false), {
            "a\\nb\\u000d\\u001b[2Jc\\u009b1m\\u202ed\\u007f\n"
        });
        assert_eq!(escape("\x1b[32mINFO\x1b[0m a\nb", true), "\x1b[32mINFO\x1b[0m a\\nb\n");
    }

    #[test]
    fn a_filter_without_a_level_is_refused() {
        for good in ["info", "WARN", "info,access=off", "server=debug, info", "off"] {
            assert!(parse_filter(good).is_ok(), "{good}");
        }
        for bad in ["loud", "info,verbose", "server=loud", "info,", "bogus=", "info,bogus= ", "=info", "="] {
            assert!(parse_filter(bad).unwrap_err().to_string().contains("info,access=off"), "{bad}");
        }
    }
}
