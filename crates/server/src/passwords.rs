//! Passwords: Argon2id, and few at a time, since each takes 19 MiB and a while.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use argon2::{Algorithm, Argon2, Params, Version};
use store::PasswordHash;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

const AT_ONCE: usize = 2;
const LEAST: usize = 10;
const MOST: usize = 200;
const SALT: usize = 16;
const HASH: usize = 32;

/// What it costs now; a hash tells what it cost when it was made.
const MEMORY_KIB: u32 = 19 * 1024;
const ROUNDS: u32 = 2;
const LANES: u32 = 1;

/// A password as it may be chosen.
pub fn parse_password(text: &str) -> Result<&str, String> {
    match text.chars().count() {
        LEAST..=MOST => Ok(text),
        0..LEAST => Err(format!("a password has at least {LEAST} characters")),
        _ => Err(format!("a password has at most {MOST} characters")),
    }
}

#[derive(Clone)]
pub struct Passwords(Arc<Semaphore>);

impl Default for Passwords {
    fn default() -> Self {
        Self::new()
    }
}

impl Passwords {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    pub async fn hash(&self, password: &str) -> anyhow::Result<PasswordHash> {
        let mut salt = [0; SALT];
        getrandom::fill(&mut salt).map_err(|error| anyhow!("no random bytes: {error}"))?;
        let made = Made { memory: MEMORY_KIB, rounds: ROUNDS, lanes: LANES, salt: salt.to_vec() };
        let hash = self.work(made.clone(), password).await?;
        Ok(PasswordHash(made.with(&hash)))
    }

    /// Whether it is the password. Where there is none to compare with, the answer is no, and takes as long.
    pub async fn fits(&self, password: &str, kept: Option<&PasswordHash>) -> anyhow::Result<bool> {
        let nobodys = Made { memory: MEMORY_KIB, rounds: ROUNDS, lanes: LANES, salt: vec![0; SALT] };
        let (made, expected) = match kept {
            Some(kept) => Made::parse(&kept.0).context("what is kept of a password is no hash")?,
            None => (nobodys, Vec::new()),
        };
        let found = self.work(made, password).await?;
        Ok(bool::from(found.ct_eq(&expected)))
    }

    async fn work(&self, made: Made, password: &str) -> anyhow::Result<Vec<u8>> {
        let _turn = self.0.clone().acquire_owned().await?;
        let password = Zeroizing::new(password.as_bytes().to_vec());
        tokio::task::spawn_blocking(move || made.hash(&password)).await?
    }
}

/// How a hash was made.
#[derive(Clone)]
struct Made {
    memory: u32,
    rounds: u32,
    lanes: u32,
    salt: Vec<u8>,
}

impl Made {
    /// `argon2id$19456$2$1$salt$hash`
    fn parse(text: &str) -> Option<(Self, Vec<u8>)> {
        let parts: Vec<_> = text.split('$').collect();
        let [name, memory, rounds, lanes, salt, hash] = parts[..] else { return None };
        let (memory, rounds, lanes) = (memory.parse().ok()?, rounds.parse().ok()?, lanes.parse().ok()?);
        (name == "argon2id").then_some(())?;
        Some((Self { memory, rounds, lanes, salt: from_hex(salt)? }, from_hex(hash)?))
    }

    fn with(&self, hash: &[u8]) -> String {
        let Self { memory, rounds, lanes, salt } = self;
        format!("argon2id${memory}${rounds}${lanes}${}${}", hex(salt), hex(hash))
    }

    fn hash(&self, password: &[u8]) -> anyhow::Result<Vec<u8>> {
        let params = Params::new(self.memory, self.rounds, self.lanes, Some(HASH));
        let params = params.map_err(|error| anyhow!("Argon2id: {error}"))?;
        let mut hash = vec![0; HASH];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(password, &self.salt, &mut hash)
            .map_err(|error| anyhow!("Argon2id: {error}"))?;
        Ok(hash)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_alone() {
        let passwords = Passwords::new();
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.0.starts_with("argon2id$19456$2$1$") && !hash.0.contains("horse"));
        assert_ne!(hash, passwords.hash("correct horse").await.unwrap(), "each has a salt of its own");
        assert!(passwords.fits("correct horse", Some(&hash)).await.unwrap());
        assert!(!passwords.fits("correct Horse", Some(&hash)).await.unwrap());
        assert!(!passwords.fits("correct horse", None).await.unwrap());
        assert!(passwords.fits("x", Some(&PasswordHash("junk".into()))).await.is_err());
    }

    #[test]
    fn passwords_have_bounds() {
        assert!(parse_password("ten chars!").is_ok());
        assert!(parse_password("too short").is_err());
        assert!(parse_password(&"x".repeat(201)).is_err());
    }
}
