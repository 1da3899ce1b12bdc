//! Prints the results of commands: tables for people, JSON for programs.
//!
//! Data goes to standard output, messages to standard error. Neither can contain control characters from elsewhere, so
//! no text of a repository or a server can control the terminal.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// Prints a line of data, sanitized. Returns an error if nobody reads it; `println!` would panic.
pub(crate) fn print_line(text: impl Display) -> anyhow::Result<()> {
    print_colored(sanitize(&text.to_string()))
}

/// Prints a line with colors of this program. Text from elsewhere in it must be sanitized already.
pub(crate) fn print_colored(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Prints data for another program, unchanged.
pub(crate) fn print_bytes(data: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    Ok(out.write_all(data).and_then(|()| out.flush())?)
}

/// Prints a message for a person to standard error.
pub(crate) fn print_message(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", sanitize(&text.to_string()));
}

pub(crate) fn print_json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    print_json_text(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Prints JSON with escaped control characters, which is the same to a program.
pub(crate) fn print_json_text(json: &str) -> anyhow::Result<()> {
    print_bytes(escape_json(json).as_bytes())
}

fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match controls_terminal(c) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    escaped
}

/// Prints aligned columns without a frame, which are easy to read and to cut.
pub(crate) fn print_table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    for row in rows {
        table.add_row(row.map(|cell| sanitize(&cell).replace('\n', " ")));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    print_line(table.trim_fmt())
}

/// Prints names and values, one pair per line.
pub(crate) fn print_fields(pairs: &[(&str, &str)]) -> anyhow::Result<()> {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    pairs.iter().try_for_each(|(name, value)| {
        print_line(format!("{name:width$}  {}", sanitize(value).replace('\n', " ")))
    })
}

/// Prints a diff: sanitized and in color on a terminal, else exactly as git wrote it, so that it can be applied.
pub(crate) fn print_diff(text: &str) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() {
        return print_bytes(text.as_bytes());
    }
    let in_color = supports_color(&std::io::stdout());
    text.lines().try_for_each(|row| print_colored(format_diff_line(row, in_color)))
}

fn format_diff_line(row: &str, in_color: bool) -> String {
    let columns: Vec<_> = row.split('\t').map(sanitize).collect();
    let text = columns.join("\t");
    let code = match row.as_bytes().first() {
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => return text,
    };
    colorize(&text, code, in_color)
}

/// Shows the code spans of a Markdown text as plain text. Code blocks stay as they are.
pub(crate) fn plain_markdown(text: &str) -> String {
    let mut is_code = false;
    let line = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { line.to_owned() } else { plain_code(line) }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Shows the code spans of a line of Markdown as plain text: addresses and file names as they are, other code in quotes.
pub(crate) fn plain_code(line: &str) -> String {
    let is_address = |text: &str| text.contains(['/', '.']) && !text.contains(char::is_whitespace);
    let plain = |part: pages::LinePart<'_>| match part.is_code && !is_address(part.text) {
        true => format!("\"{}\"", part.text),
        false => part.text.to_owned(),
    };
    pages::code_spans(line).into_iter().map(plain).collect()
}

/// Replaces characters that control a terminal or change the direction of text.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars().map(|c| if controls_terminal(c) { '\u{fffd}' } else { c }).collect()
}

fn controls_terminal(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether `out` is a terminal with colors, and the environment allows colors.
pub(crate) fn supports_color(out: &impl IsTerminal) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    out.is_terminal() && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn colorize(text: &str, code: &str, in_color: bool) -> String {
    if in_color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Formats a time as the API does.
pub(crate) fn format_timestamp(at: jiff::Timestamp) -> String {
    format!("{at:.3}")
}

/// An error and its causes in one sentence. A cause that the text already contains is not repeated.
pub(crate) fn error_sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |sentence, cause| match sentence.as_str() {
        "" => cause,
        text if text.contains(&cause) => sentence,
        _ => format!("{sentence}: {cause}"),
    })
}

/// The innermost cause, which is the informative one when a connection fails.
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    #[test]
    fn code_blocks_stay_as_they_are() {
        let text = "Added `a.md`.\n\n```\nrun `this`\n```\n- `x`";
        assert_eq!(super::plain_markdown(text), "Added a.md.\n\n```\nrun `this`\n```\n- \"x\"");
    }

    #[test]
    fn code_spans_become_plain_text() {
        let line =
            "`npm` was found nowhere; the page was renamed to `/guide/install`, see `` a`b `` and ` alone";
        assert_eq!(
            super::plain_code(line),
            "\"npm\" was found nowhere; the page was renamed to /guide/install, see \"a`b\" and ` alone"
        );
    }

    #[test]
    fn characters_that_control_a_terminal_are_removed() {
        assert_eq!(super::sanitize("a\x1b[31mb\u{202e}c\rd\ne"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\ne");
        assert_eq!(super::format_diff_line("+a\t\x1b]0;x\x07", false), "+a\t\u{fffd}]0;x\u{fffd}");
        assert_eq!(super::format_diff_line("-a", true), "\x1b[31m-a\x1b[0m");
        assert_eq!(super::format_diff_line(" a", true), " a");
        let json = "{\n\"a\": \"\u{9b}2J\u{202e}\"}";
        let escaped = super::escape_json(json);
        assert_eq!(escaped, "{\n\"a\": \"\\u009b2J\\u202e\"}");
        let parse = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(parse(&escaped), parse(json), "the same to a program");
    }

    #[test]
    fn a_cause_is_printed_once() {
        let missing = || std::io::Error::other("no such file");
        let repeated = anyhow::Error::new(missing()).context("x cannot be used: no such file");
        assert_eq!(super::error_sentence(&repeated), "x cannot be used: no such file");
        let separate = Err::<(), _>(missing()).context("x cannot be used").unwrap_err();
        assert_eq!(super::error_sentence(&separate), "x cannot be used: no such file");
    }
}
