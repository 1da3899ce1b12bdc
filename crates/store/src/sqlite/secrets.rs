use async_trait::async_trait;
use zeroize::Zeroizing;

use super::SqliteStore;
use crate::secret::CHECK;
use crate::{Result, SecretError, Secrets};

impl SqliteStore {
    /// Refuses a master key other than the one this database was made with.
    pub(super) async fn check_master_key(&self) -> Result<()> {
        match self.secret(CHECK.0, CHECK.1).await? {
            Some(_) => Ok(()),
            None => self.put_secret(CHECK.0, CHECK.1, b"docwright").await,
        }
    }
}

#[async_trait]
impl Secrets for SqliteStore {
    async fn put_secret(&self, owner: &str, name: &str, value: &[u8]) -> Result<()> {
        let sealed = self.master.seal(owner, name, value)?;
        let put = sqlx::query("INSERT OR REPLACE INTO secrets VALUES (?, ?, ?)")
            .bind(owner.to_owned())
            .bind(name.to_owned())
            .bind(sealed);
        self.execute(put).await.map(|_| ())
    }

    async fn secret(&self, owner: &str, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let sealed: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT sealed FROM secrets WHERE owner = ? AND name = ?")
                .bind(owner)
                .bind(name)
                .fetch_optional(self.db.reads())
                .await?;
        let opened = sealed.map(|sealed| self.master.open(owner, name, &sealed)).transpose();
        opened.map_err(|error: SecretError| error.into())
    }
    fn sign(&self, purpose: &str, message: &[u8]) -> Vec<u8> {
        self.master.sign(purpose, message)
    }

    async fn remove_secret(&self, owner: &str, name: &str) -> Result<bool> {
        let remove = sqlx::query("DELETE FROM secrets WHERE owner = ? AND name = ?")
            .bind(owner.to_owned())
            .bind(name.to_owned());
        Ok(self.execute(remove).await? > 0)
    }
}
