//! CSV with the names of its columns in the first line: ours, or those that others use for the same.

use super::when::words;
use super::{Malformed, address, malformed};
use crate::event::RawEvent;

pub(super) const NO_COLUMNS: &str = "the first line must name the columns, and one of them `path` or `url`";

/// Which column is what, and what stands between them.
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
    /// By its name, whatever its case and whatever is between its words.
    fn named(name: &str) -> Option<Self> {
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
    /// The columns that a first line names, if it names what was read.
    pub(super) fn named(line: &str) -> Option<Self> {
        b",;\t".iter().find_map(|separator| {
            let names = split(line, *separator)?;
            let fields: Vec<_> = names.iter().map(|name| Field::named(name)).collect();
            let read = |field: &Option<Field>| matches!(field, Some(Field::Path | Field::Url));
            fields.iter().any(read).then_some(Self { separator: *separator, fields })
        })
    }

    pub(super) fn event(&self, line: &str) -> Result<RawEvent, Malformed> {
        let values = split(line, self.separator).ok_or_else(|| malformed("a quote that does not end"))?;
        if values.len() != self.fields.len() {
            let (is, should) = (values.len(), self.fields.len());
            return Err(malformed(format!("{is} columns, where the first line has {should}")));
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

fn set(event: &mut RawEvent, field: Field, value: String) -> Result<(), Malformed> {
    match field {
        Field::Path => event.path = Some(value),
        Field::Url => event.url = Some(value),
        Field::Timestamp => {
            event.timestamp = Some(words(&value).ok_or_else(|| malformed("a time that is none"))?);
        }
        Field::Method => event.method = Some(value),
        Field::Status => {
            event.status = Some(value.trim().parse().map_err(|_| malformed("a status that is none"))?);
        }
        Field::UserAgent => event.user_agent = Some(value),
        Field::Ip => event.ip = address(value.trim()),
        Field::Referrer => event.referrer = Some(value),
        Field::Accept => event.accept = Some(value),
        Field::EventId => event.event_id = Some(value),
    }
    Ok(())
}

/// The values of a line. One in quotes may have the separator in it, and a quote that is doubled.
fn split(line: &str, separator: u8) -> Option<Vec<String>> {
    let separator = char::from(separator);
    let mut values = Vec::new();
    let mut rest = line;
    loop {
        let value;
        (value, rest) = match rest.strip_prefix('"') {
            Some(inside) => quoted(inside)?,
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

/// The value up to its closing quote, and what comes after that.
fn quoted(mut rest: &str) -> Option<(String, &str)> {
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
