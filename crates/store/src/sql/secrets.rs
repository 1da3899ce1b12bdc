//! Sealed secrets, and the check that the master key is the right one.

use async_trait::async_trait;
use zeroize::Zeroizing;

use super::{Backend, sql};
use crate::secret::CHECK;
use crate::{Result, Secrets};

/// Refuses a master key other than the one that this database was created with. If two servers create the database at
/// once, the first one's key counts.
pub(crate) async fn check_master_key(store: &impl Backend) -> Result<()> {
    let (owner, name) = CHECK;
    if store.secret(owner, name).await?.is_some() {
        return Ok(());
    }
    let sealed = store.common().master_key.seal(owner, name, b"docwright")?;
    let put = sql("INSERT INTO secrets (owner, name, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
    store.execute(put.bind(owner).bind(name).bind(sealed)).await?;
    store.secret(owner, name).await.map(drop)
}

#[async_trait]
impl<B: Backend> Secrets for B {
    async fn put_secret(&self, owner: &str, name: &str, value: &[u8]) -> Result<()> {
        let sealed = self.common().master_key.seal(owner, name, value)?;
        let put = sql("INSERT INTO secrets (owner, name, sealed) VALUES ($1, $2, $3)
             ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed");
        self.execute(put.bind(owner).bind(name).bind(sealed)).await.map(drop)
    }

    async fn secret(&self, owner: &str, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let find = sql("SELECT sealed FROM secrets WHERE owner = $1 AND name = $2");
        let Some(row) = self.row(find.bind(owner).bind(name)).await? else { return Ok(None) };
        Ok(Some(self.common().master_key.open(owner, name, row.get("sealed")?)?))
    }

    fn sign(&self, purpose: &str, message: &[u8]) -> Vec<u8> {
        self.common().master_key.sign(purpose, message)
    }

    async fn remove_secret(&self, owner: &str, name: &str) -> Result<bool> {
        let remove = sql("DELETE FROM secrets WHERE owner = $1 AND name = $2");
        Ok(self.execute(remove.bind(owner).bind(name)).await? > 0)
    }
}
