//! API keys: format, scope, expiry and allowlist.

use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::account::LAST_USED;
use crate::id::{base62_crc, random_base62, sha256};
use crate::{KeyId, OrganizationId, ProjectId, parse_person_name};

const PREFIX: &str = "dw_";
const RANDOM: usize = 40;
const CHECKSUM: usize = 6;
const MAX_ALLOW: usize = 100;

/// The text of a key: `dw_`, 40 random characters, and 6 characters of CRC-32 over both. The checksum is not for
/// security: it refuses a mistyped key without a query.
#[derive(Clone)]
pub struct KeyText(String);

impl KeyText {
    pub fn random() -> Self {
        let body = format!("{PREFIX}{}", random_base62(RANDOM));
        let checksum = base62_crc(crc32fast::hash(body.as_bytes()));
        Self(body + &checksum)
    }

    /// `None` when the text cannot be an API key.
    pub fn parse(text: &str) -> Option<Self> {
        let right_length = text.len() == PREFIX.len() + RANDOM + CHECKSUM;
        if !right_length || !text.starts_with(PREFIX) || !text.is_ascii() {
            return None;
        }
        let (body, checksum) = text.split_at(PREFIX.len() + RANDOM);
        (base62_crc(crc32fast::hash(body.as_bytes())) == checksum).then(|| Self(text.to_owned()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> Vec<u8> {
        sha256(self.0.as_bytes())
    }

    /// Enough to recognize a key, and far too little to use it.
    pub fn hint(&self) -> String {
        self.0.chars().take(PREFIX.len() + 4).collect()
    }
}

/// A key must not get into a log by way of `{:?}`.
impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyText({}…)", self.hint())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// GET and HEAD.
    Read,
    /// Everything.
    Write,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            _ => Err("scope is read or write".into()),
        }
    }
}

/// When a key ends: `7d`, `30d`, `60d`, `90d`, a date such as `2027-01-31`, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    Days(i64),
    At(Timestamp),
    Never,
}

impl Expiry {
    pub const DEFAULT: Self = Self::Days(90);

    pub fn moment(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Days(days) => now.checked_add(SignedDuration::from_hours(24 * days)).ok(),
            Self::At(moment) => Some(moment),
            Self::Never => None,
        }
    }
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self::Never),
            "7d" => Ok(Self::Days(7)),
            "30d" => Ok(Self::Days(30)),
            "60d" => Ok(Self::Days(60)),
            "90d" => Ok(Self::Days(90)),
            date => date
                .parse::<Date>()
                .and_then(|date| date.to_zoned(TimeZone::UTC))
                .map(|start| Self::At(start.timestamp()))
                .map_err(|_| "expiry is 7d, 30d, 60d, 90d, a date such as 2027-01-31, or never".into()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowError {
    #[error("`{0}` is neither an address nor a CIDR range such as 192.0.2.0/24")]
    NotAnAddress(String),
    #[error("`{0}` would allow too much of the internet: name a narrower range, or leave the list empty")]
    CatchAll(String),
    #[error("an allowlist takes at most {MAX_ALLOW} entries")]
    TooMany,
}

/// The addresses a key works from; an empty list is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allow(Vec<IpNet>);

impl Allow {
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, AllowError> {
        let nets: Vec<_> = entries.into_iter().map(parse_net).collect::<Result<_, _>>()?;
        if nets.len() > MAX_ALLOW { Err(AllowError::TooMany) } else { Ok(Self(nets)) }
    }

    pub fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.is_empty() || self.0.iter().any(|net| net.contains(&address))
    }

    pub fn entries(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(ToString::to_string)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn parse_net(entry: &str) -> Result<IpNet, AllowError> {
    let entry = entry.trim();
    let shown = || entry.chars().filter(|c| !c.is_control()).take(64).collect::<String>();
    let net = match entry.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address.to_canonical()),
        Err(_) => canonical(entry.parse().map_err(|_| AllowError::NotAnAddress(shown()))?),
    };
    // Two halves of the internet are the internet, so no range may be wider than the widest that one owner gets.
    let widest = if net.addr().is_ipv4() { 8 } else { 16 };
    if net.prefix_len() < widest { Err(AllowError::CatchAll(shown())) } else { Ok(net) }
}

/// Converts an IPv4-mapped IPv6 range to IPv4, because addresses are compared in that form.
fn canonical(net: IpNet) -> IpNet {
    let plain = match net {
        IpNet::V6(v6) if v6.prefix_len() >= 96 => {
            v6.addr().to_ipv4_mapped().map(|v4| (v4, v6.prefix_len() - 96))
        }
        _ => None,
    };
    plain.and_then(|(v4, length)| Ipv4Net::new(v4, length).ok()).map_or(net, IpNet::V4).trunc()
}

#[derive(Debug, Clone)]
pub struct ApiKey {
    pub id: KeyId,
    pub organization: OrganizationId,
    pub name: String,
    pub hint: String,
    pub scope: Scope,
    /// `None`: every project of the organization, also future ones.
    pub projects: Option<Vec<ProjectId>>,
    pub allow: Allow,
    /// The creator, if known.
    pub creator: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// It was neither revoked nor expired when it was read.
    pub is_live: bool,
    /// By the store's clock.
    pub(crate) read_at: Timestamp,
}

/// Whether a key is neither revoked nor expired.
pub(crate) fn is_live(expires_at: Option<Timestamp>, revoked_at: Option<Timestamp>, now: Timestamp) -> bool {
    revoked_at.is_none() && expires_at.is_none_or(|end| now < end)
}

impl ApiKey {
    /// Whether the use of the key is to be recorded: not with every request.
    pub fn is_use_due(&self) -> bool {
        self.last_used_at.is_none_or(|last| self.read_at.duration_since(last) >= LAST_USED)
    }

    /// The key as the audit log names it.
    pub fn to_ref(&self) -> KeyRef {
        KeyRef { name: self.name.clone(), prefix: self.hint.clone() }
    }

    pub fn reaches(&self, project: &ProjectId) -> bool {
        self.projects.as_ref().is_none_or(|some| some.contains(project))
    }
}

/// A key as the audit log names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRef {
    pub name: String,
    /// The first characters of its text.
    pub prefix: String,
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}…)", self.name, self.prefix)
    }
}

/// A new key. None of this can change later.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub organization: OrganizationId,
    pub name: String,
    pub scope: Scope,
    pub projects: Option<Vec<ProjectId>>,
    pub allow: Allow,
    pub expiry: Expiry,
    /// The name of the creator.
    pub creator: Option<String>,
}

impl NewKey {
    /// The creator, if it is a member and not the command line or a login link.
    pub(crate) fn member(&self) -> Option<&str> {
        self.creator.as_deref().filter(|name| parse_person_name(name).is_ok())
    }

    pub(crate) fn key(&self, text: &KeyText, now: Timestamp) -> ApiKey {
        let new = self.clone();
        let expires_at = new.expiry.moment(now);
        ApiKey {
            id: KeyId::random(),
            organization: new.organization,
            name: new.name,
            hint: text.hint(),
            scope: new.scope,
            projects: new.projects.map(unique),
            allow: new.allow,
            creator: new.creator,
            created_at: now,
            expires_at,
            last_used_at: None,
            revoked_at: None,
            is_live: is_live(expires_at, None, now),
            read_at: now,
        }
    }
}

fn unique(mut projects: Vec<ProjectId>) -> Vec<ProjectId> {
    let mut known = HashSet::new();
    projects.retain(|project| known.insert(project.clone()));
    projects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_once() {
        let named = ["b", "a", "b", "b"].map(|id| ProjectId(id.to_owned())).to_vec();
        assert_eq!(unique(named), ["b", "a"].map(|id| ProjectId(id.to_owned())));
    }

    #[test]
    fn a_key_with_one_wrong_character_is_no_key() {
        let key = KeyText::random();
        assert_eq!(key.reveal().len(), 49);
        assert!(KeyText::parse(key.reveal()).is_some());
        for at in 0..key.reveal().len() {
            let mut wrong = key.reveal().as_bytes().to_vec();
            wrong[at] = if wrong[at] == b'x' { b'y' } else { b'x' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert!(KeyText::parse(&wrong).is_none(), "{wrong} passed");
        }
        for junk in ["", "dw_", "dw_é", &"x".repeat(49), &format!("{} ", key.reveal()), &"é".repeat(25)] {
            assert!(KeyText::parse(junk).is_none(), "{junk} passed");
        }
        assert!(!format!("{key:?}").contains(key.reveal()));
    }

    #[test]
    fn allowlists() {
        #[track_caller]
        fn check(entry: &str, address: &str, expected: Result<bool, &str>) {
            let got = Allow::parse([entry]).map(|allow| allow.permits(address.parse().unwrap()));
            assert_eq!(got.map_err(|e| e.to_string()), expected.map_err(str::to_owned));
        }
        check("192.0.2.7", "192.0.2.7", Ok(true));
        check("192.0.2.7", "192.0.2.8", Ok(false));
        check("192.0.2.7/24", "192.0.2.200", Ok(true));
        check(" 192.0.2.0/24 ", "::ffff:192.0.2.1", Ok(true));
        check("::ffff:192.0.2.1", "192.0.2.1", Ok(true));
        check("2001:db8::/32", "2001:db8::1", Ok(true));
        check("2001:db8::/32", "192.0.2.1", Ok(false));
        check("::1", "::1", Ok(true));
        check("::ffff:10.0.0.0/104", "10.1.2.3", Ok(true));
        check("10.0.0.0/8", "10.1.2.3", Ok(true));
        let no = |entry: &str| {
            format!(
                "`{entry}` would allow too much of the internet: name a narrower range, or leave the list empty"
            )
        };
        check("0.0.0.0/0", "192.0.2.1", Err(&no("0.0.0.0/0")));
        check("0.0.0.0/1", "192.0.2.1", Err(&no("0.0.0.0/1")));
        check("::/0", "192.0.2.1", Err(&no("::/0")));
        check("::ffff:0:0/96", "192.0.2.1", Err(&no("::ffff:0:0/96")));
        let bad = "`nonsense` is neither an address nor a CIDR range such as 192.0.2.0/24";
        check("nonsense", "192.0.2.1", Err(bad));
        assert!(Allow::default().permits("192.0.2.1".parse().unwrap()));
        assert_eq!(Allow::parse(vec!["192.0.2.1"; 101]), Err(AllowError::TooMany));
    }

    #[test]
    fn expiries() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        #[track_caller]
        fn check(text: &str, now: Timestamp, expected: Option<&str>) {
            let moment = text.parse::<Expiry>().unwrap().moment(now).map(|at| at.to_string());
            assert_eq!(moment.as_deref(), expected);
        }
        check("7d", now, Some("2026-11-22T12:00:00Z"));
        check("90d", now, Some("2027-02-13T12:00:00Z"));
        check("2027-01-31", now, Some("2027-01-31T00:00:00Z"));
        check("never", now, None);
        for junk in ["", "8d", "soon", "2027-02-30", "-7d"] {
            assert!(junk.parse::<Expiry>().is_err(), "{junk} passed");
        }
    }
}
