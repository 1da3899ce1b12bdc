//! Waits for a database that cannot be connected to yet, so that a server can be started before it.

use std::time::Duration;

use store::StoreError;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Opens until the database is there. Any other error is the answer at once. It has no end of its own:
/// a service manager that gave up would start the same again.
pub(crate) async fn until_reachable<T, F>(mut open: impl FnMut() -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let mut tries = 0_u32;
    loop {
        let error = match open().await {
            Err(error) => error,
            opened => return opened,
        };
        let hint = error.downcast_ref().and_then(StoreError::retry_hint);
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
        // As the driver says that nobody listens there.
        let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into();
        StoreError::from(OpenError::Unusable { path: "docs".into(), source }).into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_comes_late_is_waited_for() {
        let (start, tries) = (tokio::time::Instant::now(), Cell::new(0));
        let open = || async {
            tries.set(tries.get() + 1);
            if tries.get() < 8 { Err(refused()) } else { Ok(tries.get()) }
        };
        assert_eq!(until_reachable(open).await.unwrap(), 8);
        assert_eq!(start.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16 + 30 + 30);
    }

    #[tokio::test]
    async fn what_waiting_does_not_mend_is_said_at_once() {
        let open = || async { Err::<(), _>(StoreError::from(store::SecretError::WrongKey).into()) };
        assert!(until_reachable(open).await.unwrap_err().to_string().contains("master key"));
    }
}
