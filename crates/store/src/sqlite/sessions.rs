use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::people::person;
use super::{SqliteStore, time};
use crate::account::{LOGIN_LINK, SESSION};
use crate::{LinkSession, OrganizationId, PersonId, Result, Session, SessionId, Sessions, StoreError, Token};

#[async_trait]
impl Sessions for SqliteStore {
    async fn create_named_login(&self, organization: &OrganizationId, name: &str) -> Result<Token> {
        let link = Token::random();
        let insert = "INSERT INTO login_links (hash, organization, expires_at, name) VALUES (?, ?, ?, ?)";
        let insert = sqlx::query(insert)
            .bind(link.hash())
            .bind(organization.0.clone())
            .bind(self.clock.now_ms() + LOGIN_LINK.as_millis() as i64)
            .bind(name.to_owned());
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

    async fn start_session(&self, person: &PersonId) -> Result<Option<Token>> {
        let (session, now) = (Token::random(), self.clock.now_ms());
        let insert = "INSERT INTO sessions (hash, organization, created_at, expires_at, person, operator, id)
            SELECT ?, organization, ?, ?, id, 0, ? FROM people WHERE id = ?";
        let insert = sqlx::query(insert)
            .bind(session.hash())
            .bind(now)
            .bind(now + SESSION.as_millis() as i64)
            .bind(SessionId::random().0)
            .bind(person.0.clone());
        Ok((self.execute(insert).await? > 0).then_some(session))
    }

    async fn hand_over(&self, session: &Token, person: &PersonId) -> Result<Option<Token>> {
        let new = Token::random();
        let update = "UPDATE sessions SET hash = ?1, person = ?2 WHERE hash = ?3 AND expires_at > ?4
            AND organization = (SELECT organization FROM people WHERE id = ?2)";
        let update = sqlx::query(update)
            .bind(new.hash())
            .bind(person.0.clone())
            .bind(session.hash())
            .bind(self.clock.now_ms());
        Ok((self.execute(update).await? > 0).then_some(new))
    }

    async fn session(&self, session: &Token) -> Result<Option<Session>> {
        let find = "SELECT sessions.organization AS signed_in, operator, sessions.name AS link, people.* FROM sessions
            LEFT JOIN people ON people.id = person WHERE hash = ? AND expires_at > ?";
        let find = sqlx::query(find).bind(session.hash()).bind(self.clock.now_ms());
        let Some(row) = find.fetch_optional(self.db.reads()).await? else { return Ok(None) };
        let is_somebodys = row.try_get::<Option<&str>, _>("id")?.is_some();
        Ok(Some(Session {
            organization: OrganizationId(row.try_get("signed_in")?),
            person: is_somebodys.then(|| person(&row)).transpose()?,
            operator: row.try_get("operator")?,
            name: row.try_get("link")?,
        }))
    }

    async fn end_session(&self, session: &Token) -> Result<()> {
        let delete = sqlx::query("DELETE FROM sessions WHERE hash = ?").bind(session.hash());
        self.execute(delete).await?;
        self.news.notify_waiters();
        Ok(())
    }

    async fn end_sessions(&self, of: &Session) -> Result<()> {
        let delete = sqlx::query("DELETE FROM sessions WHERE organization = ? AND person IS ?")
            .bind(of.organization.0.clone())
            .bind(of.person.as_ref().map(|person| person.id.0.clone()));
        self.execute(delete).await?;
        self.news.notify_waiters();
        Ok(())
    }

    async fn link_sessions(&self, organization: Option<&OrganizationId>) -> Result<Vec<LinkSession>> {
        let select = "SELECT sessions.*, people.name AS member FROM sessions
            LEFT JOIN people ON people.id = person
            WHERE operator AND (?1 IS NULL OR sessions.organization = ?1) AND expires_at > ?2
            ORDER BY sessions.created_at, sessions.id";
        let rows = sqlx::query(select).bind(organization.map(|o| &o.0)).bind(self.clock.now_ms());
        rows.fetch_all(self.db.reads()).await?.iter().map(link_session).collect()
    }

    async fn end_link_session(
        &self,
        organization: &OrganizationId,
        id: &SessionId,
    ) -> Result<Option<LinkSession>> {
        let (organization, id, now) = (organization.0.clone(), id.0.clone(), self.clock.now_ms());
        let delete = "DELETE FROM sessions WHERE operator AND organization = ? AND id = ? AND expires_at > ?
            RETURNING *, (SELECT name FROM people WHERE people.id = person) AS member";
        let delete = sqlx::query(delete).bind(organization).bind(id).bind(now);
        let gone = self
            .db
            .write(|db| async move { Ok::<_, StoreError>(delete.fetch_optional(db).await?) }.boxed())
            .await?;
        self.news.notify_waiters();
        gone.as_ref().map(link_session).transpose()
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
    let used = sqlx::query("DELETE FROM login_links WHERE hash = ? RETURNING organization, name").bind(link);
    let Some(used) = used.fetch_optional(&mut *db).await? else { return Ok(false) };
    let insert = "INSERT INTO sessions (hash, organization, created_at, expires_at, id, name)
        VALUES (?, ?, ?, ?, ?, ?)";
    sqlx::query(insert)
        .bind(session)
        .bind(used.try_get::<String, _>("organization")?)
        .bind(now)
        .bind(now + SESSION.as_millis() as i64)
        .bind(SessionId::random().0)
        .bind(used.try_get::<Option<String>, _>("name")?)
        .execute(db)
        .await?;
    Ok(true)
}

fn link_session(row: &SqliteRow) -> Result<LinkSession> {
    Ok(LinkSession {
        id: SessionId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        name: row.try_get("name")?,
        member: row.try_get("member")?,
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
    })
}
