//! Passwords: the rule for new ones, and Argon2id, few at a time, since each takes 19 MiB and a while.

mod rule;

use std::sync::Arc;

use anyhow::{Context, anyhow};
use argon2::{Algorithm, Argon2, Params, Version};
use store::PasswordHash;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

const AT_ONCE: usize = 2;
const SALT: usize = 16;
const HASH: usize = 32;

/// What it costs now; a hash tells what it cost when it was made.
const MEMORY_KIB: u32 = 19 * 1024;
const ROUNDS: u32 = 2;
const LANES: u32 = 1;

pub use rule::parse_password;

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
        self.hash_beside(password, &[]).await
    }

    /// For an account beside others of the same name, in other organizations: under their salt, so that one
    /// computation checks them all, and a sign-in takes as long for two accounts as for one.
    pub async fn hash_beside(&self, password: &str, others: &[PasswordHash]) -> anyhow::Result<PasswordHash> {
        let shared = others.iter().filter_map(|other| Made::parse(&other.0)).map(|(made, _)| made);
        let made = match shared.into_iter().find(Made::is_current) {
            Some(made) => made,
            None => Made::current(random_salt()?),
        };
        let hash = self.work(made.clone(), password).await?;
        Ok(PasswordHash(made.with(&hash)))
    }

    /// Whether it is the password. Where there is none to compare with, the answer is no, and takes as long.
    pub async fn fits(&self, password: &str, kept: Option<&PasswordHash>) -> anyhow::Result<bool> {
        let fits = self.fitting(password, kept.map(std::slice::from_ref).unwrap_or_default()).await?;
        Ok(fits.first() == Some(&true))
    }

    /// Which of these it is the password of: one computation for each salt, and one where there is none.
    pub async fn fitting(&self, password: &str, kept: &[PasswordHash]) -> anyhow::Result<Vec<bool>> {
        let kept: Option<Vec<_>> = kept.iter().map(|kept| Made::parse(&kept.0)).collect();
        let kept = kept.context("what is kept of a password is no hash")?;
        let mut computed: Vec<(Made, Vec<u8>)> = Vec::new();
        for made in kept
            .iter()
            .map(|(made, _)| made.clone())
            .chain(kept.is_empty().then(|| Made::current(vec![0; SALT])))
        {
            if !computed.iter().any(|(known, _)| *known == made) {
                let hash = self.work(made.clone(), password).await?;
                computed.push((made, hash));
            }
        }
        let fits = |(made, expected): &(Made, Vec<u8>)| {
            let found = computed.iter().find(|(known, _)| known == made);
            found.is_some_and(|(_, found)| bool::from(found.ct_eq(expected)))
        };
        Ok(kept.iter().map(fits).collect())
    }

    /// [`parse_password`], which takes long enough to be kept from the threads that serve.
    pub async fn parse(&self, text: &str, name: &str) -> anyhow::Result<Result<(), String>> {
        let _turn = self.0.clone().acquire_owned().await?;
        let (text, name) = (Zeroizing::new(text.to_owned()), name.to_owned());
        Ok(tokio::task::spawn_blocking(move || parse_password(&text, &name).map(|_| ())).await?)
    }

    async fn work(&self, made: Made, password: &str) -> anyhow::Result<Vec<u8>> {
        let _turn = self.0.clone().acquire_owned().await?;
        let password = Zeroizing::new(password.as_bytes().to_vec());
        tokio::task::spawn_blocking(move || made.hash(&password)).await?
    }
}

fn random_salt() -> anyhow::Result<Vec<u8>> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(|error| anyhow!("no random bytes: {error}"))?;
    Ok(salt.to_vec())
}

/// How a hash was made.
#[derive(Clone, PartialEq, Eq)]
struct Made {
    memory: u32,
    rounds: u32,
    lanes: u32,
    salt: Vec<u8>,
}

impl Made {
    fn current(salt: Vec<u8>) -> Self {
        Self { memory: MEMORY_KIB, rounds: ROUNDS, lanes: LANES, salt }
    }

    fn is_current(&self) -> bool {
        *self == Self::current(self.salt.clone())
    }

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

    #[tokio::test]
    async fn accounts_of_one_name_share_a_salt_and_a_computation() {
        let passwords = Passwords::new();
        let first = passwords.hash("correct horse").await.unwrap();
        let second = passwords.hash_beside("battery staple", std::slice::from_ref(&first)).await.unwrap();
        let salt = |hash: &PasswordHash| Made::parse(&hash.0).unwrap().0.salt;
        assert!(salt(&first) == salt(&second) && first != second);
        let both = [first, second];
        assert_eq!(passwords.fitting("battery staple", &both).await.unwrap(), [false, true]);
        assert_eq!(passwords.fitting("correct horse", &both).await.unwrap(), [true, false]);
        assert_eq!(passwords.fitting("correct horse", &[]).await.unwrap(), Vec::<bool>::new());
    }
}
