//! Which server's data directory stores page views.

use async_trait::async_trait;

use super::PostgresStore;
use crate::sql::{Backend, Fetch, sql};
use crate::{Result, ViewsChoice, ViewsDirectory};

#[async_trait]
impl ViewsDirectory for PostgresStore {
    async fn claim_views(&self, dir: &str, choice: ViewsChoice) -> Result<bool> {
        let change = match choice {
            ViewsChoice::IfFree => {
                "INSERT INTO views_home (one, dir) VALUES (true, $1) ON CONFLICT DO NOTHING"
            }
            ViewsChoice::Take => {
                "INSERT INTO views_home (one, dir) VALUES (true, $1) ON CONFLICT (one) DO UPDATE SET dir = $1"
            }
            ViewsChoice::Leave => "DELETE FROM views_home WHERE dir = $1",
        };
        let current = self.row(sql("SELECT dir FROM views_home")).await?;
        let current: Option<String> = current.map(|row| row.get("dir")).transpose()?;
        let is_ours = current.as_deref() == Some(dir);
        // The server calls this every few seconds, and most calls write nothing.
        if (current.is_some() && choice == ViewsChoice::IfFree) || is_ours == (choice != ViewsChoice::Leave) {
            return Ok(is_ours);
        }
        self.execute(sql(change).bind(dir)).await?;
        self.is_views_directory(dir).await
    }

    async fn is_views_directory(&self, dir: &str) -> Result<bool> {
        let current = self.row(sql("SELECT dir FROM views_home WHERE dir = $1").bind(dir)).await?;
        Ok(current.is_some())
    }
}
