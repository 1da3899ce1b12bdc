//! Decodes the output of `git log --raw -z`: a line for each commit, then its changes.
//!
//! Names can contain anything except NUL, so a name is recognized by its position, never by its content.

use gix::ObjectId;

use crate::{Error, Oid, Result};

/// The format of a commit's line.
pub(super) const FORMAT: &str = "--format=%H %ct";
/// Far longer than any path.
const MAX_TOKEN_BYTES: usize = 1 << 20;
/// The last second of the year 9999.
const MAX_DATE: i64 = 253_402_300_799;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    Commit { id: Oid, date: i64 },
    Change(Change),
}

/// A change of one file. A side is `None` when the file does not exist there, is a link or a submodule, or
/// has a name that is not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) from: Option<File>,
    pub(super) to: Option<File>,
    /// For a rename: how much of the content stayed, in percent.
    pub(super) similarity: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) blob: ObjectId,
}

/// The first part of a change, before its paths.
#[derive(Clone)]
struct Header {
    from: Option<ObjectId>,
    to: Option<ObjectId>,
    status: u8,
    similarity: Option<u8>,
    /// The first of two paths, once it was read.
    first_path: Option<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct RawLog {
    bytes: Vec<u8>,
    position: usize,
    header: Option<Header>,
}

impl RawLog {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.position);
        self.position = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// `None` until the next record is complete.
    pub(super) fn next(&mut self) -> Result<Option<Record>> {
        loop {
            let rest = &self.bytes[self.position..];
            let Some(length) = rest.iter().position(|&byte| byte == 0) else {
                return if rest.len() > MAX_TOKEN_BYTES { Err(malformed()) } else { Ok(None) };
            };
            let token = &rest[..length];
            self.position += length + 1;
            match self.header.take() {
                Some(header) => match header.with_path(token) {
                    Ok(change) => return Ok(Some(Record::Change(change))),
                    Err(header) => self.header = Some(header),
                },
                None => match token.strip_prefix(b"\n").unwrap_or(token) {
                    b"" => {}
                    [b':', header @ ..] => self.header = Some(Header::parse(header)?),
                    line => return parse_commit(line).map(Some),
                },
            }
        }
    }
}

fn parse_commit(line: &[u8]) -> Result<Record> {
    let text = std::str::from_utf8(line).map_err(|_| malformed())?;
    let (id, date) = text.split_once(' ').ok_or_else(malformed)?;
    Ok(Record::Commit { id: Oid::parse(id)?, date: parse_date(date) })
}

/// git prints nothing for a date that is not a number.
fn parse_date(text: &str) -> i64 {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<i64>() {
        Ok(date) => date.clamp(0, MAX_DATE),
        Err(_) if is_number => MAX_DATE,
        Err(_) => 0,
    }
}

impl Header {
    /// `100644 100644 <id> <id> R098`
    fn parse(text: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(text).map_err(|_| malformed())?;
        let mut words = text.split(' ');
        let mut next = || words.next().ok_or_else(malformed);
        let (old_mode, new_mode, old, new, status) = (next()?, next()?, next()?, next()?, next()?);
        let similarity = status.get(1..).and_then(|percent| percent.parse().ok());
        Ok(Self {
            from: file_id(old_mode, old)?,
            to: file_id(new_mode, new)?,
            status: *status.as_bytes().first().ok_or_else(malformed)?,
            similarity,
            first_path: None,
        })
    }

    /// The change, if `path` is its last path.
    fn with_path(mut self, path: &[u8]) -> std::result::Result<Change, Self> {
        let has_two_paths = matches!(self.status, b'R' | b'C');
        if has_two_paths && self.first_path.is_none() {
            self.first_path = Some(path.to_owned());
            return Err(self);
        }
        let first = self.first_path.as_deref().unwrap_or(path);
        let (from, to) = (file(first, self.from), file(path, self.to));
        let similarity = self.similarity.filter(|_| self.status == b'R');
        Ok(Change { from, to, similarity })
    }
}

/// The id of a file's content, `None` for everything else.
fn file_id(mode: &str, id: &str) -> Result<Option<ObjectId>> {
    let id = ObjectId::from_hex(id.as_bytes()).map_err(|_| malformed())?;
    Ok(matches!(mode, "100644" | "100755" | "100664").then_some(id))
}

fn file(path: &[u8], blob: Option<ObjectId>) -> Option<File> {
    Some(File { path: std::str::from_utf8(path).ok()?.to_owned(), blob: blob? })
}

fn malformed() -> Error {
    Error::Git("`git log` answered in an unknown format".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    fn decode(stream: &[u8], size: usize) -> Vec<String> {
        let (mut log, mut all) = (RawLog::default(), Vec::new());
        for chunk in stream.chunks(size) {
            log.push(chunk);
            while let Some(record) = log.next().unwrap() {
                all.push(show(&record));
            }
        }
        all
    }

    fn show(record: &Record) -> String {
        let side = |file: &Option<File>| match file {
            Some(file) => format!("{:?} {}", file.path, &file.blob.to_string()[..1]),
            None => "-".to_owned(),
        };
        match record {
            Record::Commit { id, date } => format!("commit {} {date}", &id.as_str()[..1]),
            Record::Change(Change { from, to, similarity }) => {
                format!("{} > {} {similarity:?}", side(from), side(to))
            }
        }
    }

    #[test]
    fn changes_are_decoded_from_chunks_of_any_size() {
        let stream = format!(
            "{A} 17\0\n:100644 100644 {A} {B} R098\0a\nb\tc\0{B} 9\0:000000 100755 {A} {B} A\0:x\0\
             :100644 120000 {A} {B} T\0link\0:160000 160000 {A} {B} M\0module\0{B} 16\0{A} 15\0\n:100644 100644 {A} {B} M\0m\0"
        );
        let expected = [
            "commit 1 17",
            r#""a\nb\tc" 1 > "2222222222222222222222222222222222222222 9" 2 Some(98)"#,
            r#"- > ":x" 2 None"#,
            r#""link" 1 > - None"#,
            "- > - None",
            "commit 2 16",
            "commit 1 15",
            r#""m" 1 > "m" 2 None"#,
        ];
        for size in 1..=stream.len() {
            assert_eq!(decode(stream.as_bytes(), size), expected, "in chunks of {size}");
        }
    }

    #[test]
    fn names_that_are_not_text_do_not_exist() {
        let stream = [format!(":100644 100644 {A} {B} R100\0").as_bytes(), b"a\xff\0b\0"].concat();
        assert_eq!(decode(&stream, 7), [r#"- > "b" 2 Some(100)"#]);
    }

    #[test]
    fn dates_are_moved_into_the_years_that_people_use() {
        let cases = [
            ("1700000000", 1_700_000_000),
            ("", 0),
            ("-5", 0),
            ("253402300800", MAX_DATE),
            ("99999999999999999999999", MAX_DATE),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_date(text), expected, "{text}");
        }
    }

    #[test]
    fn other_formats_are_errors() {
        #[track_caller]
        fn check(stream: &[u8]) {
            let mut log = RawLog::default();
            log.push(stream);
            assert!(log.next().is_err());
        }
        check(b"hello\0");
        check(b":100644 100644 x y M\0");
        check(b":100644\0");
        check(&vec![b'x'; MAX_TOKEN_BYTES + 1]);
    }
}
