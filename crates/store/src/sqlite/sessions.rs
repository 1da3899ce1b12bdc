use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::SqliteConnection;

use super::SqliteStore;
use crate::account::{LOGIN_LINK, SESSION};
use crate::{OrganizationId, Result, Sessions, Token};

#[async_trait]
impl Sessions for SqliteStore {
    async fn create_login(&self, organization: &OrganizationId) -> Result<Token> {
        let link = Token::random();
        let insert = sqlx::query("INSERT INTO login_links VALUES (?, ?, ?)")
            .bind(link.hash())
            .bind(organization.0.clone())
            .bind(self.clock.now_ms() + LOGIN_LINK.as_millis() as i64);
        self.execute(insert).await?;
        Ok(link)
    }

    async fn login_works(&self, link: &Token) -> Result<bool> {
        let found = sqlx::query("SELECT 1 FROM login_links WHERE hash = ? AND expires_at > ?")
            .bind(link.hash())
            .bind(self.clock.now_ms())
            .fetch_optional(self.db.reads())
            .await?;
        Ok(found.is_some())
    }

    async fn use_login(&self, link: &Token) -> Result<Option<Token>> {
        let (link, session, now) = (link.hash(), Token::random(), self.clock.now_ms());
        let hash = session.hash();
        let used = self.db.write(move |db| trade(db, link, hash, now).boxed()).await?;
        Ok(used.then_some(session))
    }

    async fn session(&self, session: &Token) -> Result<Option<OrganizationId>> {
        let owner = sqlx::query_scalar("SELECT organization FROM sessions WHERE hash = ? AND expires_at > ?")
            .bind(session.hash())
            .bind(self.clock.now_ms())
            .fetch_optional(self.db.reads())
            .await?;
        Ok(owner.map(OrganizationId))
    }

    async fn end_session(&self, session: &Token) -> Result<()> {
        let delete = sqlx::query("DELETE FROM sessions WHERE hash = ?").bind(session.hash());
        self.execute(delete).await.map(|_| ())
    }

    async fn anyone_signed_in(&self) -> Result<bool> {
        let live = sqlx::query("SELECT 1 FROM sessions WHERE expires_at > ? LIMIT 1");
        Ok(live.bind(self.clock.now_ms()).fetch_optional(self.db.reads()).await?.is_some())
    }
}

/// A link for a session. What is too old is swept on the way: there is never much of it.
async fn trade(db: &mut SqliteConnection, link: Vec<u8>, session: Vec<u8>, now: i64) -> Result<bool> {
    sqlx::query("DELETE FROM login_links WHERE expires_at <= ?").bind(now).execute(&mut *db).await?;
    sqlx::query("DELETE FROM sessions WHERE expires_at <= ?").bind(now).execute(&mut *db).await?;
    let owner: Option<String> =
        sqlx::query_scalar("DELETE FROM login_links WHERE hash = ? RETURNING organization")
            .bind(link)
            .fetch_optional(&mut *db)
            .await?;
    let Some(owner) = owner else { return Ok(false) };
    sqlx::query("INSERT INTO sessions VALUES (?, ?, ?, ?)")
        .bind(session)
        .bind(owner)
        .bind(now)
        .bind(now + SESSION.as_millis() as i64)
        .execute(db)
        .await?;
    Ok(true)
}
