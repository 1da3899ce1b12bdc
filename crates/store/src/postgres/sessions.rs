use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::people::person;
use super::{PostgresStore, text, time, write};
use crate::account::{LOGIN_LINK, SESSION};
use crate::{LinkSession, OrganizationId, PersonId, Result, Session, SessionId, Sessions, Token};

#[async_trait]
impl Sessions for PostgresStore {
    async fn create_named_login(&self, organization: &OrganizationId, name: &str) -> Result<Token> {
        let link = Token::random();
        let insert = "INSERT INTO login_links (hash, organization, expires_at, name)
            VALUES ($1, $2, docwright_now_ms() + $3, $4)";
        let insert = sqlx::query(insert)
            .bind(link.hash())
            .bind(&organization.0)
            .bind(LOGIN_LINK.as_millis() as i64)
            .bind(text(name));
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
        let insert = "INSERT INTO sessions (hash, organization, created_at, expires_at, person, operator, id)
            SELECT $1, organization, now, now + $2, id, false, $4 FROM people, docwright_now_ms() now
            WHERE id = $3";
        let insert = sqlx::query(insert).bind(session.hash()).bind(SESSION.as_millis() as i64);
        let insert = insert.bind(&person.0).bind(SessionId::random().0);
        Ok((self.execute(insert).await? > 0).then_some(session))
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
        let find = "SELECT sessions.organization AS signed_in, operator, sessions.name AS link, people.* FROM sessions
            LEFT JOIN people ON people.id = person WHERE hash = $1 AND expires_at > docwright_now_ms()";
        let Some(row) = self.row(sqlx::query(find).bind(session.hash())).await? else { return Ok(None) };
        let is_somebodys = row.try_get::<Option<&str>, _>("id")?.is_some();
        Ok(Some(Session {
            organization: OrganizationId(row.try_get("signed_in")?),
            person: is_somebodys.then(|| person(&row)).transpose()?,
            operator: row.try_get("operator")?,
            name: row.try_get("link")?,
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

    async fn link_sessions(&self, organization: Option<&OrganizationId>) -> Result<Vec<LinkSession>> {
        let select = "SELECT sessions.*, people.name AS member FROM sessions
            LEFT JOIN people ON people.id = person
            WHERE operator AND ($1::text IS NULL OR sessions.organization = $1)
            AND expires_at > docwright_now_ms() ORDER BY sessions.created_at, sessions.id";
        let rows = self.rows(sqlx::query(select).bind(organization.map(|o| &o.0))).await?;
        rows.iter().map(link_session).collect()
    }

    async fn end_link_session(
        &self,
        organization: &OrganizationId,
        id: &SessionId,
    ) -> Result<Option<LinkSession>> {
        let delete = "DELETE FROM sessions
            WHERE operator AND organization = $1 AND id = $2 AND expires_at > docwright_now_ms()
            RETURNING *, (SELECT people.name FROM people WHERE people.id = person) AS member";
        let gone = self.row(sqlx::query(delete).bind(&organization.0).bind(text(&id.0))).await?;
        self.bells.news();
        gone.as_ref().map(link_session).transpose()
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
        let used = sqlx::query(
            "DELETE FROM login_links WHERE hash = $1 AND expires_at > docwright_now_ms()
             RETURNING organization, name",
        );
        let Some(used) = used.bind(link.hash()).fetch_optional(&mut *tx).await? else { return Ok(false) };
        sqlx::query(
            "INSERT INTO sessions (hash, organization, created_at, expires_at, id, name)
             SELECT $1, $2, now, now + $3, $4, $5 FROM docwright_now_ms() now",
        )
        .bind(session.hash())
        .bind(used.try_get::<String, _>("organization")?)
        .bind(SESSION.as_millis() as i64)
        .bind(SessionId::random().0)
        .bind(used.try_get::<Option<String>, _>("name")?)
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

fn link_session(row: &PgRow) -> Result<LinkSession> {
    Ok(LinkSession {
        id: SessionId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        name: row.try_get("name")?,
        member: row.try_get("member")?,
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
    })
}
