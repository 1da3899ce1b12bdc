//! Parses CSV with a header line. The columns may have our names or common synonyms.

use super::timestamp::parse_text;
use super::{MalformedLine, malformed, parse_address};
use crate::event::RawEvent;

pub(super) const NO_COLUMNS: &str = "the first line must name the columns, including `path` or `url`";

/// The columns of a file, and their separator.
pub(super) struct Columns {
    separator: u8,
    fields: Vec<Option<Field>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Path,
    Url,
    Timestamp,
    Method,
    Status,
    UserAgent,
    Ip,
    Referrer,
    Accept,
    EventId,
}

impl Field {
    /// Ignores case and separators in the name.
    fn from_name(name: &str) -> Option<Self> {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match name.to_ascii_lowercase().as_str() {
            "path" | "page" | "pathname" | "pagepath" | "uri" | "requesturi" | "requestpath" => Self::Path,
            "url" | "pageurl" | "requesturl" => Self::Url,
            "timestamp" | "time" | "datetime" | "date" | "ts" | "at" => Self::Timestamp,
            "method" | "requestmethod" | "httpmethod" => Self::Method,
            "status" | "statuscode" | "httpstatus" | "responsestatus" => Self::Status,
            "useragent" | "ua" | "agent" | "httpuseragent" => Self::UserAgent,
            "ip" | "clientip" | "remoteip" | "remoteaddr" | "ipaddress" | "address" => Self::Ip,
            "referrer" | "referer" | "httpreferer" | "httpreferrer" => Self::Referrer,
            "accept" | "httpaccept" => Self::Accept,
            "eventid" | "requestid" | "rayid" => Self::EventId,
            _ => return None,
        })
    }
}

impl Columns {
    /// The columns that a header names. `None` without a column for the path or URL.
    pub(super) fn from_header(line: &str) -> Option<Self> {
        b",;\t".iter().find_map(|separator| {
            let names = split(line, *separator)?;
            let fields: Vec<_> = names.iter().map(|name| Field::from_name(name)).collect();
            let read = |field: &Option<Field>| matches!(field, Some(Field::Path | Field::Url));
            fields.iter().any(read).then_some(Self { separator: *separator, fields })
        })
    }

    pub(super) fn event(&self, line: &str) -> Result<RawEvent, MalformedLine> {
        let values = split(line, self.separator).ok_or_else(|| malformed("a quoted value is not closed"))?;
        if values.len() != self.fields.len() {
            let (is, should) = (values.len(), self.fields.len());
            return Err(malformed(format!("{is} columns, but the first line has {should}")));
        }
        let mut event = RawEvent::default();
        for (field, value) in self.fields.iter().zip(values) {
            if let (Some(field), false) = (field, value.trim().is_empty()) {
                set(&mut event, *field, value)?;
            }
        }
        Ok(event)
    }
}

fn set(event: &mut RawEvent, field: Field, value: String) -> Result<(), MalformedLine> {
    match field {
        Field::Path => event.path = Some(value),
        Field::Url => event.url = Some(value),
        Field::Timestamp => {
            event.timestamp = Some(parse_text(&value).ok_or_else(|| malformed("invalid timestamp"))?);
        }
        Field::Method => event.method = Some(value),
        Field::Status => {
            event.status = Some(value.trim().parse().map_err(|_| malformed("invalid status"))?);
        }
        Field::UserAgent => event.user_agent = Some(value),
        Field::Ip => event.ip = parse_address(value.trim()),
        Field::Referrer => event.referrer = Some(value),
        Field::Accept => event.accept = Some(value),
        Field::EventId => event.event_id = Some(value),
    }
    Ok(())
}

/// Splits a line into values. A quoted value may contain the separator and doubled quotes.
fn split(line: &str, separator: u8) -> Option<Vec<String>> {
    let separator = char::from(separator);
    let mut values = Vec::new();
    let mut rest = line;
    loop {
        let value;
        (value, rest) = match rest.strip_prefix('"') {
            Some(inside) => parse_quoted(inside)?,
            None => {
                let (value, after) = rest.split_at(rest.find(separator).unwrap_or(rest.len()));
                (value.to_owned(), after)
            }
        };
        values.push(value);
        match rest.strip_prefix(separator) {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(values),
        }
    }
}

/// Parses a value up to its closing quote. Returns it with the rest of the line.
fn parse_quoted(mut rest: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        value.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, after)),
        }
    }
}
