//! Identifiers and random tokens. An id is public; a [`Token`] is secret, and only its SHA-256 is stored.

use std::fmt;

use sha2::{Digest, Sha256};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

macro_rules! id {
    ($name:ident, $prefix:literal) => {
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub String);

        impl $name {
            pub fn random() -> Self {
                Self(format!(concat!($prefix, "{}"), random_base62(16)))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(OrganizationId, "org_");
id!(ProjectId, "prj_");
id!(KeyId, "key_");
id!(PersonId, "per_");
id!(InviteId, "inv_");
id!(SessionId, "ses_");
id!(FindingId, "fnd_");
id!(WorkerId, "wrk_");

/// A UUID v7. It sorts by time of creation, and every host accepts it in a branch name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub String);

impl JobId {
    pub fn random() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A random secret of a session cookie or a login link, with more than 256 bits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        Self(random_base62(44))
    }

    /// A token from a client. Any text is valid: it is only hashed and looked up.
    pub fn received(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> Vec<u8> {
        sha256(self.0.as_bytes())
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// Random base62 text without bias: bytes that would favor some characters are dropped.
pub(crate) fn random_base62(length: usize) -> String {
    let mut text = String::with_capacity(length);
    let mut bytes = [0u8; 64];
    while text.len() < length {
        #[expect(clippy::expect_used, reason = "without randomness there are no secrets; stopping is right")]
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        let fair = bytes.iter().filter(|b| **b < 248).map(|b| char::from(BASE62[usize::from(b % 62)]));
        text.extend(fair.take(length - text.len()));
    }
    text
}

/// `value` in base62, padded with zeros to six digits, which hold any CRC-32.
pub(crate) fn base62_crc(mut value: u32) -> String {
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(value % 62) as usize];
        value /= 62;
    }
    digits.iter().map(|d| char::from(*d)).collect()
}
