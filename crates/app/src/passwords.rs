//! Hashes and verifies passwords with Argon2id. Few run at the same time, because each takes 19 MiB of memory
//! and long.

mod rule;

use std::sync::Arc;

use anyhow::{Context, anyhow};
use argon2::{Algorithm, Argon2, Params, Version};
use store::PasswordHash;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

const MAX_CONCURRENT: usize = 2;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// The parameters of new hashes. A stored hash names its own.
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
        Self(Arc::new(Semaphore::new(MAX_CONCURRENT)))
    }

    pub async fn hash(&self, password: &str) -> anyhow::Result<PasswordHash> {
        self.hash_with_shared_salt(password, &[]).await
    }

    /// Hashes the password of an account with the salt of `others`, which are accounts with the same name in
    /// other organizations. So one computation verifies all of them, and a sign-in takes the same time for
    /// any number of accounts.
    pub async fn hash_with_shared_salt(
        &self,
        password: &str,
        others: &[PasswordHash],
    ) -> anyhow::Result<PasswordHash> {
        let shared = others.iter().filter_map(|other| HashParams::parse(&other.0)).map(|(params, _)| params);
        let params = match shared.into_iter().find(HashParams::is_current) {
            Some(params) => params,
            None => HashParams::current(random_salt()?),
        };
        let hash = self.compute(params.clone(), password).await?;
        Ok(PasswordHash(params.format_with(&hash)))
    }

    /// Whether the password matches the hash. Without a hash, the result is false and takes the same time.
    pub async fn verify(&self, password: &str, stored: Option<&PasswordHash>) -> anyhow::Result<bool> {
        let matches =
            self.verify_each(password, stored.map(std::slice::from_ref).unwrap_or_default()).await?;
        Ok(matches.first() == Some(&true))
    }

    /// Which of the hashes the password matches. Takes one computation for each salt, and one if there are no
    /// hashes.
    pub async fn verify_each(&self, password: &str, stored: &[PasswordHash]) -> anyhow::Result<Vec<bool>> {
        let stored: Option<Vec<_>> = stored.iter().map(|hash| HashParams::parse(&hash.0)).collect();
        let stored = stored.context("the stored hash of a password is not valid")?;
        let mut computed: Vec<(HashParams, Vec<u8>)> = Vec::new();
        for params in stored
            .iter()
            .map(|(params, _)| params.clone())
            .chain(stored.is_empty().then(|| HashParams::current(vec![0; SALT_BYTES])))
        {
            if !computed.iter().any(|(known, _)| *known == params) {
                let hash = self.compute(params.clone(), password).await?;
                computed.push((params, hash));
            }
        }
        let matches = |(params, expected): &(HashParams, Vec<u8>)| {
            let found = computed.iter().find(|(known, _)| known == params);
            found.is_some_and(|(_, hash)| bool::from(hash.ct_eq(expected)))
        };
        Ok(stored.iter().map(matches).collect())
    }

    /// Runs [`parse_password`] outside the threads that serve requests, because it takes long.
    pub async fn parse(&self, text: &str, name: &str) -> anyhow::Result<Result<(), String>> {
        let _permit = self.0.clone().acquire_owned().await?;
        let (text, name) = (Zeroizing::new(text.to_owned()), name.to_owned());
        Ok(tokio::task::spawn_blocking(move || parse_password(&text, &name).map(|_| ())).await?)
    }

    async fn compute(&self, params: HashParams, password: &str) -> anyhow::Result<Vec<u8>> {
        let _permit = self.0.clone().acquire_owned().await?;
        let password = Zeroizing::new(password.as_bytes().to_vec());
        tokio::task::spawn_blocking(move || params.hash(&password)).await?
    }
}

fn random_salt() -> anyhow::Result<Vec<u8>> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|error| anyhow!("cannot get random bytes: {error}"))?;
    Ok(salt.to_vec())
}

#[derive(Clone, PartialEq, Eq)]
struct HashParams {
    memory: u32,
    rounds: u32,
    lanes: u32,
    salt: Vec<u8>,
}

impl HashParams {
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

    fn format_with(&self, hash: &[u8]) -> String {
        let Self { memory, rounds, lanes, salt } = self;
        format!("argon2id${memory}${rounds}${lanes}${}${}", hex(salt), hex(hash))
    }

    fn hash(&self, password: &[u8]) -> anyhow::Result<Vec<u8>> {
        let params = Params::new(self.memory, self.rounds, self.lanes, Some(HASH_BYTES));
        let params = params.map_err(|error| anyhow!("Argon2id: {error}"))?;
        let mut hash = vec![0; HASH_BYTES];
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
    async fn a_password_matches_only_its_own_hash() {
        let passwords = Passwords::new();
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.0.starts_with("argon2id$19456$2$1$") && !hash.0.contains("horse"));
        assert_ne!(hash, passwords.hash("correct horse").await.unwrap(), "each hash has its own salt");
        assert!(passwords.verify("correct horse", Some(&hash)).await.unwrap());
        assert!(!passwords.verify("correct Horse", Some(&hash)).await.unwrap());
        assert!(!passwords.verify("correct horse", None).await.unwrap());
        assert!(passwords.verify("x", Some(&PasswordHash("junk".into()))).await.is_err());
    }

    #[tokio::test]
    async fn accounts_of_one_name_share_a_salt_and_a_computation() {
        let passwords = Passwords::new();
        let first = passwords.hash("correct horse").await.unwrap();
        let second =
            passwords.hash_with_shared_salt("battery staple", std::slice::from_ref(&first)).await.unwrap();
        let salt = |hash: &PasswordHash| HashParams::parse(&hash.0).unwrap().0.salt;
        assert!(salt(&first) == salt(&second) && first != second);
        let both = [first, second];
        assert_eq!(passwords.verify_each("battery staple", &both).await.unwrap(), [false, true]);
        assert_eq!(passwords.verify_each("correct horse", &both).await.unwrap(), [true, false]);
        assert_eq!(passwords.verify_each("correct horse", &[]).await.unwrap(), Vec::<bool>::new());
    }
}
