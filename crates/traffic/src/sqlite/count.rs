//! Counting reads.

use sqlx::{SqliteConnection, SqlitePool};

use crate::range::Range;
use crate::views::{Counts, PageCount, Tally};

// Kind 0 is a read; class 0 is a human and class 1 an assistant.
const TOTALS: &str = "
    SELECT COALESCE(SUM(class = 0), 0), COALESCE(SUM(class = 1), 0)
    FROM event
    WHERE project = (SELECT id FROM project WHERE name = ?)
      AND kind = 0 AND at >= ? AND at < ? AND class <= 1";

const PAGES: &str = "
    SELECT word.text, page.human, page.ai
    FROM (
        SELECT path, SUM(class = 0) AS human, SUM(class = 1) AS ai
        FROM event
        WHERE project = (SELECT id FROM project WHERE name = ?)
          AND kind = 0 AND at >= ? AND at < ? AND class <= 1
        GROUP BY path
    ) AS page
    JOIN word ON word.id = page.path
    ORDER BY page.human + page.ai DESC, word.text
    LIMIT ? OFFSET ?";

pub(super) struct Question<'a> {
    pub(super) project: &'a str,
    pub(super) range: &'a Range,
    pub(super) limit: u32,
    pub(super) offset: u64,
}

impl Question<'_> {
    pub(super) async fn answer(&self, reads: &SqlitePool) -> Result<Counts, sqlx::Error> {
        // One snapshot, so that the pages add up to the totals while events come in.
        let mut snapshot = reads.begin().await?;
        let totals = self.totals(&mut snapshot).await?;
        let mut pages = self.pages(&mut snapshot).await?;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = pages.len() > limit;
        pages.truncate(limit);
        Ok(Counts { totals, pages, has_more })
    }

    async fn totals(&self, connection: &mut SqliteConnection) -> Result<Tally, sqlx::Error> {
        let (from, to) = self.bounds();
        let (human, ai): (i64, i64) =
            sqlx::query_as(TOTALS).bind(self.project).bind(from).bind(to).fetch_one(connection).await?;
        Ok(Tally { human: human.unsigned_abs(), ai: ai.unsigned_abs() })
    }

    /// One page more than asked for, which tells whether there are more.
    async fn pages(&self, connection: &mut SqliteConnection) -> Result<Vec<PageCount>, sqlx::Error> {
        let (from, to) = self.bounds();
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(PAGES)
            .bind(self.project)
            .bind(from)
            .bind(to)
            .bind(i64::from(self.limit) + 1)
            .bind(i64::try_from(self.offset).unwrap_or(i64::MAX))
            .fetch_all(connection)
            .await?;
        let page = |(path, human, ai): (String, i64, i64)| PageCount {
            path,
            human: human.unsigned_abs(),
            ai: ai.unsigned_abs(),
        };
        Ok(rows.into_iter().map(page).collect())
    }

    fn bounds(&self) -> (i64, i64) {
        (self.range.from().unwrap_or(i64::MIN), self.range.to().unwrap_or(i64::MAX))
    }
}
