//! Seals credentials at rest with XChaCha20-Poly1305 under one master key. The row's owner and name are associated data,
//! so that a sealed value opens only in its own row.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ring::hmac;
use zeroize::Zeroizing;

use crate::Result;
use crate::data_dir::sync_parent;
use crate::id::random_base62;

const NONCE: usize = 24;
/// The permissions of users who neither own a file nor belong to its group.
const OTHERS: u32 = 0o007;
/// A known value with a reserved name: it opens only with the master key that sealed it.
pub(crate) const CHECK: (&str, &str) = ("docwright", "check");

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error(
        "the master key does not fit this database: point DOCWRIGHT_MASTER_KEY_FILE at the one it was made with"
    )]
    WrongKey,
    #[error(
        "servers on PostgreSQL share one master key: name its file with DOCWRIGHT_MASTER_KEY_FILE (`openssl rand -hex 32` makes a key)"
    )]
    NotNamed,
    #[error(
        "the master key file {0} is missing: restore it from its backup, or point DOCWRIGHT_MASTER_KEY_FILE at it; the secrets in this database cannot be opened without it"
    )]
    Missing(PathBuf),
    #[error("the master key file {path} cannot be used: {why}")]
    BadFile { path: PathBuf, why: String },
    #[error(
        "the master key file {0} can be read by every user of this machine, and this program may not change that: run `chmod 600 {0}` as the owner of the file, or keep the key in a file that only this program's user can read"
    )]
    Exposed(PathBuf),
    #[error("the secret could not be sealed")]
    Seal,
}

#[async_trait]
pub trait Secrets: Send + Sync {
    /// Seals and stores `value`. Replaces a secret of the same owner and name.
    async fn put_secret(&self, owner: &str, name: &str, value: &[u8]) -> Result<()>;
    async fn secret(&self, owner: &str, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>>;
    /// An HMAC-SHA256 with a key from the master key. All servers on one database answer the same. `purpose` prevents
    /// that a signature for one thing is used for another.
    fn sign(&self, purpose: &str, message: &[u8]) -> Vec<u8>;
    /// False when there is no such secret.
    async fn remove_secret(&self, owner: &str, name: &str) -> Result<bool>;
}

/// 32 random bytes that open all secrets. They are never in the database or in a log.
#[derive(Clone)]
pub struct MasterKey(XChaCha20Poly1305, hmac::Key);

impl MasterKey {
    /// Reads the key. Creates the file, readable only by its owner, when it is missing.
    pub fn load_or_create(path: &Path) -> Result<Self, SecretError> {
        if !path.exists() {
            create(path).map_err(|why| SecretError::BadFile { path: path.to_owned(), why })?;
        }
        Self::load(path)
    }

    /// Reads an existing key.
    pub fn load(path: &Path) -> Result<Self, SecretError> {
        let bad = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => SecretError::Missing(path.to_owned()),
            _ => SecretError::BadFile { path: path.to_owned(), why: error.to_string() },
        };
        Self::from_file(path, Zeroizing::new(fs::read(path).map_err(bad)?))
    }

    /// Removes permissions of users who neither own the file nor belong to its group, with a warning. A missing file is
    /// reported by [`Self::load`].
    pub fn protect(path: &Path) -> Result<(), SecretError> {
        let Ok(found) = fs::metadata(path) else { return Ok(()) };
        if found.permissions().mode() & OTHERS == 0 {
            return Ok(());
        }
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, private).map_err(|_| SecretError::Exposed(path.to_owned()))?;
        tracing::warn!(
            "every user of this machine could read the master key file {}, and cannot any more: if somebody may have, make new tokens and keys for what it seals",
            path.display()
        );
        Ok(())
    }

    /// 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
    fn from_file(path: &Path, bytes: Zeroizing<Vec<u8>>) -> Result<Self, SecretError> {
        let key = std::str::from_utf8(&bytes).ok().and_then(|text| from_hex(text.trim()));
        key.map(|key| Self(XChaCha20Poly1305::new(&(*key).into()), signing_key(&*key))).ok_or_else(|| {
            SecretError::BadFile {
                path: path.to_owned(),
                why: "it must hold 64 hexadecimal digits, as `openssl rand -hex 32` prints them".into(),
            }
        })
    }

    pub(crate) fn seal(&self, owner: &str, name: &str, value: &[u8]) -> Result<Vec<u8>, SecretError> {
        let mut nonce = [0u8; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| SecretError::Seal)?;
        let aad = row_id(owner, name);
        let payload = Payload { msg: value, aad: aad.as_bytes() };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload).map_err(|_| SecretError::Seal)?;
        Ok([&nonce[..], &sealed].concat())
    }

    pub(crate) fn sign(&self, purpose: &str, message: &[u8]) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&self.1);
        for part in [purpose.as_bytes(), message] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.sign().as_ref().to_vec()
    }

    pub(crate) fn open(
        &self,
        owner: &str,
        name: &str,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or(SecretError::WrongKey)?;
        let aad = row_id(owner, name);
        let payload = Payload { msg: sealed, aad: aad.as_bytes() };
        let value = self.0.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SecretError::WrongKey)?;
        Ok(Zeroizing::new(value))
    }
}

/// A separate key, so that signatures reveal nothing about the key that seals.
fn signing_key(master: &[u8]) -> hmac::Key {
    let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, master), b"docwright signing key");
    hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
}

/// The length keeps ("a", "b/c") and ("a/b", "c") apart.
fn row_id(owner: &str, name: &str) -> String {
    format!("{}:{owner}/{name}", owner.len())
}

/// Creates the file atomically: another process may be reading or creating it. The first one wins.
fn create(path: &Path) -> Result<(), String> {
    let mut key = Zeroizing::new([0u8; 32]);
    getrandom::fill(&mut *key).map_err(|error| error.to_string())?;
    let text = Zeroizing::new(key.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n");
    let draft = path.with_extension(random_base62(16));
    let written = private_file(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        move_into_place(&draft, path)?;
        // The key must survive a power cut if the database does.
        sync_parent(path)
    });
    written.map_err(|error| error.to_string())
}

fn move_into_place(draft: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            // This file system has no hard links.
            fs::rename(draft, path)
        }
        _ => fs::remove_file(draft),
    }
}

fn private_file(path: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn from_hex(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0u8; 32]);
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_key_that_everybody_can_read_is_taken_away_from_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        MasterKey::protect(&path).unwrap();
        MasterKey::load_or_create(&path).unwrap();
        for (before, after) in
            [(0o644, 0o600), (0o666, 0o600), (0o604, 0o600), (0o640, 0o640), (0o400, 0o400)]
        {
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            MasterKey::protect(&path).unwrap();
            assert_eq!(mode(&path), after, "{before:o}");
        }
    }

    /// No user may change the mode of such a file.
    #[test]
    fn a_key_that_cannot_be_taken_away_is_refused() {
        let path = Path::new("/proc/self/status");
        let refused = MasterKey::protect(path).unwrap_err().to_string();
        assert!(refused.contains("run `chmod 600 /proc/self/status` as the owner"), "{refused}");
    }
}
