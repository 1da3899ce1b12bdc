use async_trait::async_trait;
use sqlx::Row;

use super::PostgresStore;
use crate::{Result, ViewsHome, ViewsWish};

#[async_trait]
impl ViewsHome for PostgresStore {
    async fn settle_views(&self, dir: &str, wish: ViewsWish) -> Result<bool> {
        let settle = match wish {
            ViewsWish::IfFree => "INSERT INTO views_home VALUES (true, $1) ON CONFLICT DO NOTHING",
            ViewsWish::Take => {
                "INSERT INTO views_home VALUES (true, $1) ON CONFLICT (one) DO UPDATE SET dir = $1"
            }
            ViewsWish::Leave => "DELETE FROM views_home WHERE dir = $1",
        };
        let home = self.row(sqlx::query("SELECT dir FROM views_home")).await?;
        let home: Option<String> = home.map(|row| row.try_get("dir")).transpose()?;
        let is_ours = home.as_deref() == Some(dir);
        // Asked every few seconds, and most times nothing is to be written.
        if (home.is_some() && wish == ViewsWish::IfFree) || is_ours == (wish != ViewsWish::Leave) {
            return Ok(is_ours);
        }
        self.execute(sqlx::query(settle).bind(dir)).await?;
        self.is_views_home(dir).await
    }

    async fn is_views_home(&self, dir: &str) -> Result<bool> {
        let home = self.row(sqlx::query("SELECT 1 FROM views_home WHERE dir = $1").bind(dir)).await?;
        Ok(home.is_some())
    }
}
