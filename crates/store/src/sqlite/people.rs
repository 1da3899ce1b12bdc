use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::{SqliteStore, time};
use crate::kept::damaged;
use crate::people::INVITE;
use crate::{
    Deed, Invite, InviteId, NewDeed, NewInvite, NewPerson, OrganizationId, PasswordHash, People, Person,
    PersonId, Removal, Result, Role, StoreError, Token,
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

    async fn person_named(&self, name: &str) -> Result<Option<(Person, PasswordHash)>> {
        let find = sqlx::query("SELECT * FROM people WHERE name = ?").bind(name);
        let row = find.fetch_optional(self.db.reads()).await?;
        row.map(|row| Ok((person(&row)?, PasswordHash(row.try_get("password")?)))).transpose()
    }

    async fn set_password(&self, id: &PersonId, password: &PasswordHash) -> Result<bool> {
        let (id, password) = (id.0.clone(), password.0.clone());
        let is_set = self.db.write(move |db| set_password(db, id, password).boxed()).await?;
        self.news.notify_waiters();
        Ok(is_set)
    }

    async fn remove_person(&self, organization: &OrganizationId, id: &PersonId) -> Result<Removal> {
        let (organization, id) = (organization.0.clone(), id.0.clone());
        let removal = self.db.write(move |db| remove(db, organization, id).boxed()).await?;
        self.news.notify_waiters();
        Ok(removal)
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

async fn remove(db: &mut SqliteConnection, organization: String, id: String) -> Result<Removal> {
    let owners = sqlx::query_scalar("SELECT id FROM people WHERE organization = ? AND role = 'owner'");
    let owners: Vec<String> = owners.bind(&organization).fetch_all(&mut *db).await?;
    if owners == std::slice::from_ref(&id) {
        return Ok(Removal::LastOwner);
    }
    let delete =
        sqlx::query("DELETE FROM people WHERE organization = ? AND id = ?").bind(&organization).bind(id);
    if delete.execute(&mut *db).await?.rows_affected() == 0 {
        return Ok(Removal::NoSuchPerson);
    }
    sqlx::query("DELETE FROM invites WHERE organization = ?").bind(organization).execute(db).await?;
    Ok(Removal::Done)
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
