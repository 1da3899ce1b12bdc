//! What commands print: tables for people, JSON for programs.

use std::fmt::Display;
use std::io::Write;

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// A line of data. An error when nobody can read it, unlike `println!`, which would panic.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// A line of words, for whoever is there to read them.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", plain(&text.to_string()));
}

pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(serde_json::to_string_pretty(value)?)
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
        table.add_row(row.map(|cell| plain(&cell)));
    }
    line(table.trim_fmt())
}

/// Text that may come from anywhere must not steer the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// A moment as the API writes it.
pub(crate) fn moment(at: jiff::Timestamp) -> String {
    format!("{at:.3}")
}
