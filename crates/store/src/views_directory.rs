//! Which data directory stores page views: one of them, even if several servers share a database.

use async_trait::async_trait;

use crate::Result;

/// Whether a server wants to store page views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViewsChoice {
    /// Yes, unless another directory stores them.
    #[default]
    IfFree,
    /// Yes, even if another directory stores them.
    Take,
    /// No, and no longer if it does.
    Leave,
}

#[async_trait]
pub trait ViewsDirectory: Send + Sync {
    /// Applies the choice, and answers whether the data directory of this id stores page views. On SQLite there is one
    /// directory, which stores them unless the choice is to leave.
    async fn claim_views(&self, dir: &str, choice: ViewsChoice) -> Result<bool>;
    /// Whether this one of several directories that share a database stores page views. Changes nothing.
    async fn is_views_directory(&self, dir: &str) -> Result<bool>;
}
