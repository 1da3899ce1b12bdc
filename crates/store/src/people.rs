//! Members of organizations, invitations and the audit log.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::name::is_invisible;
use crate::{InviteId, KeyRef, OrganizationId, PersonId, Result, Token};

const MAX_NAME: usize = 100;
/// How long an invitation works.
pub(crate) const INVITE_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 7);
/// Networks that are stored for one member.
pub(crate) const MAX_NETWORKS: i64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// May do everything.
    Owner,
    /// May do everything except manage members, and change or delete projects.
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

/// Parses the name that a member signs in with: an email address, in lower case.
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

/// The result of removing a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    Done,
    /// This organization has no such member.
    NoSuchPerson,
    /// No owner would be left: the member stays.
    LastOwner,
    /// The new owner of the keys is not another owner of the organization: the member stays.
    NoSuchOwner,
}

impl Removal {
    /// Why the member stays. `people` has all owners of the organization and the member.
    pub(crate) fn refusal(people: &[Person], id: &str, keys: &MemberKeys) -> Option<Self> {
        let others = || people.iter().filter(|other| other.role == Role::Owner && other.id.0 != id);
        match people.iter().find(|person| person.id.0 == id) {
            None => return Some(Self::NoSuchPerson),
            Some(person) if person.role == Role::Owner && others().next().is_none() => {
                return Some(Self::LastOwner);
            }
            Some(_) => {}
        }
        match keys {
            MemberKeys::TakeOver { owner } if parse_person_name(owner).is_ok() => {
                (!others().any(|other| other.name == *owner)).then_some(Self::NoSuchOwner)
            }
            _ => None,
        }
    }
}

/// What to do with a removed member's API keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKeys {
    Revoke,
    /// They keep working and belong to another owner: a member's name, or the name of a login.
    TakeOver {
        owner: String,
    },
}

/// The Argon2id hash of a password. It must not be logged.
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
    /// As [`parse_person_name`] answers it.
    pub name: String,
    pub role: Role,
    pub password: PasswordHash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvite {
    pub organization: OrganizationId,
    pub role: Role,
    /// The creator's name, for other members.
    pub creator: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    pub id: InviteId,
    pub organization: OrganizationId,
    pub role: Role,
    /// `None`: it is older than this column.
    pub creator: Option<String>,
    pub expires_at: Timestamp,
}

/// A new entry of the audit log.
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
    /// [`crate::StoreError::Taken`] when a member of the organization has the name.
    async fn create_person(&self, new: &NewPerson) -> Result<Person>;
    /// By name; of all organizations if none is given.
    async fn people(&self, organization: Option<&OrganizationId>) -> Result<Vec<Person>>;
    /// The accounts of that name, oldest first: each organization can have one.
    async fn people_named(&self, name: &str) -> Result<Vec<(Person, PasswordHash)>>;
    /// The oldest account of that name.
    async fn person_named(&self, name: &str) -> Result<Option<(Person, PasswordHash)>> {
        Ok(self.people_named(name).await?.into_iter().next())
    }
    /// Also ends the member's sessions. False when there is no such member.
    async fn set_password(&self, person: &PersonId, password: &PasswordHash) -> Result<bool>;
    /// Also ends the member's sessions and withdraws the organization's open invitations, because the member may have
    /// kept one. Revokes or transfers the member's API keys in the same transaction; answers those that still worked. Of
    /// two owners who remove each other at once, one stays.
    async fn remove_person(
        &self,
        organization: &OrganizationId,
        person: &PersonId,
        keys: &MemberKeys,
    ) -> Result<(Removal, Vec<KeyRef>)>;
    /// Records that the member signed in from this network.
    async fn note_network(&self, person: &PersonId, network: &str) -> Result<()>;
    /// The accounts of that name that have signed in from this network before.
    async fn accounts_seen_from(&self, name: &str, network: &str) -> Result<Vec<PersonId>>;

    /// Creates a link that adds one member to the organization, within seven days.
    async fn create_invite(&self, new: &NewInvite) -> Result<Token>;
    /// The valid invitations, the next to expire first; of all organizations if none is given.
    async fn invites(&self, organization: Option<&OrganizationId>) -> Result<Vec<Invite>>;
    /// Ends an invitation. `None` when this organization has no such valid invitation.
    async fn withdraw_invite(
        &self,
        organization: &OrganizationId,
        invite: &InviteId,
    ) -> Result<Option<Invite>>;
    /// The valid invitation of a link. Does not use it up.
    async fn invite(&self, link: &Token) -> Result<Option<Invite>>;
    /// Uses the link up; `None` when it is unknown, used or expired. The link stays valid when the name is taken
    /// ([`crate::StoreError::Taken`]).
    async fn accept_invite(
        &self,
        link: &Token,
        name: &str,
        password: &PasswordHash,
    ) -> Result<Option<Person>>;

    async fn record_audit(&self, entry: &NewAuditEntry) -> Result<()>;
    /// Newest first; only entries before this number if one is given.
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
