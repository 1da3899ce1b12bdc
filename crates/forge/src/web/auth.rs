//! Provides the token for a host: none, a fixed token, or the current token of a GitHub App.

use async_trait::async_trait;
use net::Secret;

use super::app::App;
use crate::{Credentials, Result};

pub(super) enum Auth {
    Token(Option<Secret>),
    App(Box<App>),
}

impl Auth {
    /// Discards a token that the host no longer accepts. `false` when there is no way to get another.
    pub(super) async fn renew(&self) -> bool {
        match self {
            Self::Token(_) => false,
            Self::App(app) => app.discard_token().await,
        }
    }
}

#[async_trait]
impl Credentials for Auth {
    async fn token(&self) -> Result<Option<Secret>> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::App(app) => app.token().await.map(Some),
        }
    }
}
