//! Retries until the server can connect to its database, so that the server can start first.

use std::time::Duration;

use store::StoreError;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(30);
/// How often a statement may fail while the server opens the database. The connection may have been cut; after that, it is
/// something else.
const MAX_FAILED_STATEMENTS: u32 = 5;

/// Retries `open` until the database is reachable, and fails immediately with any other error. There is no
/// maximum time, because a service manager would only start the server again.
pub(crate) async fn until_reachable<T, F>(mut open: impl FnMut() -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let (mut tries, mut failed_statements) = (0_u32, 0_u32);
    loop {
        let error = match open().await {
            Err(error) => error,
            result => return result,
        };
        let hint = match error.downcast_ref() {
            Some(StoreError::Database(_)) if failed_statements < MAX_FAILED_STATEMENTS => {
                failed_statements += 1;
                Some("the database may have been stopped meanwhile")
            }
            error => error.and_then(StoreError::retry_hint),
        };
        let Some(hint) = hint else { return Err(error) };
        let delay = backoff(tries);
        tracing::warn!("{error:#}: {hint}; trying again in {} s", delay.as_secs());
        tokio::time::sleep(delay).await;
        tries = tries.saturating_add(1);
    }
}

fn backoff(tries: u32) -> Duration {
    FIRST_DELAY.saturating_mul(1 << tries.min(16)).min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use base::sqlite::OpenError;

    use super::*;

    fn refused() -> anyhow::Error {
        // The driver's error when nothing listens on the port.
        let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into();
        StoreError::from(OpenError::Unusable { path: "docs".into(), source }).into()
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_waits_for_a_database_that_starts_later() {
        let (start, tries) = (tokio::time::Instant::now(), Cell::new(0));
        let open = || async {
            tries.set(tries.get() + 1);
            if tries.get() < 8 { Err(refused()) } else { Ok(tries.get()) }
        };
        assert_eq!(until_reachable(open).await.unwrap(), 8);
        assert_eq!(start.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16 + 30 + 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_be_cut_while_the_server_opens_the_database() {
        let tries = Cell::new(0);
        let open = |successes_from: u32| {
            tries.set(tries.get() + 1);
            let cut = StoreError::Database("Broken pipe (os error 32)".into());
            let is_up = tries.get() >= successes_from;
            async move { if is_up { Ok(()) } else { Err(anyhow::Error::from(cut)) } }
        };
        until_reachable(|| open(4)).await.unwrap();
        assert_eq!(tries.replace(0), 4);
        assert!(until_reachable(|| open(u32::MAX)).await.is_err());
        assert_eq!(tries.get(), MAX_FAILED_STATEMENTS + 1);
    }

    #[tokio::test]
    async fn an_error_that_a_retry_cannot_fix_is_returned_at_once() {
        let open = || async { Err::<(), _>(StoreError::from(store::SecretError::WrongKey).into()) };
        assert!(until_reachable(open).await.unwrap_err().to_string().contains("master key"));
    }
}
