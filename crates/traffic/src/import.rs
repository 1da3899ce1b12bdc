//! Parses lines of web-server logs and exports into page views. It does no I/O.

mod caddy;
mod cloudflare;
mod combined;
mod csv;
mod timestamp;
mod vercel;

use std::borrow::Cow;
use std::net::IpAddr;

use serde::Deserialize;

use crate::event::RawEvent;
use csv::Columns;

/// The format of a log file, with one page view per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// nginx and Apache, `combined` or `common`.
    Combined,
    Caddy,
    Vercel,
    Cloudflare,
    Csv,
}

/// Why a line cannot be parsed, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MalformedLine(pub String);

impl Format {
    pub const ALL: [Self; 5] = [Self::Combined, Self::Caddy, Self::Vercel, Self::Cloudflare, Self::Csv];

    pub fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Caddy => "caddy",
            Self::Vercel => "vercel",
            Self::Cloudflare => "cloudflare",
            Self::Csv => "csv",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Detects the format of a file by its first lines. Other lines may be among them, but the header of a
    /// CSV file must be first.
    pub fn detect<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut lines = lines.into_iter().map(decode_line).filter(|line| !line.trim().is_empty()).peekable();
        if lines.peek().is_some_and(|first| Columns::from_header(first).is_some()) {
            return Some(Self::Csv);
        }
        lines.find_map(|line| Self::ALL.into_iter().find(|format| format.matches(&line)))
    }

    /// A JSON object may be another log entry of Caddy or Vercel, so it must have a page view. A line with
    /// the shape of an nginx line always matches.
    fn matches(self, line: &str) -> bool {
        match self.parse_line(line) {
            Ok(event) => event.is_some() || self == Self::Combined,
            Err(_) => false,
        }
    }

    /// The view of a single line. A CSV line needs the header, so it gives none here.
    fn parse_line(self, line: &str) -> Result<Option<RawEvent>, MalformedLine> {
        match self {
            Self::Combined => combined::event(line),
            Self::Caddy => caddy::event(line),
            Self::Vercel => vercel::event(line),
            Self::Cloudflare => cloudflare::event(line),
            Self::Csv => Ok(None),
        }
    }
}

/// Parses the lines of one file, starting with the first.
pub struct Parser {
    format: Format,
    columns: Option<Columns>,
}

impl Parser {
    pub fn new(format: Format) -> Self {
        Self { format, columns: None }
    }

    /// The view of a line. `None` for a valid line without a view: an empty line, a CSV header, another log
    /// entry.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<RawEvent>, MalformedLine> {
        let line = decode_line(line);
        let event = match (self.format, &self.columns) {
            _ if line.trim().is_empty() => None,
            (Format::Csv, Some(columns)) => Some(columns.event(&line)?),
            (Format::Csv, None) => {
                let columns = Columns::from_header(&line);
                self.columns = Some(columns.ok_or_else(|| malformed(csv::NO_COLUMNS))?);
                None
            }
            (format, _) => format.parse_line(&line)?,
        };
        match event {
            // Without a timestamp, the API would use the current time.
            Some(event) if event.timestamp.is_none() => Err(malformed("it has no timestamp")),
            event => Ok(event),
        }
    }
}

/// Decodes a line lossily, and strips the byte order mark and the line end.
fn decode_line(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    String::from_utf8_lossy(&line[..end])
}

fn malformed(why: impl Into<String>) -> MalformedLine {
    MalformedLine(why.into())
}

/// Parses a JSON object. The error quotes the problem, shortened.
fn parse_json<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, MalformedLine> {
    serde_json::from_str(line).map_err(|error| {
        let why: String = error.to_string().chars().take(120).collect();
        malformed(format!("unexpected JSON: {why}"))
    })
}

/// Parses a client's address. Logs may contain other names instead.
fn parse_address(text: &str) -> Option<String> {
    text.parse::<IpAddr>().ok().map(|address| address.to_string())
}

#[cfg(test)]
#[path = "import/tests.rs"]
mod tests;
