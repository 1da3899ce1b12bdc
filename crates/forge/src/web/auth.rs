//! Who we are to a host: nobody, whoever a token was made for, or an app.

use async_trait::async_trait;
use net::Secret;

use super::app::App;
use crate::{Credentials, Result};

pub(super) enum Auth {
    Token(Option<Secret>),
    App(Box<App>),
}

impl Auth {
    /// Lets go of a token that is no longer taken. `false` when there is no other to be had.
    pub(super) async fn renew(&self) -> bool {
        match self {
            Self::Token(_) => false,
            Self::App(app) => app.forget().await,
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
