//! Divides the event streams fairly between organizations, and within an organization between its API keys
//! and sessions.
//!
//! A key or session has at most a quarter of all streams, and an organization at most half. When all are
//! open, the organization with the most streams loses one to an organization with fewer. The same rule
//! applies between the keys and sessions of one organization. The client of a closed stream can reconnect and
//! name its last event.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::OrganizationId;
use tokio_util::sync::CancellationToken;

/// The maximum share of all streams for a key or session, and for an organization, as divisors.
const CREDENTIAL_DIVISOR: usize = 4;
const ORGANIZATION_DIVISOR: usize = 2;
/// The minimum share, for servers with few streams.
const MIN_SHARE: usize = 2;

#[derive(Clone)]
pub struct Streams(Arc<Mutex<State>>);

struct State {
    max_open: usize,
    last_number: u64,
    /// In the order of opening.
    open: BTreeMap<u64, Stream>,
}

struct Stream {
    organization: OrganizationId,
    /// The hash of an API key or of a session's token.
    credential: Vec<u8>,
    cut: CancellationToken,
}

/// An open stream, until it is dropped.
pub struct StreamPermit {
    streams: Streams,
    number: u64,
    /// Ends when the stream is closed for another one.
    pub cut: CancellationToken,
}

impl Streams {
    pub fn new(max_open: usize) -> Self {
        Self(Arc::new(Mutex::new(State { max_open, last_number: 0, open: BTreeMap::new() })))
    }

    /// `None` when this credential or organization has its maximum share, or when all streams are open and no
    /// other owner has more.
    pub fn open(&self, organization: &OrganizationId, credential: Vec<u8>) -> Option<StreamPermit> {
        let mut state = self.state();
        state.close_one_if_needed(organization, &credential)?;
        state.last_number += 1;
        let (number, cut) = (state.last_number, CancellationToken::new());
        let stream = Stream { organization: organization.clone(), credential, cut: cut.clone() };
        state.open.insert(number, stream);
        Some(StreamPermit { streams: self.clone(), number, cut })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn share(&self, divisor: usize) -> usize {
        (self.max_open / divisor).max(MIN_SHARE)
    }

    /// Closes a stream if the new one of `credential` needs it. `None` if none may be closed.
    fn close_one_if_needed(&mut self, organization: &OrganizationId, credential: &[u8]) -> Option<()> {
        let organizations = count(self.open.values().map(|stream| &stream.organization));
        let own = organizations.get(organization).copied().unwrap_or(0);
        let is_own =
            |stream: &&Stream| stream.organization == *organization && stream.credential == credential;
        if self.open.values().filter(is_own).count() >= self.share(CREDENTIAL_DIVISOR) {
            return None;
        }
        let is_at_maximum = own >= self.share(ORGANIZATION_DIVISOR);
        if self.open.len() < self.max_open && !is_at_maximum {
            return Some(());
        }
        let others = largest(&organizations, &organization).filter(|_| !is_at_maximum);
        let victim = self.choose_victim(others.unwrap_or(organization), organization, credential)?;
        self.open.remove(&victim)?.cut.cancel();
        Some(())
    }

    /// The stream of `from` to close: the newest of the credential with the most streams.
    fn choose_victim(
        &self,
        from: &OrganizationId,
        newcomer: &OrganizationId,
        credential: &[u8],
    ) -> Option<u64> {
        let inside = || self.open.iter().filter(|(_, stream)| stream.organization == *from);
        let credentials = count(inside().map(|(_, stream)| &stream.credential[..]));
        let chosen = match from == newcomer {
            true => largest(&credentials, &credential)?,
            false => {
                credentials.iter().max_by_key(|(_, count)| **count).map(|(credential, _)| *credential)?
            }
        };
        inside().filter(|(_, stream)| stream.credential == chosen).map(|(number, _)| *number).next_back()
    }
}

fn count<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut counts = HashMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// The key with the highest count, if `newcomer` still has fewer after it gets one.
fn largest<K: Hash + Eq + Copy>(counts: &HashMap<K, usize>, newcomer: &K) -> Option<K> {
    let own = counts.get(newcomer).copied().unwrap_or(0);
    let (largest, count) = counts.iter().max_by_key(|(_, count)| **count)?;
    (*count > own + 1).then_some(*largest)
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.streams.state().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(streams: &Streams, organization: &str, credential: &str) -> Option<StreamPermit> {
        streams.open(&OrganizationId(organization.into()), credential.into())
    }

    fn closed(permits: &[StreamPermit]) -> usize {
        permits.iter().filter(|permit| permit.cut.is_cancelled()).count()
    }

    /// Opens as many streams as this credential gets, but at most 100.
    fn open_all(streams: &Streams, organization: &str, credential: &str) -> Vec<StreamPermit> {
        (0..100).map_while(|_| open(streams, organization, credential)).collect()
    }

    #[test]
    fn an_organization_with_half_of_the_streams_loses_some_to_another() {
        let streams = Streams::new(32);
        let both = ["a", "b"].map(|name| [open_all(&streams, name, "one"), open_all(&streams, name, "two")]);
        let both: Vec<_> = both.into_iter().flatten().flatten().collect();
        assert_eq!((both.len(), closed(&both)), (32, 0));
        let third = open_all(&streams, "c", "key");
        assert_eq!((third.len(), closed(&third), closed(&both)), (8, 0, 8));
        assert!(!both[0].cut.is_cancelled(), "the newest are closed");
        drop((both, third));
        assert!(streams.state().open.is_empty());
    }

    #[test]
    fn a_key_loses_streams_to_another_key_of_its_organization() {
        let streams = Streams::new(32);
        let two = [open_all(&streams, "a", "one"), open_all(&streams, "a", "two")];
        let two: Vec<_> = two.into_iter().flatten().collect();
        assert_eq!((two.len(), closed(&two)), (16, 0), "a quarter each, half for both");
        let third = open_all(&streams, "a", "three");
        assert_eq!((third.len(), closed(&third), closed(&two)), (5, 0, 5), "then the counts are about equal");
    }
}
