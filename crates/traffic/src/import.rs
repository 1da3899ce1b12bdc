//! Lines of web-server logs and of exports, as page views. Nothing here reads a file: a line comes
//! in, and what it says of a view comes out.

mod caddy;
mod cloudflare;
mod combined;
mod csv;
mod vercel;
mod when;

use std::borrow::Cow;
use std::net::IpAddr;

use serde::Deserialize;

use crate::event::RawEvent;
use csv::Columns;

/// How a file tells of page views, a line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// nginx and Apache, `combined` or `common`.
    Combined,
    Caddy,
    Vercel,
    Cloudflare,
    Csv,
}

/// Why a line is no page view, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

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

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format of a file by its first lines. Those of other kinds may be among them: only the
    /// names of CSV's columns must come first.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut lines = lines.into_iter().map(text).filter(|line| !line.trim().is_empty()).peekable();
        if lines.peek().is_some_and(|first| Columns::named(first).is_some()) {
            return Some(Self::Csv);
        }
        lines.find_map(|line| Self::ALL.into_iter().find(|format| format.fits(&line)))
    }

    /// Any object may be something else that Caddy or Vercel logs; what has the shape of a line of
    /// nginx is one, whatever was asked for.
    fn fits(self, line: &str) -> bool {
        match self.event(line) {
            Ok(event) => event.is_some() || self == Self::Combined,
            Err(_) => false,
        }
    }

    /// What a line alone says; one of CSV's says nothing alone.
    fn event(self, line: &str) -> Result<Option<RawEvent>, Malformed> {
        match self {
            Self::Combined => combined::event(line),
            Self::Caddy => caddy::event(line),
            Self::Vercel => vercel::event(line),
            Self::Cloudflare => cloudflare::event(line),
            Self::Csv => Ok(None),
        }
    }
}

/// Reads the lines of one file, from its first on.
pub struct Parser {
    format: Format,
    columns: Option<Columns>,
}

impl Parser {
    pub fn new(format: Format) -> Self {
        Self { format, columns: None }
    }

    /// The view that a line tells of; `None` when it rightly tells of none: an empty one, the names
    /// of columns, what else a server logs.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<RawEvent>, Malformed> {
        let line = text(line);
        let event = match (self.format, &self.columns) {
            _ if line.trim().is_empty() => None,
            (Format::Csv, Some(columns)) => Some(columns.event(&line)?),
            (Format::Csv, None) => {
                let columns = Columns::named(&line);
                self.columns = Some(columns.ok_or_else(|| malformed(csv::NO_COLUMNS))?);
                None
            }
            (format, _) => format.event(&line)?,
        };
        match event {
            // The API would take it for one of now.
            Some(event) if event.timestamp.is_none() => Err(malformed("it does not say when it was")),
            event => Ok(event),
        }
    }
}

/// What is no UTF-8 is shown as that, and what some editors put first is taken away.
fn text(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    String::from_utf8_lossy(&line[..end])
}

fn malformed(why: impl Into<String>) -> Malformed {
    Malformed(why.into())
}

/// A line that is an object. Quotes what is wrong with it, but never at length.
fn object<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, Malformed> {
    serde_json::from_str(line).map_err(|error| {
        let why: String = error.to_string().chars().take(120).collect();
        malformed(format!("not the JSON that was expected: {why}"))
    })
}

/// Logs name who asked in many ways; only an address is one.
fn address(text: &str) -> Option<String> {
    text.parse::<IpAddr>().ok().map(|address| address.to_string())
}

#[cfg(test)]
#[path = "import/tests.rs"]
mod tests;
