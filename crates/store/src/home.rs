//! Where page views are kept: in one data directory, however many servers share a database.

use async_trait::async_trait;

use crate::Result;

/// What a server wants to be to page views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViewsWish {
    /// Their home, unless they have one.
    #[default]
    IfFree,
    /// Their home from now on, whoever was it before.
    Take,
    /// Not their home, and no longer if it was.
    Leave,
}

#[async_trait]
pub trait ViewsHome: Send + Sync {
    /// Whether page views are at home in the data directory of this id, from now on. On SQLite there
    /// is one directory, and they are at home there unless that is not wished.
    async fn settle_views(&self, dir: &str, wish: ViewsWish) -> Result<bool>;
    /// Whether a database that several directories share has page views at home in this one. Changes nothing.
    async fn is_views_home(&self, dir: &str) -> Result<bool>;
}
