//! Connects to the database, and distinguishes failures that the operator can fix while the server retries.
//!
//! Both databases fail to open with [`OpenError`], so that callers handle one type. It is defined with the code for
//! SQLite, which `traffic` uses, too.

use base::sqlite::OpenError;
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use super::url::DatabaseUrl;
use super::{ACQUIRE_TIMEOUT, PostgresStore};
use crate::{Result, StoreError};

const CHECK_ADDRESS: &str = "start the database, or check the address in DOCWRIGHT_DATABASE_URL";
const CHECK_USER: &str = "check the user and the password in DOCWRIGHT_DATABASE_URL";
const CREATE_DATABASE: &str = "create the database, or check its name in DOCWRIGHT_DATABASE_URL";

impl PostgresStore {
    /// Connects once, and changes nothing.
    pub async fn reach(url: &DatabaseUrl) -> Result<()> {
        let _ = connect(url).await?.close().await;
        Ok(())
    }
}

/// Without the pool, which would retry and hide the cause.
pub(super) async fn connect(url: &DatabaseUrl) -> Result<PgConnection, OpenError> {
    let connecting = timeout(ACQUIRE_TIMEOUT, PgConnection::connect_with(&url.options())).await;
    let late = || Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()));
    connecting
        .unwrap_or_else(|_| late())
        .map_err(|source| OpenError::Unusable { path: url.to_string(), source })
}

impl StoreError {
    /// What the operator can do about a database that could not be opened, while the server retries: start the database,
    /// or create the user. `None` for other failures: the server does not retry.
    pub fn retry_hint(&self) -> Option<&'static str> {
        let Self::Open(OpenError::Unusable { source, .. }) = self else { return None };
        match source {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut => Some(CHECK_ADDRESS),
            sqlx::Error::Database(refusal) => hint(refusal.code().as_deref().unwrap_or_default()),
            _ => None,
        }
    }
}

/// By PostgreSQL's error codes: 08 is the connection, 53 a lack of resources, 57P a start or a stop.
fn hint(code: &str) -> Option<&'static str> {
    match code {
        "28P01" | "28000" => Some(CHECK_USER),
        "3D000" => Some(CREATE_DATABASE),
        // The database accepts no connections at the moment.
        "55000" => Some(CHECK_ADDRESS),
        _ if ["08", "53", "57P"].iter().any(|class| code.starts_with(class)) => Some(CHECK_ADDRESS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints() {
        assert_eq!(hint("28P01"), Some(CHECK_USER));
        assert_eq!(hint("3D000"), Some(CREATE_DATABASE));
        for code in ["57P03", "53300", "08006", "55000"] {
            assert_eq!(hint(code), Some(CHECK_ADDRESS), "{code}");
        }
        // A timeout of a statement, a missing table, a missing permission.
        for code in ["57014", "42P01", "42501", ""] {
            assert_eq!(hint(code), None, "{code}");
        }
        let refused = |source| StoreError::Open(OpenError::Unusable { path: String::new(), source });
        let io = sqlx::Error::Io(std::io::ErrorKind::ConnectionRefused.into());
        assert_eq!(refused(io).retry_hint(), Some(CHECK_ADDRESS));
        assert_eq!(refused(sqlx::Error::Configuration("another version".into())).retry_hint(), None);
        assert_eq!(StoreError::Secret(crate::SecretError::WrongKey).retry_hint(), None);
    }
}
