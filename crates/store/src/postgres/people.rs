use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::{PostgresStore, number, text, time, write};
use crate::kept::damaged;
use crate::people::{INVITE, MAX_NETWORKS};
use crate::{
    Actor, Deed, Invite, InviteId, JobId, KeyRef, MemberKeys, NewDeed, NewInvite, NewPerson, OrganizationId,
    PasswordHash, People, Person, PersonId, ProjectId, Removal, Result, Role, StoreError, Token,
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

    async fn people_named(&self, name: &str) -> Result<Vec<(Person, PasswordHash)>> {
        let find = "SELECT * FROM people WHERE name = $1 ORDER BY created_at, id";
        let rows = self.rows(sqlx::query(find).bind(text(name))).await?;
        rows.iter().map(|row| Ok((person(row)?, PasswordHash(row.try_get("password")?)))).collect()
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

    async fn remove_person(
        &self,
        organization: &OrganizationId,
        id: &PersonId,
        keys: &MemberKeys,
    ) -> Result<(Removal, Vec<KeyRef>)> {
        let removed = write(|| self.remove(organization, id, keys)).await?;
        self.bells.news();
        Ok(removed)
    }

    async fn note_network(&self, person: &PersonId, network: &str) -> Result<()> {
        write(|| async {
            let mut tx = self.begin().await?;
            let note =
                "INSERT INTO sign_in_networks SELECT id, $1, docwright_now_ms() FROM people WHERE id = $2
                ON CONFLICT (person, network) DO UPDATE SET at = excluded.at";
            sqlx::query(note).bind(network).bind(&person.0).execute(&mut *tx).await?;
            let forget = "DELETE FROM sign_in_networks WHERE person = $1 AND network NOT IN
                (SELECT network FROM sign_in_networks WHERE person = $1 ORDER BY at DESC, network LIMIT $2)";
            sqlx::query(forget).bind(&person.0).bind(MAX_NETWORKS).execute(&mut *tx).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    async fn accounts_seen_from(&self, name: &str, network: &str) -> Result<Vec<PersonId>> {
        let select = "SELECT id FROM people JOIN sign_in_networks ON person = id
            WHERE name = $1 AND network = $2";
        let rows = self.rows(sqlx::query(select).bind(text(name)).bind(network)).await?;
        rows.iter().map(|row| Ok(PersonId(row.try_get("id")?))).collect()
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
    /// A key that the person is making at this moment is seen, or is refused: its writer locks the same row.
    async fn remove(
        &self,
        organization: &OrganizationId,
        id: &PersonId,
        keys: &MemberKeys,
    ) -> Result<(Removal, Vec<KeyRef>)> {
        let (mut tx, id) = (self.begin().await?, text(&id.0));
        let lock = "SELECT * FROM people WHERE organization = $1 AND (role = 'owner' OR id = $2)
            ORDER BY id FOR UPDATE";
        let people = sqlx::query(lock).bind(&organization.0).bind(&id).fetch_all(&mut *tx).await?;
        let people = people.iter().map(person).collect::<Result<Vec<_>>>()?;
        if let Some(refusal) = Removal::refusal(&people, &id, keys) {
            return Ok((refusal, Vec::new()));
        }
        let delete =
            sqlx::query_scalar("DELETE FROM people WHERE organization = $1 AND id = $2 RETURNING name");
        let name: String = delete.bind(&organization.0).bind(id).fetch_one(&mut *tx).await?;
        let void = sqlx::query("DELETE FROM invites WHERE organization = $1").bind(&organization.0);
        void.execute(&mut *tx).await?;
        let ended = end_keys(&mut tx, (organization, &name), keys).await?;
        tx.commit().await?;
        Ok((Removal::Done, ended))
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

/// Revokes or hands over a removed member's keys; answers those that worked until now.
async fn end_keys(
    db: &mut PgConnection,
    (organization, name): (&OrganizationId, &str),
    keys: &MemberKeys,
) -> Result<Vec<KeyRef>> {
    let live = "SELECT name, hint FROM keys WHERE organization = $1 AND creator = $2 AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > docwright_now_ms()) ORDER BY created_at, id";
    let live = sqlx::query(live).bind(&organization.0).bind(name).fetch_all(&mut *db).await?;
    let end = match keys {
        MemberKeys::Revoke => sqlx::query(
            "UPDATE keys SET revoked_at = docwright_now_ms()
             WHERE organization = $1 AND creator = $2 AND revoked_at IS NULL",
        )
        .bind(&organization.0)
        .bind(name),
        MemberKeys::TakeOver { owner } => sqlx::query(
            "UPDATE keys SET creator = $3 WHERE organization = $1 AND creator = $2 AND revoked_at IS NULL",
        )
        .bind(&organization.0)
        .bind(name)
        .bind(text(owner)),
    };
    end.execute(db).await?;
    live.iter().map(|row| Ok(KeyRef { name: row.try_get("name")?, prefix: row.try_get("hint")? })).collect()
}

/// The audit log of the job's organization says who did this to it.
pub(super) async fn note_job(
    db: &mut PgConnection,
    (project, job): (&ProjectId, &JobId),
    actor: Option<&Actor>,
    what: &str,
    now: i64,
) -> Result<()> {
    let Some(actor) = actor else { return Ok(()) };
    let insert = "INSERT INTO deeds (organization, at, who, what, about)
        SELECT organization, $1, $2, $3, name || ' ' || $4 FROM projects WHERE id = $5";
    let insert = sqlx::query(insert).bind(now).bind(actor.to_string()).bind(what);
    insert.bind(&job.0).bind(&project.0).execute(db).await?;
    Ok(())
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
