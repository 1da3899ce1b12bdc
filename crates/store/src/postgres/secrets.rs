use async_trait::async_trait;
use sqlx::Row;
use zeroize::Zeroizing;

use super::PostgresStore;
use crate::secret::CHECK;
use crate::{Result, SecretError, Secrets};

impl PostgresStore {
    /// Refuses a master key other than the one this database was made with. Of two servers that
    /// make it at once, one is the first.
    pub(super) async fn check_master_key(&self) -> Result<()> {
        let (owner, name) = CHECK;
        let sealed = self.master.seal(owner, name, b"docwright")?;
        let put = sqlx::query("INSERT INTO secrets VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
        self.execute(put.bind(owner).bind(name).bind(sealed)).await?;
        self.secret(owner, name).await.map(|_| ())
    }
}

#[async_trait]
impl Secrets for PostgresStore {
    async fn put_secret(&self, owner: &str, name: &str, value: &[u8]) -> Result<()> {
        let sealed = self.master.seal(owner, name, value)?;
        let put = sqlx::query(
            "INSERT INTO secrets VALUES ($1, $2, $3)
             ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed",
        );
        self.execute(put.bind(owner).bind(name).bind(sealed)).await.map(|_| ())
    }

    async fn secret(&self, owner: &str, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let find = sqlx::query("SELECT sealed FROM secrets WHERE owner = $1 AND name = $2");
        let Some(row) = self.row(find.bind(owner).bind(name)).await? else { return Ok(None) };
        let opened = self.master.open(owner, name, row.try_get("sealed")?);
        opened.map(Some).map_err(|error: SecretError| error.into())
    }

    fn sign(&self, purpose: &str, message: &[u8]) -> Vec<u8> {
        self.master.sign(purpose, message)
    }

    async fn remove_secret(&self, owner: &str, name: &str) -> Result<bool> {
        let remove = sqlx::query("DELETE FROM secrets WHERE owner = $1 AND name = $2");
        Ok(self.execute(remove.bind(owner).bind(name)).await? > 0)
    }
}
