//! Invitations to an organization.

use super::{Backend, Connection, FromRow, Row, people, sql};
use crate::people::INVITE_LIFETIME;
use crate::{Invite, InviteId, NewInvite, NewPerson, OrganizationId, PasswordHash, Person, Result, Token};

pub(super) async fn create(store: &impl Backend, new: &NewInvite) -> Result<Token> {
    let link = Token::random();
    let insert = sql("INSERT INTO invites (hash, organization, role, expires_at, id, creator)
         VALUES ($1, $2, $3, docwright_now_ms() + $4, $5, $6)")
    .bind(link.hash())
    .bind(&new.organization.0)
    .bind(new.role.as_str())
    .bind(INVITE_LIFETIME.as_millis() as i64)
    .bind(InviteId::random().0)
    .bind(&new.creator);
    store.execute(insert).await?;
    Ok(link)
}

pub(super) async fn list(store: &impl Backend, organization: Option<&OrganizationId>) -> Result<Vec<Invite>> {
    let select = sql(
        "SELECT id, organization, role, creator, expires_at FROM invites
         WHERE ($1 IS NULL OR organization = $1) AND expires_at > docwright_now_ms() ORDER BY expires_at, id",
    );
    store.all(select.bind(organization.map(|o| &o.0))).await
}

pub(super) async fn withdraw(
    store: &impl Backend,
    organization: &OrganizationId,
    id: &InviteId,
) -> Result<Option<Invite>> {
    let delete =
        sql("DELETE FROM invites WHERE organization = $1 AND id = $2 AND expires_at > docwright_now_ms()
         RETURNING id, organization, role, creator, expires_at");
    let row = store.returning(delete.bind(&organization.0).bind(&id.0)).await?;
    row.as_ref().map(Invite::from_row).transpose()
}

pub(super) async fn find(store: &impl Backend, link: &Token) -> Result<Option<Invite>> {
    let find = sql("SELECT id, organization, role, creator, expires_at FROM invites
         WHERE hash = $1 AND expires_at > docwright_now_ms()");
    store.optional(find.bind(link.hash())).await
}

/// Also deletes expired invitations: there are never many. SQLite has no `FOR UPDATE`: see [`super::query`].
pub(super) async fn accept(
    db: &mut Connection<'_>,
    link_hash: &Vec<u8>,
    name: &str,
    password: &PasswordHash,
) -> Result<Option<Person>> {
    let take = sql("DELETE FROM invites WHERE hash = $1 AND expires_at > docwright_now_ms()
         RETURNING id, organization, role, creator, expires_at");
    let Some(invite) = db.optional::<Invite>(take.bind(link_hash)).await? else { return Ok(None) };
    let Invite { organization, role, .. } = invite;
    let new = NewPerson { organization, name: name.to_owned(), role, password: password.clone() };
    let person = people::insert(db, &new).await?;
    let expired = sql("DELETE FROM invites WHERE hash IN (SELECT hash FROM invites
         WHERE expires_at <= docwright_now_ms() FOR UPDATE SKIP LOCKED)");
    db.execute(expired).await?;
    Ok(Some(person))
}

impl FromRow for Invite {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: InviteId(row.get("id")?),
            organization: OrganizationId(row.get("organization")?),
            role: row.parse("role", "a role")?,
            creator: row.get("creator")?,
            expires_at: row.time("expires_at")?,
        })
    }
}
