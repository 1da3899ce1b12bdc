//! Events as they are kept: in blocks, a column a property, texts once a block, compressed.
//! A block needs nothing but itself and the numbers of its project's pages.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bytes::{Bytes, Damaged, pack, put, put_signed, put_slice, unpack};
use crate::classify::Class;
use crate::event::Kind;

const VERSION: u64 = 1;
/// More than one write can bring: a damaged count must not ask for all memory.
const MOST_ROWS: u64 = 4 << 20;

/// Half of SHA-256: ids come from outside, so nobody must be able to make two that collide.
pub(crate) type Hash = [u8; 16];

/// Where someone went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A page that was read, by its number in the project.
    Page(u32),
    /// What was no read, by its text in the block: nobody grows the project's pages by guessing at them.
    Text(u32),
}

/// An event. Texts are numbers in its block, from 1; 0 is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) at: i64,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
    pub(crate) markdown: bool,
    /// 0: none was told.
    pub(crate) status: u16,
    pub(crate) agent: u32,
    pub(crate) referrer: u32,
    /// `None` in what was kept before visitors were counted.
    pub(crate) visitor: Option<u64>,
    /// Until it is known among the ids of its day.
    pub(crate) id: Option<Hash>,
}

/// What counting asks of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) at: i64,
    pub(crate) page: u32,
    pub(crate) class: Class,
}

impl Row {
    pub(crate) fn read(&self) -> Option<Read> {
        match (self.kind, self.place) {
            (Kind::Read, Place::Page(page)) => Some(Read { at: self.at, page, class: self.class }),
            _ => None,
        }
    }

    fn flags(&self) -> u8 {
        let bits = [self.markdown, self.id.is_some(), self.visitor.is_some()];
        let bits = bits.into_iter().fold(0, |flags, bit| flags << 1 | u8::from(bit));
        bits << 5 | self.class.code() << 2 | self.kind as u8
    }
}

/// The texts of a block, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    list: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Texts {
    /// Its number, from 1.
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

    fn bytes(&self) -> usize {
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
    /// Takes over the rows of another, with their texts.
    pub(crate) fn absorb(&mut self, other: Block) {
        let numbers: Vec<u32> = other.texts.list.iter().map(|text| self.texts.number(text)).collect();
        let renumbered = |number: u32| (number as usize).checked_sub(1).map_or(0, |index| numbers[index]);
        self.rows.extend(other.rows.into_iter().map(|row| Row {
            agent: renumbered(row.agent),
            referrer: renumbered(row.referrer),
            place: match row.place {
                Place::Text(number) => Place::Text(renumbered(number)),
                page => page,
            },
            ..row
        }));
    }

    /// What it holds in memory, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.rows.len() * size_of::<Row>() + self.texts.bytes()
    }

    /// Some of its rows, as bytes, with the texts that they need and no others.
    pub(crate) fn encode(&self, rows: &[Row], level: i32) -> std::io::Result<Vec<u8>> {
        let mut texts =
            Used { all: &self.texts, numbers: vec![0; self.texts.list.len()], bytes: Vec::new(), count: 0 };
        let mut columns: [Vec<u8>; 8] = Default::default();
        let [times, flags, places, agents, referrers, statuses, visitors, ids] = &mut columns;
        let mut before = 0;
        for row in rows {
            put_signed(times, row.at.wrapping_sub(before));
            before = row.at;
            flags.push(row.flags());
            put(
                places,
                match row.place {
                    Place::Page(number) => u64::from(number) << 1,
                    Place::Text(number) => u64::from(texts.number(number)) << 1 | 1,
                },
            );
            put(agents, u64::from(texts.number(row.agent)));
            put(referrers, u64::from(texts.number(row.referrer)));
            put(statuses, u64::from(row.status));
            visitors.extend(row.visitor.map(u64::to_le_bytes).iter().flatten());
            ids.extend(row.id.iter().flatten());
        }
        let mut plain =
            Vec::with_capacity(columns.iter().map(Vec::len).sum::<usize>() + texts.bytes.len() + 64);
        put(&mut plain, VERSION);
        put(&mut plain, rows.len() as u64);
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        put(&mut plain, u64::from(texts.count));
        plain.extend(texts.bytes);
        pack(&plain, level)
    }

    pub(crate) fn decode(packed: &[u8]) -> Result<Self, Damaged> {
        let plain = unpack(packed)?;
        let mut columns = Columns::of(&plain)?;
        let texts = columns.texts()?;
        let mut rows = Vec::with_capacity(columns.left);
        while let Some(row) = columns.row(texts.list.len())? {
            rows.push(row);
        }
        Ok(Self { texts, rows })
    }
}

/// Calls `with` for every read in a block and its visitor, without making rows of all the rest.
pub(crate) fn each_read(packed: &[u8], mut with: impl FnMut(Read, Option<u64>)) -> Result<(), Damaged> {
    let plain = unpack(packed)?;
    let mut columns = Columns::of(&plain)?;
    while let Some(flags) = columns.next()? {
        let (kind, class) = who(flags)?;
        let (place, visitor) = (columns.place()?, columns.visitor(flags)?);
        if let (Kind::Read, Place::Page(page)) = (kind, place) {
            with(Read { at: columns.at, page, class }, visitor);
        }
    }
    Ok(())
}

/// Numbers texts anew, in the order in which rows need them.
struct Used<'a> {
    all: &'a Texts,
    numbers: Vec<u32>,
    bytes: Vec<u8>,
    count: u32,
}

impl Used<'_> {
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

/// The columns of a block while they are read, side by side.
struct Columns<'a> {
    left: usize,
    at: i64,
    columns: [Bytes<'a>; 8],
    texts: Bytes<'a>,
}

impl<'a> Columns<'a> {
    fn of(plain: &'a [u8]) -> Result<Self, Damaged> {
        let mut bytes = Bytes(plain);
        if bytes.number()? != VERSION {
            return Err(Damaged("it is of another version"));
        }
        let rows = bytes.number()?;
        let mut columns = [Bytes(&[]); 8];
        for column in &mut columns {
            *column = Bytes(bytes.slice()?);
        }
        if rows > MOST_ROWS || columns[1].0.len() as u64 != rows {
            return Err(Damaged("it has not the rows that it tells of"));
        }
        Ok(Self { left: rows as usize, at: 0, columns, texts: bytes })
    }

    fn texts(&mut self) -> Result<Texts, Damaged> {
        let mut texts = Texts::default();
        for _ in 0..self.texts.number()? {
            let text = std::str::from_utf8(self.texts.slice()?).map_err(|_| Damaged("a text is none"))?;
            texts.list.push(text.into());
        }
        Ok(texts)
    }

    /// Goes to the next row: its time, and its flags.
    fn next(&mut self) -> Result<Option<u8>, Damaged> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        self.at = self.at.wrapping_add(self.columns[0].signed()?);
        Ok(Some(self.columns[1].array::<1>()?[0]))
    }

    fn place(&mut self) -> Result<Place, Damaged> {
        let number = self.columns[2].number()?;
        let index = u32::try_from(number >> 1).map_err(|_| Damaged("a number is too large"))?;
        Ok(if number & 1 == 0 { Place::Page(index) } else { Place::Text(index) })
    }

    fn visitor(&mut self, flags: u8) -> Result<Option<u64>, Damaged> {
        let bytes = (flags >> 5 & 1 == 1).then(|| self.columns[6].array()).transpose()?;
        Ok(bytes.map(u64::from_le_bytes))
    }

    fn row(&mut self, texts: usize) -> Result<Option<Row>, Damaged> {
        let Some(flags) = self.next()? else { return Ok(None) };
        let (kind, class) = who(flags)?;
        let row = Row {
            at: self.at,
            place: self.place()?,
            kind,
            class,
            markdown: flags >> 7 == 1,
            agent: self.columns[3].small()?,
            referrer: self.columns[4].small()?,
            status: u16::try_from(self.columns[5].number()?).map_err(|_| Damaged("a status is none"))?,
            visitor: self.visitor(flags)?,
            id: (flags >> 6 & 1 == 1).then(|| self.columns[7].array()).transpose()?,
        };
        let known = |number: u32| number as usize <= texts;
        let placed = !matches!(row.place, Place::Text(number) if number == 0 || !known(number));
        let whole = placed && known(row.agent) && known(row.referrer);
        if whole { Ok(Some(row)) } else { Err(Damaged("a text is not there")) }
    }
}

fn who(flags: u8) -> Result<(Kind, Class), Damaged> {
    let kind = match flags & 3 {
        0 => Kind::Read,
        1 => Kind::NotFound,
        2 => Kind::Other,
        _ => return Err(Damaged("a kind is none")),
    };
    let class = Class::ALL.get(usize::from(flags >> 2 & 7)).ok_or(Damaged("a class is none"))?;
    Ok((kind, *class))
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
