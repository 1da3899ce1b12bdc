//! Sign-in: one-time login links and sessions.
//!
//! The column `operator` of a session says that it began with a login link, so its user has access to the server's
//! machine. It is true by default. The column `name` is the name of that link.

use async_trait::async_trait;
use futures_util::FutureExt;

use super::{Backend, Connection, FromRow, Row, sql};
use crate::account::{LOGIN_LINK_LIFETIME, SESSION_LIFETIME};
use crate::{LinkSession, OrganizationId, Person, PersonId, Result, Session, SessionId, Sessions, Token};

#[async_trait]
impl<B: Backend> Sessions for B {
    async fn create_named_login(&self, organization: &OrganizationId, name: &str) -> Result<Token> {
        let link = Token::random();
        let insert = sql("INSERT INTO login_links (hash, organization, expires_at, name)
             VALUES ($1, $2, docwright_now_ms() + $3, $4)");
        let insert =
            insert.bind(link.hash()).bind(&organization.0).bind(LOGIN_LINK_LIFETIME.as_millis() as i64);
        self.execute(insert.bind(name)).await?;
        Ok(link)
    }

    async fn login_works(&self, link: &Token) -> Result<bool> {
        let find = sql("SELECT name FROM login_links WHERE hash = $1 AND expires_at > docwright_now_ms()");
        Ok(self.row(find.bind(link.hash())).await?.is_some())
    }

    async fn use_login(&self, link: &Token) -> Result<Option<Token>> {
        let session = Token::random();
        let input = (link.hash(), session.hash());
        let is_used = self.transaction(input, |db, (link_hash, session_hash)| {
            use_login(db, link_hash, session_hash).boxed()
        });
        Ok(is_used.await?.then_some(session))
    }

    async fn start_session(&self, person: &PersonId) -> Result<Option<Token>> {
        let session = Token::random();
        let insert =
            sql("INSERT INTO sessions (hash, organization, created_at, expires_at, person, operator, id)
             SELECT $1, organization, docwright_now_ms(), docwright_now_ms() + $2, id, false, $3
             FROM people WHERE id = $4");
        let insert = insert.bind(session.hash()).bind(SESSION_LIFETIME.as_millis() as i64);
        let insert = insert.bind(SessionId::random().0).bind(&person.0);
        Ok((self.execute(insert).await? > 0).then_some(session))
    }

    async fn assign_session_to_member(&self, session: &Token, person: &PersonId) -> Result<Option<Token>> {
        let new = Token::random();
        let update = sql("UPDATE sessions SET hash = $1, person = $2
             WHERE hash = $3 AND expires_at > docwright_now_ms()
               AND organization = (SELECT organization FROM people WHERE id = $2)");
        let update = update.bind(new.hash()).bind(&person.0).bind(session.hash());
        Ok((self.execute(update).await? > 0).then_some(new))
    }

    async fn session(&self, session: &Token) -> Result<Option<Session>> {
        let find = sql("SELECT sessions.organization AS session_organization, operator AS is_operator,
               sessions.name AS link_name, people.id, people.organization, people.name, people.role,
               people.created_at
             FROM sessions LEFT JOIN people ON people.id = person
             WHERE hash = $1 AND expires_at > docwright_now_ms()");
        self.optional(find.bind(session.hash())).await
    }

    async fn end_session(&self, session: &Token) -> Result<()> {
        self.execute(sql("DELETE FROM sessions WHERE hash = $1").bind(session.hash())).await?;
        self.notify_events();
        Ok(())
    }

    async fn end_sessions(&self, of: &Session) -> Result<()> {
        let delete = sql("DELETE FROM sessions WHERE organization = $1 AND person IS NOT DISTINCT FROM $2");
        let person = of.person.as_ref().map(|person| &person.id.0);
        self.execute(delete.bind(&of.organization.0).bind(person)).await?;
        self.notify_events();
        Ok(())
    }

    async fn link_sessions(&self, organization: Option<&OrganizationId>) -> Result<Vec<LinkSession>> {
        let select =
            sql("SELECT sessions.id, sessions.organization, sessions.name, sessions.created_at, expires_at,
               people.name AS member
             FROM sessions LEFT JOIN people ON people.id = person
             WHERE operator AND ($1 IS NULL OR sessions.organization = $1) AND expires_at > docwright_now_ms()
             ORDER BY sessions.created_at, sessions.id");
        self.all(select.bind(organization.map(|o| &o.0))).await
    }

    async fn end_link_session(
        &self,
        organization: &OrganizationId,
        id: &SessionId,
    ) -> Result<Option<LinkSession>> {
        let delete = sql("DELETE FROM sessions
             WHERE operator AND organization = $1 AND id = $2 AND expires_at > docwright_now_ms()
             RETURNING id, organization, name, created_at, expires_at,
               (SELECT people.name FROM people WHERE people.id = person) AS member");
        let ended = self.returning(delete.bind(&organization.0).bind(&id.0)).await?;
        self.notify_events();
        ended.as_ref().map(LinkSession::from_row).transpose()
    }

    async fn has_live_session(&self) -> Result<bool> {
        let live = sql("SELECT id FROM sessions WHERE expires_at > docwright_now_ms() LIMIT 1");
        Ok(self.row(live).await?.is_some())
    }
}

/// Trades a link for a session, and deletes expired links and sessions: there are never many. SQLite has no
/// `FOR UPDATE`: see [`super::query`].
async fn use_login(db: &mut Connection<'_>, link_hash: &Vec<u8>, session_hash: &Vec<u8>) -> Result<bool> {
    let take = sql("DELETE FROM login_links WHERE hash = $1 AND expires_at > docwright_now_ms()
         RETURNING organization, name");
    let Some(row) = db.row(take.bind(link_hash)).await? else { return Ok(false) };
    let insert = sql("INSERT INTO sessions (hash, organization, created_at, expires_at, id, name)
         VALUES ($1, $2, docwright_now_ms(), docwright_now_ms() + $3, $4, $5)")
    .bind(session_hash)
    .bind(row.get::<String>("organization")?)
    .bind(SESSION_LIFETIME.as_millis() as i64)
    .bind(SessionId::random().0)
    .bind(row.get::<Option<String>>("name")?);
    db.execute(insert).await?;
    for delete in [
        "DELETE FROM login_links WHERE hash IN (SELECT hash FROM login_links
           WHERE expires_at <= docwright_now_ms() FOR UPDATE SKIP LOCKED)",
        "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions
           WHERE expires_at <= docwright_now_ms() FOR UPDATE SKIP LOCKED)",
    ] {
        db.execute(sql(delete)).await?;
    }
    Ok(true)
}

impl FromRow for Session {
    fn from_row(row: &Row) -> Result<Self> {
        let has_person = row.get::<Option<&str>>("id")?.is_some();
        Ok(Self {
            organization: OrganizationId(row.get("session_organization")?),
            person: has_person.then(|| Person::from_row(row)).transpose()?,
            operator: row.get("is_operator")?,
            name: row.get("link_name")?,
        })
    }
}

impl FromRow for LinkSession {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: SessionId(row.get("id")?),
            organization: OrganizationId(row.get("organization")?),
            name: row.get("name")?,
            member: row.get("member")?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
        })
    }
}
