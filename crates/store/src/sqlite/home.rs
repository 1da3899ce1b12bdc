use async_trait::async_trait;

use super::SqliteStore;
use crate::{Result, ViewsHome, ViewsWish};

#[async_trait]
impl ViewsHome for SqliteStore {
    async fn settle_views(&self, _dir: &str, wish: ViewsWish) -> Result<bool> {
        Ok(wish != ViewsWish::Leave)
    }

    async fn is_views_home(&self, _dir: &str) -> Result<bool> {
        Ok(false)
    }
}
