//! Splits a log file into batches of page views. Each batch knows which part of the file it comes from.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use tokio::sync::mpsc::Sender;
use traffic::import::{Format, MalformedLine, Parser};
use traffic::{Progress, RawEvent};
use wire::ViewEvent;

use super::lines::{Comparison, LineKind, Lines, hex};
use super::source::{Meter, Source};

/// The server accepts at most 10,000 events and 8 MiB at once. After `MAX_BYTES`, the longest line still fits, even if
/// each of its bytes is escaped.
const MAX_EVENTS: usize = 10_000;
const MAX_BYTES: usize = 6 * 1024 * 1024;
/// Problems of one file that are printed.
pub(super) const MAX_SHOWN_PROBLEMS: usize = 5;

/// An open log file, of a known format.
pub(super) struct LogFile {
    pub(super) format: Format,
    pub(super) meter: Meter,
    /// Identifies the file under any name.
    pub(super) fingerprint: String,
    lines: Lines<Source>,
    parser: Parser,
    first_line: Vec<u8>,
}

/// Views as the API accepts them: NDJSON.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) body: Vec<u8>,
    /// The number of the line of each view.
    pub(super) numbers: Vec<u64>,
    pub(super) from: u64,
    pub(super) to: Option<Progress>,
    /// The compressed bytes of the file that were read for it and all batches before it.
    pub(super) read: u64,
    pub(super) malformed: u64,
    /// Valid lines that are not page views.
    pub(super) other: u64,
    pub(super) problems: Vec<(u64, String)>,
    /// The number of the last line, if it has no line end yet.
    pub(super) unfinished_line: Option<u64>,
}

/// What remains when all batches are sent.
pub(super) struct ReadEnd {
    /// Has counts but no views, so it is not sent.
    pub(super) batch: Batch,
    /// Why the file could not be read to its end.
    pub(super) error: Option<io::Error>,
}

impl LogFile {
    /// `None` if the format is unknown.
    pub(super) fn open(path: &Path, format: Option<Format>) -> io::Result<Option<Self>> {
        let source = Source::open(path)?;
        let lines = || source.head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        // A log rotation leaves an empty file, which has no format.
        let empty = lines().next().is_none().then_some(Format::Combined);
        let Some(format) = format.or_else(|| Format::detect(lines())).or(empty) else { return Ok(None) };
        // The first line of every CSV file has the same column names.
        let identifying = if format == Format::Csv { 2 } else { 1 };
        let mut hash = Sha256::new();
        lines().take(identifying).for_each(|line| hash.update([line.trim_ascii(), b"\n"].concat()));
        let first_line = lines().next().unwrap_or_default().to_owned();
        Ok(Some(Self {
            format,
            meter: source.meter.clone(),
            fingerprint: hex(hash),
            lines: Lines::new(source),
            parser: Parser::new(format),
            first_line,
        }))
    }

    /// Skips what an earlier import read. Afterwards, `line_number` is the number of skipped lines.
    pub(super) fn skip_imported(&mut self, known: &Progress) -> io::Result<Comparison> {
        if known.bytes > 0 && self.format == Format::Csv {
            // The parser needs the names of the columns.
            let _ = self.parser.line(&self.first_line);
        }
        self.lines.skip_prefix(known)
    }

    pub(super) fn line_number(&self) -> u64 {
        self.lines.number
    }

    /// Reads to the end, or until the receiver is dropped.
    pub(super) fn read(mut self, batches: &Sender<Batch>) -> ReadEnd {
        let mut batch = self.new_batch();
        let error = loop {
            match self.next_line(&mut batch) {
                Err(error) => break Some(error),
                Ok(false) => break None,
                Ok(true) => {}
            }
            if batch.is_full() {
                let full = self.complete(std::mem::take(&mut batch));
                batch = self.new_batch();
                if batches.blocking_send(full).is_err() {
                    break None;
                }
            }
        };
        if !batch.numbers.is_empty() {
            let _ = batches.blocking_send(self.complete(std::mem::take(&mut batch)));
        }
        ReadEnd { batch, error }
    }

    fn next_line(&mut self, batch: &mut Batch) -> io::Result<bool> {
        match self.lines.next()? {
            LineKind::End => return Ok(false),
            LineKind::TooLong => batch.add_problem(self.lines.number, "longer than 256 KiB".into()),
            LineKind::Whole => batch.add(self.lines.number, self.parser.line(self.lines.line())),
            LineKind::Unterminated => {
                // The server may still be writing it. Only JSON shows whether it is complete.
                let is_json = matches!(self.format, Format::Caddy | Format::Vercel | Format::Cloudflare);
                match self.parser.line(self.lines.line()) {
                    Ok(event) if is_json => {
                        self.lines.accept();
                        batch.add(self.lines.number, Ok(event));
                    }
                    _ => batch.unfinished_line = Some(self.lines.number),
                }
            }
        }
        Ok(true)
    }

    fn new_batch(&self) -> Batch {
        Batch { from: self.lines.progress().bytes, ..Batch::default() }
    }

    fn complete(&self, batch: Batch) -> Batch {
        Batch { to: Some(self.lines.progress()), read: self.meter.read(), ..batch }
    }
}

impl Batch {
    fn is_full(&self) -> bool {
        self.numbers.len() >= MAX_EVENTS || self.body.len() >= MAX_BYTES
    }

    fn add(&mut self, number: u64, parsed: Result<Option<RawEvent>, MalformedLine>) {
        match parsed.map(|event| event.map(to_view_event)) {
            Ok(None) => self.other += 1,
            Ok(Some(view)) if serde_json::to_writer(&mut self.body, &view).is_ok() => {
                self.body.push(b'\n');
                self.numbers.push(number);
            }
            Ok(Some(_)) => self.add_problem(number, "it cannot be written as JSON".into()),
            Err(MalformedLine(why)) => self.add_problem(number, why),
        }
    }

    pub(super) fn add_problem(&mut self, number: u64, why: String) {
        self.malformed += 1;
        if self.problems.len() < MAX_SHOWN_PROBLEMS {
            self.problems.push((number, why));
        }
    }
}

fn to_view_event(event: RawEvent) -> ViewEvent {
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
