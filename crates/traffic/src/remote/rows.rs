//! Encodes raw events for ClickHouse, and decodes its answers. Both are in RowBinary.

use super::engine::EngineError;
use crate::block::{Block, PathRef, Row};
use crate::classify::product;
use crate::encoding::{DamagedData, Decoder, put_slice};
use crate::views::Failure;

/// The columns of an insert, in the order of [`put_row`].
pub(super) const COLUMNS: &str = "project, at, path, kind, class, markdown, status, agent, product, referrer, \
    verification, visitor, folded, generation";

/// The text of a row, or an empty one.
pub(super) fn text(block: &Block, number: u32) -> &str {
    block.texts.get(number).unwrap_or_default()
}

pub(super) fn path<'b>(block: &'b Block, row: &Row) -> &'b str {
    match row.path {
        PathRef::Text(number) => text(block, number),
        // The outbox has no numbered pages.
        PathRef::Page(_) => "",
    }
}

/// Where a row goes: its project, the generation of its day, and whether its name counts as other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placement {
    pub(super) project: i64,
    pub(super) generation: i64,
    pub(super) is_folded: bool,
}

pub(super) fn put_row(out: &mut Vec<u8>, block: &Block, row: &Row, placement: Placement) {
    let agent = text(block, row.agent);
    out.extend(placement.project.to_le_bytes());
    out.extend(row.at.to_le_bytes());
    put_slice(out, path(block, row).as_bytes());
    out.extend([row.kind as u8, row.class.code(), u8::from(row.markdown)]);
    out.extend(row.status.to_le_bytes());
    put_slice(out, agent.as_bytes());
    put_slice(out, product(Some(agent)).as_bytes());
    put_slice(out, text(block, row.referrer).as_bytes());
    out.push(row.verification as u8);
    out.extend(row.visitor.unwrap_or_default().to_le_bytes());
    out.push(u8::from(placement.is_folded));
    out.extend(u32::try_from(placement.generation).unwrap_or(u32::MAX).to_le_bytes());
}

/// A cursor over the rows of an answer.
pub(super) struct Answer<'a>(Decoder<'a>);

impl<'a> Answer<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(Decoder(bytes))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.0.is_empty()
    }

    pub(super) fn string(&mut self) -> Result<&'a str, Failure> {
        let bytes = self.0.slice().map_err(unreadable)?;
        std::str::from_utf8(bytes).map_err(|_| unreadable(DamagedData("invalid UTF-8")))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Failure> {
        Ok(self.0.array::<1>().map_err(unreadable)?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, Failure> {
        Ok(u32::from_le_bytes(self.0.array().map_err(unreadable)?))
    }

    pub(super) fn u64s(&mut self) -> Result<Vec<u64>, Failure> {
        let length = self.0.varint().map_err(unreadable)?;
        (0..length).map(|_| self.u64()).collect()
    }

    pub(super) fn u64(&mut self) -> Result<u64, Failure> {
        Ok(u64::from_le_bytes(self.0.array().map_err(unreadable)?))
    }
}

fn unreadable(damaged: DamagedData) -> Failure {
    EngineError::Refused(format!("its answer cannot be read ({})", damaged.0)).into()
}
