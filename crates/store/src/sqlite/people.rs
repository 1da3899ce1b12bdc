use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::{SqliteStore, time};
use crate::kept::damaged;
use crate::people::{INVITE, MAX_NETWORKS};
use crate::{
    Actor, Deed, Invite, InviteId, JobId, KeyRef, MemberKeys, NewDeed, NewInvite, NewPerson, OrganizationId,
    PasswordHash, People, Person, PersonId, ProjectId, Removal, Result, Role, StoreError, Token,
};

#[async_trait]
impl People for SqliteStore {
    async fn create_person(&self, new: &NewPerson) -> Result<Person> {
        let (new, now) = (new.clone(), self.clock.now_ms());
        self.db.write(move |db| async move { insert(db, &new, now).await }.boxed()).await
    }

    async fn people(&self, organization: Option<&OrganizationId>) -> Result<Vec<Person>> {
        let select = "SELECT * FROM people WHERE ?1 IS NULL OR organization = ?1 ORDER BY name";
        let rows = sqlx::query(select).bind(organization.map(|o| &o.0)).fetch_all(self.db.reads()).await?;
        rows.iter().map(person).collect()
    }

    async fn people_named(&self, name: &str) -> Result<Vec<(Person, PasswordHash)>> {
        let find = sqlx::query("SELECT * FROM people WHERE name = ? ORDER BY created_at, id").bind(name);
        let rows = find.fetch_all(self.db.reads()).await?;
        rows.iter().map(|row| Ok((person(row)?, PasswordHash(row.try_get("password")?)))).collect()
    }

    async fn set_password(&self, id: &PersonId, password: &PasswordHash) -> Result<bool> {
        let (id, password) = (id.0.clone(), password.0.clone());
        let is_set = self.db.write(move |db| set_password(db, id, password).boxed()).await?;
        self.news.notify_waiters();
        Ok(is_set)
    }

    async fn remove_person(
        &self,
        organization: &OrganizationId,
        id: &PersonId,
        keys: &MemberKeys,
    ) -> Result<(Removal, Vec<KeyRef>)> {
        let (organization, id, keys) = (organization.0.clone(), id.0.clone(), keys.clone());
        let now = self.clock.now_ms();
        let removed = self.db.write(move |db| remove(db, organization, id, keys, now).boxed()).await?;
        self.news.notify_waiters();
        Ok(removed)
    }

    async fn note_network(&self, person: &PersonId, network: &str) -> Result<()> {
        let (person, network, now) = (person.0.clone(), network.to_owned(), self.clock.now_ms());
        self.db.write(move |db| note_network(db, person, network, now).boxed()).await
    }

    async fn accounts_seen_from(&self, name: &str, network: &str) -> Result<Vec<PersonId>> {
        let select = "SELECT id FROM people JOIN sign_in_networks ON person = id
            WHERE name = ? AND network = ?";
        let ids: Vec<String> =
            sqlx::query_scalar(select).bind(name).bind(network).fetch_all(self.db.reads()).await?;
        Ok(ids.into_iter().map(PersonId).collect())
    }

    async fn create_invite(&self, new: &NewInvite) -> Result<Token> {
        let (link, new) = (Token::random(), new.clone());
        let insert = "INSERT INTO invites (hash, organization, role, expires_at, id, creator)
            VALUES (?, ?, ?, ?, ?, ?)";
        let insert = sqlx::query(insert)
            .bind(link.hash())
            .bind(new.organization.0)
            .bind(new.role.as_str())
            .bind(self.clock.now_ms() + INVITE.as_millis() as i64)
            .bind(InviteId::random().0)
            .bind(new.creator);
        self.execute(insert).await?;
        Ok(link)
    }

    async fn invites(&self, organization: Option<&OrganizationId>) -> Result<Vec<Invite>> {
        let select = "SELECT * FROM invites WHERE (?1 IS NULL OR organization = ?1) AND expires_at > ?2
            ORDER BY expires_at, id";
        let rows = sqlx::query(select).bind(organization.map(|o| &o.0)).bind(self.clock.now_ms());
        rows.fetch_all(self.db.reads()).await?.iter().map(invite).collect()
    }

    async fn withdraw_invite(&self, organization: &OrganizationId, id: &InviteId) -> Result<Option<Invite>> {
        let (organization, id, now) = (organization.0.clone(), id.0.clone(), self.clock.now_ms());
        self.db.write(move |db| withdraw(db, organization, id, now).boxed()).await
    }

    async fn invite(&self, link: &Token) -> Result<Option<Invite>> {
        let find = sqlx::query("SELECT * FROM invites WHERE hash = ? AND expires_at > ?");
        let find = find.bind(link.hash()).bind(self.clock.now_ms());
        find.fetch_optional(self.db.reads()).await?.as_ref().map(invite).transpose()
    }

    async fn accept_invite(
        &self,
        link: &Token,
        name: &str,
        password: &PasswordHash,
    ) -> Result<Option<Person>> {
        let (link, now) = (link.hash(), self.clock.now_ms());
        let (name, password) = (name.to_owned(), password.clone());
        self.db.write(move |db| accept(db, link, name, password, now).boxed()).await
    }

    async fn note_deed(&self, deed: &NewDeed) -> Result<()> {
        let deed = deed.clone();
        let insert =
            sqlx::query("INSERT INTO deeds (organization, at, who, what, about) VALUES (?, ?, ?, ?, ?)")
                .bind(deed.organization.0)
                .bind(self.clock.now_ms())
                .bind(deed.who)
                .bind(deed.what)
                .bind(deed.about);
        self.execute(insert).await.map(|_| ())
    }

    async fn deeds(
        &self,
        organization: &OrganizationId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<Deed>> {
        let select = "SELECT * FROM deeds WHERE organization = ? AND number < ? ORDER BY number DESC LIMIT ?";
        let before = before.and_then(|number| i64::try_from(number).ok()).unwrap_or(i64::MAX);
        let rows = sqlx::query(select).bind(&organization.0).bind(before).bind(limit);
        rows.fetch_all(self.db.reads()).await?.iter().map(deed).collect()
    }
}

async fn insert(db: &mut SqliteConnection, new: &NewPerson, now: i64) -> Result<Person> {
    let insert = "INSERT INTO people (id, organization, name, role, password, created_at)
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *";
    let row = sqlx::query(insert)
        .bind(PersonId::random().0)
        .bind(&new.organization.0)
        .bind(&new.name)
        .bind(new.role.as_str())
        .bind(&new.password.0)
        .bind(now)
        .fetch_optional(db)
        .await?;
    row.as_ref()
        .map(person)
        .unwrap_or_else(|| Err(StoreError::Taken(format!("{} has an account already", new.name))))
}

async fn set_password(db: &mut SqliteConnection, id: String, password: String) -> Result<bool> {
    let update = sqlx::query("UPDATE people SET password = ? WHERE id = ?").bind(password).bind(&id);
    let known = update.execute(&mut *db).await?.rows_affected() > 0;
    sqlx::query("DELETE FROM sessions WHERE person = ?").bind(&id).execute(db).await?;
    Ok(known)
}

async fn remove(
    db: &mut SqliteConnection,
    organization: String,
    id: String,
    keys: MemberKeys,
    now: i64,
) -> Result<(Removal, Vec<KeyRef>)> {
    let people = sqlx::query("SELECT * FROM people WHERE organization = ?").bind(&organization);
    let people = people.fetch_all(&mut *db).await?.iter().map(person).collect::<Result<Vec<_>>>()?;
    if let Some(refusal) = Removal::refusal(&people, &id, &keys) {
        return Ok((refusal, Vec::new()));
    }
    let delete = "DELETE FROM people WHERE organization = ? AND id = ? RETURNING name";
    let name = sqlx::query_scalar(delete).bind(&organization).bind(id).fetch_optional(&mut *db).await?;
    let Some(name) = name else { return Ok((Removal::NoSuchPerson, Vec::new())) };
    let void = sqlx::query("DELETE FROM invites WHERE organization = ?").bind(&organization);
    void.execute(&mut *db).await?;
    Ok((Removal::Done, end_keys(db, (organization, name), keys, now).await?))
}

/// Revokes or hands over a removed member's keys; answers those that worked until now.
async fn end_keys(
    db: &mut SqliteConnection,
    (organization, name): (String, String),
    keys: MemberKeys,
    now: i64,
) -> Result<Vec<KeyRef>> {
    let live = "SELECT name, hint FROM keys WHERE organization = ? AND creator = ? AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > ?) ORDER BY created_at, id";
    let live = sqlx::query(live).bind(&organization).bind(&name).bind(now).fetch_all(&mut *db).await?;
    let end = match keys {
        MemberKeys::Revoke => sqlx::query(
            "UPDATE keys SET revoked_at = ? WHERE organization = ? AND creator = ? AND revoked_at IS NULL",
        )
        .bind(now),
        MemberKeys::TakeOver { owner } => sqlx::query(
            "UPDATE keys SET creator = ? WHERE organization = ? AND creator = ? AND revoked_at IS NULL",
        )
        .bind(owner),
    };
    end.bind(organization).bind(name).execute(db).await?;
    live.iter().map(|row| Ok(KeyRef { name: row.try_get("name")?, prefix: row.try_get("hint")? })).collect()
}

async fn note_network(db: &mut SqliteConnection, person: String, network: String, now: i64) -> Result<()> {
    let note = "INSERT OR REPLACE INTO sign_in_networks SELECT id, ?, ? FROM people WHERE id = ?";
    sqlx::query(note).bind(network).bind(now).bind(&person).execute(&mut *db).await?;
    let forget = "DELETE FROM sign_in_networks WHERE person = ?1 AND network NOT IN
        (SELECT network FROM sign_in_networks WHERE person = ?1 ORDER BY at DESC, network LIMIT ?2)";
    sqlx::query(forget).bind(person).bind(MAX_NETWORKS).execute(db).await?;
    Ok(())
}

/// The audit log of the job's organization says who did this to it.
pub(super) async fn note_job(
    db: &mut SqliteConnection,
    (project, job): (&ProjectId, &JobId),
    actor: Option<&Actor>,
    what: &str,
    now: i64,
) -> Result<()> {
    let Some(actor) = actor else { return Ok(()) };
    let insert = "INSERT INTO deeds (organization, at, who, what, about)
        SELECT organization, ?, ?, ?, name || ' ' || ? FROM projects WHERE id = ?";
    let insert = sqlx::query(insert).bind(now).bind(actor.to_string()).bind(what);
    insert.bind(&job.0).bind(&project.0).execute(db).await?;
    Ok(())
}

async fn withdraw(
    db: &mut SqliteConnection,
    organization: String,
    id: String,
    now: i64,
) -> Result<Option<Invite>> {
    let delete = "DELETE FROM invites WHERE organization = ? AND id = ? AND expires_at > ? RETURNING *";
    let gone = sqlx::query(delete).bind(organization).bind(id).bind(now).fetch_optional(db).await?;
    gone.as_ref().map(invite).transpose()
}

/// What is too old is swept on the way: there is never much of it.
async fn accept(
    db: &mut SqliteConnection,
    link: Vec<u8>,
    name: String,
    password: PasswordHash,
    now: i64,
) -> Result<Option<Person>> {
    sqlx::query("DELETE FROM invites WHERE expires_at <= ?").bind(now).execute(&mut *db).await?;
    let row = sqlx::query("DELETE FROM invites WHERE hash = ? RETURNING *").bind(link);
    let Some(row) = row.fetch_optional(&mut *db).await? else { return Ok(None) };
    let Invite { organization, role, .. } = invite(&row)?;
    insert(db, &NewPerson { organization, name, role, password }, now).await.map(Some)
}

fn role(row: &SqliteRow) -> Result<Role> {
    row.try_get::<&str, _>("role")?.parse().map_err(|_| damaged("a role"))
}

fn invite(row: &SqliteRow) -> Result<Invite> {
    Ok(Invite {
        id: InviteId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        role: role(row)?,
        creator: row.try_get("creator")?,
        expires_at: time(row, "expires_at")?,
    })
}

pub(super) fn person(row: &SqliteRow) -> Result<Person> {
    Ok(Person {
        id: PersonId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        name: row.try_get("name")?,
        role: role(row)?,
        created_at: time(row, "created_at")?,
    })
}

fn deed(row: &SqliteRow) -> Result<Deed> {
    Ok(Deed {
        number: row.try_get::<i64, _>("number")?.try_into().map_err(|_| damaged("a number"))?,
        at: time(row, "at")?,
        who: row.try_get("who")?,
        what: row.try_get("what")?,
        about: row.try_get("about")?,
    })
}
