//! The one data directory stores page views.

use async_trait::async_trait;

use super::SqliteStore;
use crate::{Result, ViewsChoice, ViewsDirectory};

#[async_trait]
impl ViewsDirectory for SqliteStore {
    async fn claim_views(&self, _dir: &str, choice: ViewsChoice) -> Result<bool> {
        Ok(choice != ViewsChoice::Leave)
    }

    async fn is_views_directory(&self, _dir: &str) -> Result<bool> {
        Ok(false)
    }
}
