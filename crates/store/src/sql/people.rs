//! Members of organizations.

use async_trait::async_trait;
use futures_util::FutureExt;

use super::{Backend, Connection, FromRow, Row, audit, invites, sql};
use crate::people::MAX_NETWORKS;
use crate::{
    AuditEntry, Invite, InviteId, KeyRef, MemberKeys, NewAuditEntry, NewInvite, NewPerson, OrganizationId,
    PasswordHash, People, Person, PersonId, Removal, Result, StoreError, Token,
};

#[async_trait]
impl<B: Backend> People for B {
    async fn create_person(&self, new: &NewPerson) -> Result<Person> {
        self.transaction(new.clone(), |db, new| insert(db, new).boxed()).await
    }

    async fn people(&self, organization: Option<&OrganizationId>) -> Result<Vec<Person>> {
        let select = sql("SELECT id, organization, name, role, created_at FROM people
             WHERE $1 IS NULL OR organization = $1 ORDER BY name");
        self.all(select.bind(organization.map(|o| &o.0))).await
    }

    async fn people_named(&self, name: &str) -> Result<Vec<(Person, PasswordHash)>> {
        let find = sql("SELECT id, organization, name, role, created_at, password FROM people
             WHERE name = $1 ORDER BY created_at, id");
        let rows = self.rows(find.bind(name)).await?;
        rows.iter().map(|row| Ok((Person::from_row(row)?, PasswordHash(row.get("password")?)))).collect()
    }

    async fn set_password(&self, id: &PersonId, password: &PasswordHash) -> Result<bool> {
        let update = sql("UPDATE people SET password = $1 WHERE id = $2").bind(&password.0).bind(&id.0);
        let end = sql("DELETE FROM sessions WHERE person = $1").bind(&id.0);
        let is_set = self.transaction((update, end), |db, (update, end)| {
            async move {
                let is_known = db.execute(update.clone()).await? > 0;
                db.execute(end.clone()).await?;
                Ok(is_known)
            }
            .boxed()
        });
        let is_set = is_set.await?;
        self.notify_events();
        Ok(is_set)
    }

    async fn remove_person(
        &self,
        organization: &OrganizationId,
        id: &PersonId,
        keys: &MemberKeys,
    ) -> Result<(Removal, Vec<KeyRef>)> {
        let input = (organization.clone(), id.clone(), keys.clone());
        let removal = self
            .transaction(input, |db, (organization, id, keys)| remove(db, organization, id, keys).boxed());
        let removal = removal.await?;
        self.notify_events();
        Ok(removal)
    }

    async fn note_network(&self, person: &PersonId, network: &str) -> Result<()> {
        let insert = sql("INSERT INTO sign_in_networks (person, network, at)
             SELECT id, $1, docwright_now_ms() FROM people WHERE id = $2
             ON CONFLICT (person, network) DO UPDATE SET at = excluded.at");
        let forget = sql("DELETE FROM sign_in_networks WHERE person = $1 AND network NOT IN
             (SELECT network FROM sign_in_networks WHERE person = $1 ORDER BY at DESC, network LIMIT $2)");
        let insert = insert.bind(network).bind(&person.0);
        let forget = forget.bind(&person.0).bind(MAX_NETWORKS);
        self.transaction((insert, forget), |db, (insert, forget)| {
            async move {
                db.execute(insert.clone()).await?;
                db.execute(forget.clone()).await.map(drop)
            }
            .boxed()
        })
        .await
    }

    async fn accounts_seen_from(&self, name: &str, network: &str) -> Result<Vec<PersonId>> {
        let select = sql("SELECT id FROM people JOIN sign_in_networks ON person = id
             WHERE name = $1 AND network = $2");
        let rows = self.rows(select.bind(name).bind(network)).await?;
        rows.iter().map(|row| Ok(PersonId(row.get("id")?))).collect()
    }

    async fn create_invite(&self, new: &NewInvite) -> Result<Token> {
        invites::create(self, new).await
    }

    async fn invites(&self, organization: Option<&OrganizationId>) -> Result<Vec<Invite>> {
        invites::list(self, organization).await
    }

    async fn withdraw_invite(&self, organization: &OrganizationId, id: &InviteId) -> Result<Option<Invite>> {
        invites::withdraw(self, organization, id).await
    }

    async fn invite(&self, link: &Token) -> Result<Option<Invite>> {
        invites::find(self, link).await
    }

    async fn accept_invite(
        &self,
        link: &Token,
        name: &str,
        password: &PasswordHash,
    ) -> Result<Option<Person>> {
        let input = (link.hash(), name.to_owned(), password.clone());
        self.transaction(input, |db, (link, name, password)| {
            invites::accept(db, link, name, password).boxed()
        })
        .await
    }

    async fn record_audit(&self, entry: &NewAuditEntry) -> Result<()> {
        audit::record(self, entry).await
    }

    async fn audit_log(
        &self,
        organization: &OrganizationId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>> {
        audit::list(self, organization, before, limit).await
    }
}

pub(super) async fn insert(db: &mut Connection<'_>, new: &NewPerson) -> Result<Person> {
    let insert = sql("INSERT INTO people (id, organization, name, role, password, created_at)
         VALUES ($1, $2, $3, $4, $5, docwright_now_ms()) ON CONFLICT DO NOTHING
         RETURNING id, organization, name, role, created_at")
    .bind(PersonId::random().0)
    .bind(&new.organization.0)
    .bind(&new.name)
    .bind(new.role.as_str())
    .bind(&new.password.0);
    let person = db.optional(insert).await?;
    person.ok_or_else(|| StoreError::Taken(format!("{} has an account already", new.name)))
}

/// Of two owners who remove each other, the second waits for the locks and then finds one owner left. A key that the
/// member is creating is either found here or refused: its writer locks the same row.
async fn remove(
    db: &mut Connection<'_>,
    organization: &OrganizationId,
    id: &PersonId,
    keys: &MemberKeys,
) -> Result<(Removal, Vec<KeyRef>)> {
    let lock = sql("SELECT id, organization, name, role, created_at FROM people
         WHERE organization = $1 AND (role = 'owner' OR id = $2) ORDER BY id FOR UPDATE");
    let people: Vec<Person> = db.all(lock.bind(&organization.0).bind(&id.0)).await?;
    if let Some(refusal) = Removal::refusal(&people, &id.0, keys) {
        return Ok((refusal, Vec::new()));
    }
    let delete = sql("DELETE FROM people WHERE organization = $1 AND id = $2 RETURNING name");
    let Some(row) = db.row(delete.bind(&organization.0).bind(&id.0)).await? else {
        return Ok((Removal::NoSuchPerson, Vec::new()));
    };
    db.execute(sql("DELETE FROM invites WHERE organization = $1").bind(&organization.0)).await?;
    let keys = end_keys(db, organization, row.get("name")?, keys).await?;
    Ok((Removal::Done, keys))
}

/// Revokes a removed member's keys, or gives them to another owner. Answers those that worked until now.
async fn end_keys(
    db: &mut Connection<'_>,
    organization: &OrganizationId,
    name: &str,
    keys: &MemberKeys,
) -> Result<Vec<KeyRef>> {
    let live =
        sql("SELECT name, hint FROM keys WHERE organization = $1 AND creator = $2 AND revoked_at IS NULL
           AND (expires_at IS NULL OR expires_at > docwright_now_ms()) ORDER BY created_at, id");
    let live = db.rows(live.bind(&organization.0).bind(name)).await?;
    let end = match keys {
        MemberKeys::Revoke => sql("UPDATE keys SET revoked_at = docwright_now_ms()
             WHERE organization = $1 AND creator = $2 AND revoked_at IS NULL")
        .bind(&organization.0)
        .bind(name),
        MemberKeys::TakeOver { owner } => sql("UPDATE keys SET creator = $3
             WHERE organization = $1 AND creator = $2 AND revoked_at IS NULL")
        .bind(&organization.0)
        .bind(name)
        .bind(owner),
    };
    db.execute(end).await?;
    live.iter().map(|row| Ok(KeyRef { name: row.get("name")?, prefix: row.get("hint")? })).collect()
}

impl FromRow for Person {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: PersonId(row.get("id")?),
            organization: OrganizationId(row.get("organization")?),
            name: row.get("name")?,
            role: row.parse("role", "a role")?,
            created_at: row.time("created_at")?,
        })
    }
}
