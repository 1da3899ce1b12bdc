//! Which server's data directory stores page views.

use async_trait::async_trait;

use super::PostgresStore;
use crate::sql::{Backend, Fetch, sql};
use crate::{Result, ViewsHome, ViewsWish};

#[async_trait]
impl ViewsHome for PostgresStore {
    async fn settle_views(&self, dir: &str, wish: ViewsWish) -> Result<bool> {
        let settle = match wish {
            ViewsWish::IfFree => "INSERT INTO views_home (one, dir) VALUES (true, $1) ON CONFLICT DO NOTHING",
            ViewsWish::Take => {
                "INSERT INTO views_home (one, dir) VALUES (true, $1) ON CONFLICT (one) DO UPDATE SET dir = $1"
            }
            ViewsWish::Leave => "DELETE FROM views_home WHERE dir = $1",
        };
        let home = self.row(sql("SELECT dir FROM views_home")).await?;
        let home: Option<String> = home.map(|row| row.get("dir")).transpose()?;
        let is_ours = home.as_deref() == Some(dir);
        // The server calls this every few seconds, and most calls write nothing.
        if (home.is_some() && wish == ViewsWish::IfFree) || is_ours == (wish != ViewsWish::Leave) {
            return Ok(is_ours);
        }
        self.execute(sql(settle).bind(dir)).await?;
        self.is_views_home(dir).await
    }

    async fn is_views_home(&self, dir: &str) -> Result<bool> {
        let home = self.row(sql("SELECT dir FROM views_home WHERE dir = $1").bind(dir)).await?;
        Ok(home.is_some())
    }
}
