//! Columnar, compressed blocks of raw events, with a dictionary of texts per block.
//!
//! A block can be decoded on its own, except for page numbers, which refer to the project's pages.

use std::collections::HashMap;
use std::sync::Arc;

use crate::classify::Class;
use crate::encoding::{DamagedData, Decoder, compress, decompress, put_slice, put_varint, put_zigzag};
use crate::event::Kind;
use crate::ranges::Verification;

/// Version 2 added the column of verifications. Version 1 is still read: its agents are unknown.
const VERSION: u64 = 2;
/// More than one write can contain. A damaged row count must not allocate all memory.
const MAX_ROWS: u64 = 4 << 20;

/// Half of a SHA-256 hash. Event ids are untrusted, so collisions must be hard to construct.
pub(crate) type Hash = [u8; 16];

/// The path of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRef {
    /// The project's number of a page that was read.
    Page(u32),
    /// The number of a text in the block, for events that are not reads. So guessed URLs do not add pages to
    /// the project.
    Text(u32),
}

/// An event. Texts are numbers in the block's dictionary, from 1; 0 means none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) at: i64,
    pub(crate) path: PathRef,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
    pub(crate) markdown: bool,
    /// 0 when the sender gave none.
    pub(crate) status: u16,
    pub(crate) agent: u32,
    pub(crate) referrer: u32,
    pub(crate) verification: Verification,
    /// `None` in events from before visitors were counted.
    pub(crate) visitor: Option<u64>,
    /// Only in the journal; compaction moves ids to the ids of their day.
    pub(crate) id: Option<Hash>,
}

/// The fields of a row that counting needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) at: i64,
    pub(crate) page: u32,
    pub(crate) class: Class,
}

impl Row {
    pub(crate) fn read(&self) -> Option<Read> {
        match (self.kind, self.path) {
            (Kind::Read, PathRef::Page(page)) => Some(Read { at: self.at, page, class: self.class }),
            _ => None,
        }
    }

    fn flags(&self) -> u8 {
        let bits = [self.markdown, self.id.is_some(), self.visitor.is_some()];
        let bits = bits.into_iter().fold(0, |flags, bit| flags << 1 | u8::from(bit));
        bits << 5 | self.class.code() << 2 | self.kind as u8
    }
}

/// The dictionary of a block: each text once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    list: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Texts {
    /// The number of a text, from 1.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text: Arc<str> = text.into();
        self.list.push(text.clone());
        let number = self.list.len() as u32;
        self.numbers.insert(text, number);
        number
    }

    fn memory_bytes(&self) -> usize {
        self.list.iter().map(|text| text.len() + 64).sum()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&str> {
        let index = (number as usize).checked_sub(1)?;
        self.list.get(index).map(|text| &**text)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) texts: Texts,
    pub(crate) rows: Vec<Row>,
}

impl Block {
    /// Appends the rows of another block, with their texts.
    pub(crate) fn append(&mut self, other: Block) {
        let numbers: Vec<u32> = other.texts.list.iter().map(|text| self.texts.number(text)).collect();
        let renumbered = |number: u32| (number as usize).checked_sub(1).map_or(0, |index| numbers[index]);
        self.rows.extend(other.rows.into_iter().map(|row| Row {
            agent: renumbered(row.agent),
            referrer: renumbered(row.referrer),
            path: match row.path {
                PathRef::Text(number) => PathRef::Text(renumbered(number)),
                page => page,
            },
            ..row
        }));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.len() * size_of::<Row>() + self.texts.memory_bytes()
    }

    /// Encodes some of the block's rows, with only the texts that they use.
    pub(crate) fn encode(&self, rows: &[Row], level: i32) -> std::io::Result<Vec<u8>> {
        let mut texts = TextCollector {
            all: &self.texts,
            numbers: vec![0; self.texts.list.len()],
            bytes: Vec::new(),
            count: 0,
        };
        let mut columns: [Vec<u8>; 9] = Default::default();
        let [times, flags, paths, agents, referrers, statuses, visitors, ids, verifications] = &mut columns;
        let mut before = 0;
        for row in rows {
            put_zigzag(times, row.at.wrapping_sub(before));
            before = row.at;
            flags.push(row.flags());
            put_varint(
                paths,
                match row.path {
                    PathRef::Page(number) => u64::from(number) << 1,
                    PathRef::Text(number) => u64::from(texts.number(number)) << 1 | 1,
                },
            );
            put_varint(agents, u64::from(texts.number(row.agent)));
            put_varint(referrers, u64::from(texts.number(row.referrer)));
            put_varint(statuses, u64::from(row.status));
            visitors.extend(row.visitor.map(u64::to_le_bytes).iter().flatten());
            ids.extend(row.id.iter().flatten());
            verifications.push(row.verification as u8);
        }
        // Most blocks have no agent with known ranges.
        if verifications.iter().all(|verification| *verification == Verification::Unknown as u8) {
            verifications.clear();
        }
        let mut plain =
            Vec::with_capacity(columns.iter().map(Vec::len).sum::<usize>() + texts.bytes.len() + 64);
        put_varint(&mut plain, VERSION);
        put_varint(&mut plain, rows.len() as u64);
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        put_varint(&mut plain, u64::from(texts.count));
        plain.extend(texts.bytes);
        compress(&plain, level)
    }

    pub(crate) fn decode(packed: &[u8]) -> Result<Self, DamagedData> {
        let plain = decompress(packed)?;
        let mut columns = Columns::of(&plain)?;
        let texts = columns.texts()?;
        let mut rows = Vec::with_capacity(columns.left);
        while let Some(row) = columns.row(texts.list.len())? {
            rows.push(row);
        }
        Ok(Self { texts, rows })
    }
}

/// Calls `with` for every read in a block and its visitor, without decoding the other columns.
pub(crate) fn each_read(packed: &[u8], mut with: impl FnMut(Read, Option<u64>)) -> Result<(), DamagedData> {
    let plain = decompress(packed)?;
    let mut columns = Columns::of(&plain)?;
    while let Some(flags) = columns.next()? {
        let (kind, class) = kind_and_class(flags)?;
        let (path, visitor) = (columns.path()?, columns.visitor(flags)?);
        if let (Kind::Read, PathRef::Page(page)) = (kind, path) {
            with(Read { at: columns.at, page, class }, visitor);
        }
    }
    Ok(())
}

/// Collects the texts that rows use, and numbers them in the order of first use.
struct TextCollector<'a> {
    all: &'a Texts,
    numbers: Vec<u32>,
    bytes: Vec<u8>,
    count: u32,
}

impl TextCollector<'_> {
    fn number(&mut self, number: u32) -> u32 {
        let (Some(index), Some(text)) = ((number as usize).checked_sub(1), self.all.get(number)) else {
            return 0;
        };
        if self.numbers[index] == 0 {
            self.count += 1;
            self.numbers[index] = self.count;
            put_slice(&mut self.bytes, text.as_bytes());
        }
        self.numbers[index]
    }
}

/// Decodes the columns of a block row by row.
struct Columns<'a> {
    left: usize,
    at: i64,
    columns: [Decoder<'a>; 9],
    texts: Decoder<'a>,
}

impl<'a> Columns<'a> {
    fn of(plain: &'a [u8]) -> Result<Self, DamagedData> {
        let mut bytes = Decoder(plain);
        let stored = match bytes.varint()? {
            1 => 8,
            VERSION => 9,
            _ => return Err(DamagedData("unknown version")),
        };
        let rows = bytes.varint()?;
        let mut columns = [Decoder(&[]); 9];
        for column in &mut columns[..stored] {
            *column = Decoder(bytes.slice()?);
        }
        let verifications = columns[8].0.len() as u64;
        if rows > MAX_ROWS || columns[1].0.len() as u64 != rows || ![0, rows].contains(&verifications) {
            return Err(DamagedData("row count mismatch"));
        }
        Ok(Self { left: rows as usize, at: 0, columns, texts: bytes })
    }

    fn texts(&mut self) -> Result<Texts, DamagedData> {
        let mut texts = Texts::default();
        for _ in 0..self.texts.varint()? {
            let text = std::str::from_utf8(self.texts.slice()?).map_err(|_| DamagedData("invalid UTF-8"))?;
            texts.list.push(text.into());
        }
        Ok(texts)
    }

    /// Advances to the next row and returns its flags.
    fn next(&mut self) -> Result<Option<u8>, DamagedData> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        self.at = self.at.wrapping_add(self.columns[0].zigzag()?);
        Ok(Some(self.columns[1].array::<1>()?[0]))
    }

    fn path(&mut self) -> Result<PathRef, DamagedData> {
        let number = self.columns[2].varint()?;
        let index = u32::try_from(number >> 1).map_err(|_| DamagedData("number out of range"))?;
        Ok(if number & 1 == 0 { PathRef::Page(index) } else { PathRef::Text(index) })
    }

    fn visitor(&mut self, flags: u8) -> Result<Option<u64>, DamagedData> {
        let bytes = (flags >> 5 & 1 == 1).then(|| self.columns[6].array()).transpose()?;
        Ok(bytes.map(u64::from_le_bytes))
    }

    /// An empty column means that all are unknown.
    fn verification(&mut self) -> Result<Verification, DamagedData> {
        if self.columns[8].0.is_empty() {
            return Ok(Verification::Unknown);
        }
        match self.columns[8].array::<1>()? {
            [0] => Ok(Verification::Unknown),
            [1] => Ok(Verification::Claimed),
            [2] => Ok(Verification::Verified),
            _ => Err(DamagedData("unknown verification")),
        }
    }

    fn row(&mut self, texts: usize) -> Result<Option<Row>, DamagedData> {
        let Some(flags) = self.next()? else { return Ok(None) };
        let (kind, class) = kind_and_class(flags)?;
        let row = Row {
            at: self.at,
            path: self.path()?,
            kind,
            class,
            markdown: flags >> 7 == 1,
            agent: self.columns[3].varint_u32()?,
            referrer: self.columns[4].varint_u32()?,
            verification: self.verification()?,
            status: u16::try_from(self.columns[5].varint()?).map_err(|_| DamagedData("invalid status"))?,
            visitor: self.visitor(flags)?,
            id: (flags >> 6 & 1 == 1).then(|| self.columns[7].array()).transpose()?,
        };
        let known = |number: u32| number as usize <= texts;
        let has_path = !matches!(row.path, PathRef::Text(number) if number == 0 || !known(number));
        let is_valid = has_path && known(row.agent) && known(row.referrer);
        if is_valid { Ok(Some(row)) } else { Err(DamagedData("unknown text")) }
    }
}

fn kind_and_class(flags: u8) -> Result<(Kind, Class), DamagedData> {
    let kind = match flags & 3 {
        0 => Kind::Read,
        1 => Kind::NotFound,
        2 => Kind::Other,
        _ => Kind::Redirected,
    };
    let class = Class::ALL.get(usize::from(flags >> 2 & 7)).ok_or(DamagedData("unknown class"))?;
    Ok((kind, *class))
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
