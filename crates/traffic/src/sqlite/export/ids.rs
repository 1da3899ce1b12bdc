//! Reads the event ids of the last seven days, with the time of their receipt.

use super::Export;
use crate::block::Hash;
use crate::sqlite::event_ids::page_entries;
use crate::views::Failure;

/// Pages of a segment that are read at once.
const PAGES: i64 = 10;

/// A position among the ids: a segment, and the first id of a page in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct IdCursor {
    segment: i64,
    page: Vec<u8>,
}

impl Export {
    /// The next ids, all of one segment, and the position after them.
    pub(crate) async fn ids(
        &self,
        project: i64,
        after: &IdCursor,
    ) -> Result<Option<(Vec<(Hash, i64)>, IdCursor)>, Failure> {
        let next = "SELECT id, day FROM seen WHERE project = ? AND id >= ? ORDER BY id";
        let segments = sqlx::query_as(next).bind(project).bind(after.segment);
        let segments: Vec<(i64, i64)> = segments.fetch_all(&mut *self.reader().await?).await?;
        for (segment, day) in segments {
            let from = if segment == after.segment { after.page.as_slice() } else { &[] };
            let pages =
                "SELECT first, ids FROM seen_page WHERE seen = ? AND first > ? ORDER BY first LIMIT ?";
            let pages = sqlx::query_as(pages).bind(segment).bind(from).bind(PAGES);
            let pages: Vec<(Vec<u8>, Vec<u8>)> = pages.fetch_all(&mut *self.reader().await?).await?;
            if let Some((last, _)) = pages.last() {
                let ids = pages.iter().flat_map(|(_, ids)| page_entries(ids, day)).collect();
                return Ok(Some((ids, IdCursor { segment, page: last.clone() })));
            }
        }
        Ok(None)
    }
}
