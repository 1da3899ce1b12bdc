use async_trait::async_trait;
use sqlx::Row;

use super::people::person;
use super::{PostgresStore, write};
use crate::account::{LOGIN_LINK, SESSION};
use crate::{OrganizationId, PersonId, Result, Session, Sessions, Token};

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

    async fn start_session(&self, person: &PersonId) -> Result<Option<Token>> {
        let session = Token::random();
        let insert = "INSERT INTO sessions (hash, organization, created_at, expires_at, person, operator)
            SELECT $1, organization, now, now + $2, id, false FROM people, docwright_now_ms() now
            WHERE id = $3";
        let insert = sqlx::query(insert).bind(session.hash()).bind(SESSION.as_millis() as i64);
        Ok((self.execute(insert.bind(&person.0)).await? > 0).then_some(session))
    }

    async fn hand_over(&self, session: &Token, person: &PersonId) -> Result<Option<Token>> {
        let new = Token::random();
        let update = "UPDATE sessions SET hash = $1, person = $2
            WHERE hash = $3 AND expires_at > docwright_now_ms()
            AND organization = (SELECT organization FROM people WHERE id = $2)";
        let update = sqlx::query(update).bind(new.hash()).bind(&person.0).bind(session.hash());
        Ok((self.execute(update).await? > 0).then_some(new))
    }

    async fn session(&self, session: &Token) -> Result<Option<Session>> {
        let find = "SELECT sessions.organization AS signed_in, operator, people.* FROM sessions
            LEFT JOIN people ON people.id = person WHERE hash = $1 AND expires_at > docwright_now_ms()";
        let Some(row) = self.row(sqlx::query(find).bind(session.hash())).await? else { return Ok(None) };
        let is_somebodys = row.try_get::<Option<&str>, _>("id")?.is_some();
        Ok(Some(Session {
            organization: OrganizationId(row.try_get("signed_in")?),
            person: is_somebodys.then(|| person(&row)).transpose()?,
            operator: row.try_get("operator")?,
        }))
    }

    async fn end_session(&self, session: &Token) -> Result<()> {
        let delete = sqlx::query("DELETE FROM sessions WHERE hash = $1").bind(session.hash());
        self.execute(delete).await?;
        self.bells.news();
        Ok(())
    }

    async fn end_sessions(&self, of: &Session) -> Result<()> {
        let delete = "DELETE FROM sessions WHERE organization = $1 AND person IS NOT DISTINCT FROM $2";
        let person = of.person.as_ref().map(|person| &person.id.0);
        self.execute(sqlx::query(delete).bind(&of.organization.0).bind(person)).await?;
        self.bells.news();
        Ok(())
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
        sqlx::query(
            "INSERT INTO sessions (hash, organization, created_at, expires_at)
             SELECT $1, $2, now, now + $3 FROM docwright_now_ms() now",
        )
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
