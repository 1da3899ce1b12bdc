use async_trait::async_trait;
use sqlx::Row;

use super::{PostgresStore, write};
use crate::account::{LOGIN_LINK, SESSION};
use crate::{OrganizationId, Result, Sessions, Token};

#[async_trait]
impl Sessions for PostgresStore {
    async fn create_login(&self, organization: &OrganizationId) -> Result<Token> {
        let link = Token::random();
        let insert = sqlx::query("INSERT INTO login_links VALUES ($1, $2, docwright_now_ms() + $3)")
            .bind(link.hash())
            .bind(&organization.0)
            .bind(LOGIN_LINK.as_millis() as i64);
        self.execute(insert).await?;
        Ok(link)
    }

    async fn login_works(&self, link: &Token) -> Result<bool> {
        let find =
            sqlx::query("SELECT 1 FROM login_links WHERE hash = $1 AND expires_at > docwright_now_ms()");
        Ok(self.row(find.bind(link.hash())).await?.is_some())
    }

    async fn use_login(&self, link: &Token) -> Result<Option<Token>> {
        let session = Token::random();
        Ok(write(|| self.trade(link, &session)).await?.then_some(session))
    }

    async fn session(&self, session: &Token) -> Result<Option<OrganizationId>> {
        let find = "SELECT organization FROM sessions WHERE hash = $1 AND expires_at > docwright_now_ms()";
        let row = self.row(sqlx::query(find).bind(session.hash())).await?;
        row.map(|row| Ok(OrganizationId(row.try_get("organization")?))).transpose()
    }

    async fn end_session(&self, session: &Token) -> Result<()> {
        let delete = sqlx::query("DELETE FROM sessions WHERE hash = $1").bind(session.hash());
        self.execute(delete).await.map(|_| ())
    }

    async fn anyone_signed_in(&self) -> Result<bool> {
        let live = sqlx::query("SELECT 1 FROM sessions WHERE expires_at > docwright_now_ms() LIMIT 1");
        Ok(self.row(live).await?.is_some())
    }
}

impl PostgresStore {
    /// A link for a session. What is too old is swept on the way: there is never much of it.
    async fn trade(&self, link: &Token, session: &Token) -> Result<bool> {
        let mut tx = self.begin().await?;
        let owner: Option<String> = sqlx::query_scalar(
            "DELETE FROM login_links WHERE hash = $1 AND expires_at > docwright_now_ms() RETURNING organization",
        )
        .bind(link.hash())
        .fetch_optional(&mut *tx)
        .await?;
        let Some(owner) = owner else { return Ok(false) };
        sqlx::query("INSERT INTO sessions SELECT $1, $2, now, now + $3 FROM docwright_now_ms() now")
            .bind(session.hash())
            .bind(owner)
            .bind(SESSION.as_millis() as i64)
            .execute(&mut *tx)
            .await?;
        for sweep in [
            "DELETE FROM login_links WHERE hash IN (SELECT hash FROM login_links
                WHERE expires_at <= docwright_now_ms() FOR UPDATE SKIP LOCKED)",
            "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions
                WHERE expires_at <= docwright_now_ms() FOR UPDATE SKIP LOCKED)",
        ] {
            sqlx::query(sweep).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}
