//! The people of an organization: what they may do, how they come in, and what they did.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::name::is_invisible;
use crate::{InviteId, KeyRef, OrganizationId, PersonId, Result, Token};

const MAX_NAME: usize = 100;
/// How long an invitation works.
pub(crate) const INVITE: SignedDuration = SignedDuration::from_hours(24 * 7);
/// Networks that are remembered of one member.
pub(crate) const MAX_NETWORKS: i64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Owner,
    /// Everything but people, settings of projects and their end.
    Member,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "owner" => Ok(Self::Owner),
            "member" => Ok(Self::Member),
            _ => Err("a role is owner or member".into()),
        }
    }
}

/// The name that a person signs in with, as it is kept: like an address of mail, in lower case.
pub fn parse_person_name(text: &str) -> std::result::Result<String, String> {
    let name = text.trim().to_lowercase();
    let sane = |c: char| !c.is_control() && !c.is_whitespace() && !is_invisible(c);
    let (user, host) = name.rsplit_once('@').unwrap_or_default();
    let whole = !user.is_empty() && !user.contains('@') && !host.is_empty();
    match name.chars().count() <= MAX_NAME && name.chars().all(sane) && whole {
        true => Ok(name),
        false => Err("sign in with an address such as ada@acme.dev".into()),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: PersonId,
    pub organization: OrganizationId,
    pub name: String,
    pub role: Role,
    pub created_at: Timestamp,
}

/// What came of removing a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    Done,
    /// This organization has no such person.
    NoSuchPerson,
    /// Nobody would be left who could change anything: the person stays.
    LastOwner,
    /// Who was to take over the keys is no other owner of the organization: the person stays.
    NoSuchOwner,
}

impl Removal {
    /// Why the person stays, judged by all people of the organization.
    pub(crate) fn refusal(people: &[Person], id: &str, keys: &MemberKeys) -> Option<Self> {
        let others = || people.iter().filter(|one| one.role == Role::Owner && one.id.0 != id);
        match people.iter().find(|one| one.id.0 == id) {
            None => return Some(Self::NoSuchPerson),
            Some(person) if person.role == Role::Owner && others().next().is_none() => {
                return Some(Self::LastOwner);
            }
            Some(_) => {}
        }
        match keys {
            MemberKeys::TakeOver { owner } if parse_person_name(owner).is_ok() => {
                (!others().any(|one| one.name == *owner)).then_some(Self::NoSuchOwner)
            }
            _ => None,
        }
    }
}

/// What becomes of a removed member's API keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKeys {
    Revoke,
    /// They go on working, as those of another owner: a person's name, or how they came in.
    TakeOver {
        owner: String,
    },
}

/// What Argon2id made of a password. Not for a log, either.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

#[derive(Debug, Clone)]
pub struct NewPerson {
    pub organization: OrganizationId,
    /// As [`parse_person_name`] has it.
    pub name: String,
    pub role: Role,
    pub password: PasswordHash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvite {
    pub organization: OrganizationId,
    pub role: Role,
    /// Whose it is, as it is told to others.
    pub creator: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    pub id: InviteId,
    pub organization: OrganizationId,
    pub role: Role,
    /// `None`: it was made before that was kept.
    pub creator: Option<String>,
    pub expires_at: Timestamp,
}

/// Something that somebody did, for those who ask who it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    pub organization: OrganizationId,
    pub who: String,
    /// A verb, such as `revoked the key`.
    pub what: String,
    pub about: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Counts up, with gaps.
    pub number: u64,
    pub at: Timestamp,
    pub who: String,
    pub what: String,
    pub about: String,
}

#[async_trait]
pub trait People: Send + Sync {
    /// [`crate::StoreError::Taken`] when somebody in the organization has the name.
    async fn create_person(&self, new: &NewPerson) -> Result<Person>;
    /// By name; of every organization when none is given.
    async fn people(&self, organization: Option<&OrganizationId>) -> Result<Vec<Person>>;
    /// The accounts of that name, oldest first: each organization can have one.
    async fn people_named(&self, name: &str) -> Result<Vec<(Person, PasswordHash)>>;
    /// The oldest of them.
    async fn person_named(&self, name: &str) -> Result<Option<(Person, PasswordHash)>> {
        Ok(self.people_named(name).await?.into_iter().next())
    }
    /// Ends the person's sessions, too. False when there is no such person.
    async fn set_password(&self, person: &PersonId, password: &PasswordHash) -> Result<bool>;
    /// With all sessions, and with every invitation of the organization that is not used: who was removed may
    /// have kept one. The API keys that the person made are revoked or taken over, in the same transaction;
    /// answers those that still worked. Of owners who remove each other at once, one stays.
    async fn remove_person(
        &self,
        organization: &OrganizationId,
        person: &PersonId,
        keys: &MemberKeys,
    ) -> Result<(Removal, Vec<KeyRef>)>;
    /// Notes that the person signed in from this network.
    async fn note_network(&self, person: &PersonId, network: &str) -> Result<()>;
    /// How many of the accounts of that name have signed in from this network before.
    async fn accounts_seen_from(&self, name: &str, network: &str) -> Result<Vec<PersonId>>;

    /// A link that makes one person of the organization, within seven days.
    async fn create_invite(&self, new: &NewInvite) -> Result<Token>;
    /// Those that still work, the next to expire first; of every organization when none is given.
    async fn invites(&self, organization: Option<&OrganizationId>) -> Result<Vec<Invite>>;
    /// Its link works no more. `None` when this organization has no such invitation that does.
    async fn withdraw_invite(
        &self,
        organization: &OrganizationId,
        invite: &InviteId,
    ) -> Result<Option<Invite>>;
    /// What the link is for, while it works. Uses nothing up.
    async fn invite(&self, link: &Token) -> Result<Option<Invite>>;
    /// Uses the link up; `None` when it is unknown, used or too old. A name that is taken
    /// ([`crate::StoreError::Taken`]) leaves it as it was.
    async fn accept_invite(
        &self,
        link: &Token,
        name: &str,
        password: &PasswordHash,
    ) -> Result<Option<Person>>;

    async fn record_audit(&self, entry: &NewAuditEntry) -> Result<()>;
    /// Newest first, those before the number if one is given.
    async fn audit_log(
        &self,
        organization: &OrganizationId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_people() {
        assert_eq!(parse_person_name(" Ada@Acme.dev ").unwrap(), "ada@acme.dev");
        let unseen = ["a da@acme.dev", "ada@acme\u{7}.dev", "ad\u{200b}a@acme.dev"];
        for bad in ["", "ada", "@acme.dev", "ada@", "ada@@acme.dev", "a@b@c.dev"].into_iter().chain(unseen) {
            assert!(parse_person_name(bad).is_err(), "{bad}");
        }
        assert!(parse_person_name(&format!("{}@x", "a".repeat(99))).is_err());
    }
}
