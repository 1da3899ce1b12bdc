//! A file as batches of page views, each with the part of the file that it is made of.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use tokio::sync::mpsc::Sender;
use traffic::import::{Format, MalformedLine, Parser};
use traffic::{Progress, RawEvent};
use wire::ViewEvent;

use super::lines::{Compared, Lines, Next, hex};
use super::source::{Meter, Source};

/// The most that the server takes at once is 10,000 and 8 MiB; the longest line, each byte of it
/// escaped, still fits behind these.
const MAX_EVENTS: usize = 10_000;
const MAX_BYTES: usize = 6 * 1024 * 1024;
/// Problems that are shown of a file.
pub(super) const SHOWN: usize = 5;

/// A file that lines can be read from.
pub(super) struct Opened {
    pub(super) format: Format,
    pub(super) meter: Meter,
    /// By which it is known again, whatever its name is.
    pub(super) fingerprint: String,
    lines: Lines<Source>,
    parser: Parser,
    first: Vec<u8>,
}

/// Views, an object a line, as the API takes them.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) body: Vec<u8>,
    /// The line of the file that each is from.
    pub(super) numbers: Vec<u64>,
    pub(super) from: u64,
    pub(super) to: Option<Progress>,
    /// How much of the file, as it is on disk, was read by then.
    pub(super) read: u64,
    pub(super) malformed: u64,
    /// Lines that rightly tell of no view.
    pub(super) other: u64,
    pub(super) problems: Vec<(u64, String)>,
    /// The last line, which has no end yet.
    pub(super) left: Option<u64>,
}

/// What is left when all batches are sent.
pub(super) struct Rest {
    /// Without views, so that nobody has to hear of it.
    pub(super) batch: Batch,
    /// The file could not be read to its end.
    pub(super) broken: Option<io::Error>,
}

impl Opened {
    /// `None` when nobody knows the format.
    pub(super) fn open(path: &Path, format: Option<Format>) -> io::Result<Option<Self>> {
        let source = Source::open(path)?;
        let lines = || source.head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        // An empty file, as a rotation leaves it, is of any format.
        let empty = lines().next().is_none().then_some(Format::Combined);
        let Some(format) = format.or_else(|| Format::detect(lines())).or(empty) else { return Ok(None) };
        // Every CSV begins with the same names.
        let telling = if format == Format::Csv { 2 } else { 1 };
        let mut hash = Sha256::new();
        lines().take(telling).for_each(|line| hash.update([line.trim_ascii(), b"\n"].concat()));
        let first = lines().next().unwrap_or_default().to_owned();
        Ok(Some(Self {
            format,
            meter: source.meter.clone(),
            fingerprint: hex(hash),
            lines: Lines::new(source),
            parser: Parser::new(format),
            first,
        }))
    }

    /// Passes what was read before; how many lines that were is known then.
    pub(super) fn pass(&mut self, known: &Progress) -> io::Result<Compared> {
        if known.bytes > 0 && self.format == Format::Csv {
            // The names of the columns are needed all the same.
            let _ = self.parser.line(&self.first);
        }
        self.lines.pass_until(known)
    }

    pub(super) fn line_number(&self) -> u64 {
        self.lines.number
    }

    /// Reads to the end, or until nobody takes batches any more.
    pub(super) fn read(mut self, batches: &Sender<Batch>) -> Rest {
        let mut batch = self.empty();
        let broken = loop {
            match self.next_line(&mut batch) {
                Err(error) => break Some(error),
                Ok(false) => break None,
                Ok(true) => {}
            }
            if batch.is_full() {
                let full = self.ended(std::mem::take(&mut batch));
                batch = self.empty();
                if batches.blocking_send(full).is_err() {
                    break None;
                }
            }
        };
        if !batch.numbers.is_empty() {
            let _ = batches.blocking_send(self.ended(std::mem::take(&mut batch)));
        }
        Rest { batch, broken }
    }

    fn next_line(&mut self, batch: &mut Batch) -> io::Result<bool> {
        match self.lines.next()? {
            Next::End => return Ok(false),
            Next::TooLong => batch.problem(self.lines.number, "longer than 256 KiB".into()),
            Next::Line => batch.add(self.lines.number, self.parser.line(self.lines.line())),
            Next::Last => {
                // It may be being written at this moment, and only what is JSON tells whether there is more of it.
                let json = matches!(self.format, Format::Caddy | Format::Vercel | Format::Cloudflare);
                match self.parser.line(self.lines.line()) {
                    Ok(event) if json => {
                        self.lines.pass();
                        batch.add(self.lines.number, Ok(event));
                    }
                    _ => batch.left = Some(self.lines.number),
                }
            }
        }
        Ok(true)
    }

    fn empty(&self) -> Batch {
        Batch { from: self.lines.place().bytes, ..Batch::default() }
    }

    fn ended(&self, batch: Batch) -> Batch {
        Batch { to: Some(self.lines.place()), read: self.meter.read(), ..batch }
    }
}

impl Batch {
    fn is_full(&self) -> bool {
        self.numbers.len() >= MAX_EVENTS || self.body.len() >= MAX_BYTES
    }

    fn add(&mut self, number: u64, parsed: Result<Option<RawEvent>, MalformedLine>) {
        match parsed.map(|event| event.map(view)) {
            Ok(None) => self.other += 1,
            Ok(Some(view)) if serde_json::to_writer(&mut self.body, &view).is_ok() => {
                self.body.push(b'\n');
                self.numbers.push(number);
            }
            Ok(Some(_)) => self.problem(number, "it cannot be written as JSON".into()),
            Err(MalformedLine(why)) => self.problem(number, why),
        }
    }

    pub(super) fn problem(&mut self, number: u64, why: String) {
        self.malformed += 1;
        if self.problems.len() < SHOWN {
            self.problems.push((number, why));
        }
    }
}

fn view(event: RawEvent) -> ViewEvent {
    ViewEvent {
        path: event.path,
        url: event.url,
        timestamp: event.timestamp.map(|at| at.to_string()),
        method: event.method,
        status: event.status,
        user_agent: event.user_agent,
        ip: event.ip,
        referrer: event.referrer,
        accept: event.accept,
        event_id: event.event_id,
    }
}
