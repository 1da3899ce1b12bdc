use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::{PostgresStore, number, text, time, write};
use crate::kept::damaged;
use crate::people::INVITE;
use crate::{
    Deed, Invite, InviteId, NewDeed, NewInvite, NewPerson, OrganizationId, PasswordHash, People, Person,
    PersonId, Removal, Result, Role, StoreError, Token,
};

#[async_trait]
impl People for PostgresStore {
    async fn create_person(&self, new: &NewPerson) -> Result<Person> {
        write(|| async {
            let mut tx = self.begin().await?;
            let made = insert(&mut tx, new).await?;
            tx.commit().await?;
            Ok(made)
        })
        .await
    }

    async fn people(&self, organization: Option<&OrganizationId>) -> Result<Vec<Person>> {
        let select = "SELECT * FROM people WHERE $1::text IS NULL OR organization = $1 ORDER BY name";
        let rows = self.rows(sqlx::query(select).bind(organization.map(|o| &o.0))).await?;
        rows.iter().map(person).collect()
    }

    async fn person_named(&self, name: &str) -> Result<Option<(Person, PasswordHash)>> {
        let row = self.row(sqlx::query("SELECT * FROM people WHERE name = $1").bind(text(name))).await?;
        row.map(|row| Ok((person(&row)?, PasswordHash(row.try_get("password")?)))).transpose()
    }

    async fn set_password(&self, id: &PersonId, password: &PasswordHash) -> Result<bool> {
        write(|| async {
            let mut tx = self.begin().await?;
            let update = sqlx::query("UPDATE people SET password = $1 WHERE id = $2");
            let update = update.bind(&password.0).bind(&id.0).execute(&mut *tx).await?;
            let end = sqlx::query("DELETE FROM sessions WHERE person = $1").bind(&id.0);
            end.execute(&mut *tx).await?;
            tx.commit().await?;
            self.bells.news();
            Ok(update.rows_affected() > 0)
        })
        .await
    }

    async fn remove_person(&self, organization: &OrganizationId, id: &PersonId) -> Result<Removal> {
        let removal = write(|| self.remove(organization, id)).await?;
        self.bells.news();
        Ok(removal)
    }

    async fn create_invite(&self, new: &NewInvite) -> Result<Token> {
        let link = Token::random();
        let insert = "INSERT INTO invites (hash, organization, role, expires_at, id, creator)
            VALUES ($1, $2, $3, docwright_now_ms() + $4, $5, $6)";
        let insert = sqlx::query(insert)
            .bind(link.hash())
            .bind(&new.organization.0)
            .bind(new.role.as_str())
            .bind(INVITE.as_millis() as i64)
            .bind(InviteId::random().0)
            .bind(text(&new.creator));
        self.execute(insert).await?;
        Ok(link)
    }

    async fn invites(&self, organization: Option<&OrganizationId>) -> Result<Vec<Invite>> {
        let select = "SELECT * FROM invites WHERE ($1::text IS NULL OR organization = $1)
            AND expires_at > docwright_now_ms() ORDER BY expires_at, id";
        let rows = self.rows(sqlx::query(select).bind(organization.map(|o| &o.0))).await?;
        rows.iter().map(invite).collect()
    }

    async fn withdraw_invite(&self, organization: &OrganizationId, id: &InviteId) -> Result<Option<Invite>> {
        let delete = sqlx::query(
            "DELETE FROM invites WHERE organization = $1 AND id = $2 AND expires_at > docwright_now_ms()
            RETURNING *",
        );
        let gone = self.row(delete.bind(&organization.0).bind(text(&id.0))).await?;
        gone.as_ref().map(invite).transpose()
    }

    async fn invite(&self, link: &Token) -> Result<Option<Invite>> {
        let find = sqlx::query("SELECT * FROM invites WHERE hash = $1 AND expires_at > docwright_now_ms()");
        self.row(find.bind(link.hash())).await?.as_ref().map(invite).transpose()
    }

    async fn accept_invite(
        &self,
        link: &Token,
        name: &str,
        password: &PasswordHash,
    ) -> Result<Option<Person>> {
        write(|| self.accept(link, name, password)).await
    }

    async fn note_deed(&self, deed: &NewDeed) -> Result<()> {
        let insert = sqlx::query(
            "INSERT INTO deeds (organization, at, who, what, about)
             VALUES ($1, docwright_now_ms(), $2, $3, $4)",
        )
        .bind(&deed.organization.0)
        .bind(text(&deed.who))
        .bind(text(&deed.what))
        .bind(text(&deed.about));
        self.execute(insert).await.map(|_| ())
    }

    async fn deeds(
        &self,
        organization: &OrganizationId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<Deed>> {
        let select =
            "SELECT * FROM deeds WHERE organization = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let before = before.and_then(|number| i64::try_from(number).ok()).unwrap_or(i64::MAX);
        let rows = sqlx::query(select).bind(&organization.0).bind(before).bind(i64::from(limit));
        self.rows(rows).await?.iter().map(deed).collect()
    }
}

impl PostgresStore {
    /// Who waits for the lock of an owner's row finds it gone if that one was removed meanwhile.
    async fn remove(&self, organization: &OrganizationId, id: &PersonId) -> Result<Removal> {
        let (mut tx, id) = (self.begin().await?, text(&id.0));
        let lock = "SELECT id FROM people WHERE organization = $1 AND role = 'owner' ORDER BY id FOR UPDATE";
        let owners: Vec<String> = sqlx::query_scalar(lock).bind(&organization.0).fetch_all(&mut *tx).await?;
        if matches!(&owners[..], [last] if *last == id) {
            return Ok(Removal::LastOwner);
        }
        let delete = sqlx::query("DELETE FROM people WHERE organization = $1 AND id = $2");
        let gone = delete.bind(&organization.0).bind(id).execute(&mut *tx).await?;
        if gone.rows_affected() == 0 {
            return Ok(Removal::NoSuchPerson);
        }
        let void = sqlx::query("DELETE FROM invites WHERE organization = $1").bind(&organization.0);
        void.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Removal::Done)
    }

    /// What is too old is swept on the way: there is never much of it.
    async fn accept(&self, link: &Token, name: &str, password: &PasswordHash) -> Result<Option<Person>> {
        let mut tx = self.begin().await?;
        let take = sqlx::query(
            "DELETE FROM invites WHERE hash = $1 AND expires_at > docwright_now_ms() RETURNING *",
        );
        let row = take.bind(link.hash()).fetch_optional(&mut *tx).await?;
        let Some(row) = row else { return Ok(None) };
        let Invite { organization, role, .. } = invite(&row)?;
        let new = NewPerson { organization, name: name.to_owned(), role, password: password.clone() };
        let made = insert(&mut tx, &new).await?;
        let sweep = "DELETE FROM invites WHERE hash IN (SELECT hash FROM invites
            WHERE expires_at <= docwright_now_ms() FOR UPDATE SKIP LOCKED)";
        sqlx::query(sweep).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Some(made))
    }
}

async fn insert(db: &mut PgConnection, new: &NewPerson) -> Result<Person> {
    let insert = "INSERT INTO people (id, organization, name, role, password, created_at)
        VALUES ($1, $2, $3, $4, $5, docwright_now_ms()) ON CONFLICT DO NOTHING RETURNING *";
    let row = sqlx::query(insert)
        .bind(PersonId::random().0)
        .bind(&new.organization.0)
        .bind(text(&new.name))
        .bind(new.role.as_str())
        .bind(&new.password.0)
        .fetch_optional(db)
        .await?;
    row.as_ref()
        .map(person)
        .unwrap_or_else(|| Err(StoreError::Taken(format!("{} has an account already", new.name))))
}

fn role(row: &PgRow) -> Result<Role> {
    row.try_get::<&str, _>("role")?.parse().map_err(|_| damaged("a role"))
}

fn invite(row: &PgRow) -> Result<Invite> {
    Ok(Invite {
        id: InviteId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        role: role(row)?,
        creator: row.try_get("creator")?,
        expires_at: time(row, "expires_at")?,
    })
}

pub(super) fn person(row: &PgRow) -> Result<Person> {
    Ok(Person {
        id: PersonId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        name: row.try_get("name")?,
        role: role(row)?,
        created_at: time(row, "created_at")?,
    })
}

fn deed(row: &PgRow) -> Result<Deed> {
    Ok(Deed {
        number: number(row, "number")?,
        at: time(row, "at")?,
        who: row.try_get("who")?,
        what: row.try_get("what")?,
        about: row.try_get("about")?,
    })
}
