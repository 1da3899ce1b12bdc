//! The server's log, on standard error: text for a person at a terminal, JSON for a machine that
//! collects it. One line is one line, whatever the text in it wants to be.

use std::io::{IsTerminal, Write, stderr};
use std::panic::PanicHookInfo;

use anyhow::{Context, bail, ensure};
use tracing_subscriber::EnvFilter;

use crate::output;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// `filter` and `format` are the settings `log` and `log_format`.
pub(crate) fn start(filter: Option<&str>, format: Option<&str>, default: &str) -> anyhow::Result<()> {
    let terminal = stderr().is_terminal();
    let json = format.map(parse_format).transpose()?.unwrap_or(!terminal);
    let filter = parse_filter(filter.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(default))?;
    let colours = terminal && !json && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || Line { colours });
    match json {
        true => log.json().flatten_event(true).with_current_span(true).with_span_list(false).init(),
        false => log.with_ansi(colours).init(),
    }
    std::panic::set_hook(Box::new(panicked));
    Ok(())
}

/// For whoever started the server: words at a terminal, else a line of the log like any other.
pub(crate) fn tell(sentence: &str) {
    if stderr().is_terminal() { output::say(sentence) } else { tracing::info!("{sentence}") }
}

/// Whether it is JSON.
pub(crate) fn parse_format(text: &str) -> anyhow::Result<bool> {
    match text {
        "json" => Ok(true),
        "text" => Ok(false),
        other => bail!("log_format must be text or json, not `{other}`"),
    }
}

/// A word that is no level would pass for the name of a module, and nothing would be logged; so
/// would a module without a level.
pub(crate) fn parse_filter(text: &str) -> anyhow::Result<EnvFilter> {
    const HINT: &str = "log must be a level (error, warn, info, debug), or a list such as info,access=off";
    let parts = || text.split(',').map(str::trim);
    if let Some(half) = parts().find(|part| part.starts_with('=') || part.ends_with('=')) {
        bail!("{HINT}; `{half}` lacks a half");
    }
    for word in parts().filter(|part| !part.contains(['=', '[', '{', '}', ']'])) {
        ensure!(LEVELS.contains(&word.to_ascii_lowercase().as_str()), "{HINT}; `{word}` is neither");
    }
    EnvFilter::try_new(text).context(HINT)
}

/// In the log, with the request or the job that it happened in. A message that was put together
/// at run time may quote anything, a prompt too, so only one that stands in the source is told.
fn panicked(info: &PanicHookInfo<'_>) {
    let message = info.payload().downcast_ref::<&'static str>().unwrap_or(&"a bug");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "panicked: {message}");
}

/// Writes one event. A log that nobody can read any more must not stop the server: errors are
/// dropped here, since the library would panic over them.
struct Line {
    colours: bool,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let _ = stderr().write_all(escaped(text.trim_end_matches('\n'), self.colours).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// No character in it moves a cursor, starts a line or turns the text around. The escapes are
/// JSON's, where such characters stand in strings alone. Colours are the formatter's own, which
/// has made every other escape byte harmless by then.
fn escaped(text: &str, colours: bool) -> String {
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            '\x1b' if colours => line.push(c),
            '\n' => line.push_str("\\n"),
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => line.push_str(&unicode(c)),
            _ if c.is_control() => line.push_str(&unicode(c)),
            _ => line.push(c),
        }
    }
    line.push('\n');
    line
}

fn unicode(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(escaped("plain ü …", false), "plain ü …\n");
        assert_eq!(escaped("a\nb\r\x1b[2Jc\u{9b}1m\u{202e}d\x7f", false), {
            "a\\nb\\u000d\\u001b[2Jc\\u009b1m\\u202ed\\u007f\n"
        });
        assert_eq!(escaped("\x1b[32mINFO\x1b[0m a\nb", true), "\x1b[32mINFO\x1b[0m a\\nb\n");
    }

    #[test]
    fn filters() {
        for good in ["info", "WARN", "info,access=off", "server=debug, info", "off"] {
            assert!(parse_filter(good).is_ok(), "{good}");
        }
        for bad in ["loud", "info,verbose", "server=loud", "info,", "bogus=", "info,bogus= ", "=info", "="] {
            assert!(parse_filter(bad).unwrap_err().to_string().contains("info,access=off"), "{bad}");
        }
    }
}
