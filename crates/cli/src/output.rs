//! What commands print: tables for people, JSON for programs. Data goes to standard output, words
//! to standard error, and neither can steer the terminal.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// A line of data, harmless whatever is in it. An error when nobody can read it, unlike `println!`,
/// which would panic.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    painted(plain(&text.to_string()))
}

/// A line with colours of ours in it; what came from anywhere else is [`plain`] already.
pub(crate) fn painted(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Data as it is, for another program.
pub(crate) fn bytes(data: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    Ok(out.write_all(data).and_then(|()| out.flush())?)
}

/// A line of words, for whoever is there to read them.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", plain(&text.to_string()));
}

pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    json_text(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// JSON for a program, and harmless on a terminal: what could steer one is escaped, as JSON allows.
pub(crate) fn json_text(json: &str) -> anyhow::Result<()> {
    bytes(escaped(json).as_bytes())
}

fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match steers(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    shown
}

/// Columns that line up, no frame: easy to read and to cut.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    for row in rows {
        table.add_row(row.map(|cell| plain(&cell).replace('\n', " ")));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    line(table.trim_fmt())
}

/// What there is to know of one thing, a line each.
pub(crate) fn fields(pairs: &[(&str, &str)]) -> anyhow::Result<()> {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    pairs
        .iter()
        .try_for_each(|(name, value)| line(format!("{name:width$}  {}", plain(value).replace('\n', " "))))
}

/// As git wrote it for a program that applies it; harmless, and in colours, for a person.
pub(crate) fn diff(text: &str) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() {
        return bytes(text.as_bytes());
    }
    let in_colour = colour(&std::io::stdout());
    text.lines().try_for_each(|row| painted(diff_line(row, in_colour)))
}

fn diff_line(row: &str, in_colour: bool) -> String {
    let shown: Vec<_> = row.split('\t').map(plain).collect();
    let shown = shown.join("\t");
    let code = match row.as_bytes().first() {
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => return shown,
    };
    paint(&shown, code, in_colour)
}

/// Text that may come from anywhere must not steer the terminal, nor turn itself around.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether colours can be seen there, and are wanted.
pub(crate) fn colour(out: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    out.is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn paint(text: &str, code: &str, in_colour: bool) -> String {
    if in_colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// A moment as the API writes it.
pub(crate) fn moment(at: jiff::Timestamp) -> String {
    format!("{at:.3}")
}

/// An error and its causes in one sentence; a cause that was named already is not said again.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said.as_str() {
        "" => cause,
        before if before.contains(&cause) => said,
        _ => format!("{said}: {cause}"),
    })
}

/// The innermost cause: of a connection that failed, it is the one that says something.
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    #[test]
    fn what_could_steer_a_terminal_is_taken_out() {
        assert_eq!(super::plain("a\x1b[31mb\u{202e}c\rd\ne"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\ne");
        assert_eq!(super::diff_line("+a\t\x1b]0;x\x07", false), "+a\t\u{fffd}]0;x\u{fffd}");
        assert_eq!(super::diff_line("-a", true), "\x1b[31m-a\x1b[0m");
        assert_eq!(super::diff_line(" a", true), " a");
        let (sent, shown) =
            ("{\n\"a\": \"\u{9b}2J\u{202e}\"}", super::escaped("{\n\"a\": \"\u{9b}2J\u{202e}\"}"));
        assert_eq!(shown, "{\n\"a\": \"\\u009b2J\\u202e\"}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(read(&shown), read(sent), "the same to a program");
    }

    #[test]
    fn a_cause_is_said_once() {
        let gone = || std::io::Error::other("no such file");
        let told_inside = anyhow::Error::new(gone()).context("x cannot be used: no such file");
        assert_eq!(super::sentence(&told_inside), "x cannot be used: no such file");
        let told_outside = Err::<(), _>(gone()).context("x cannot be used").unwrap_err();
        assert_eq!(super::sentence(&told_outside), "x cannot be used: no such file");
    }
}
