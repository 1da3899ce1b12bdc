//! Divides the event streams that may be open fairly between organizations, and within one between its keys and
//! sessions.
//!
//! A key or session has at most a quarter, an organization at most half. When all are open, a stream of the organization
//! that has the most is closed for one of an organization that has fewer, and within one organization the same holds
//! between keys and sessions. The client of a closed stream can come again and say which event was its last.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::OrganizationId;
use tokio_util::sync::CancellationToken;

/// The largest part of all streams that a key or session can have, and an organization, as a divisor.
const CREDENTIAL_PART: usize = 4;
const ORGANIZATION_PART: usize = 2;
/// Where there are few streams, a part of them is none.
const MIN_PART: usize = 2;

#[derive(Clone)]
pub struct Streams(Arc<Mutex<State>>);

struct State {
    max_open: usize,
    last_number: u64,
    /// In the order in which they were opened.
    open: BTreeMap<u64, Stream>,
}

struct Stream {
    organization: OrganizationId,
    /// The hash of a key or of a session's token.
    credential: Vec<u8>,
    cut: CancellationToken,
}

/// An open stream, until it is dropped.
pub struct StreamPermit {
    streams: Streams,
    number: u64,
    /// Ends when the stream has to give way.
    pub cut: CancellationToken,
}

impl Streams {
    pub fn new(max_open: usize) -> Self {
        Self(Arc::new(Mutex::new(State { max_open, last_number: 0, open: BTreeMap::new() })))
    }

    /// `None` when this credential or organization has its part, or when all are open and nobody has more of them.
    pub fn open(&self, organization: &OrganizationId, credential: Vec<u8>) -> Option<StreamPermit> {
        let mut state = self.state();
        state.make_room(organization, &credential)?;
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
    fn part(&self, divisor: usize) -> usize {
        (self.max_open / divisor).max(MIN_PART)
    }

    /// Closes a stream, if one has to be closed for `credential`; `None` if none may be.
    fn make_room(&mut self, organization: &OrganizationId, credential: &[u8]) -> Option<()> {
        let organizations = count(self.open.values().map(|stream| &stream.organization));
        let own = organizations.get(organization).copied().unwrap_or(0);
        let is_own =
            |stream: &&Stream| stream.organization == *organization && stream.credential == credential;
        if self.open.values().filter(is_own).count() >= self.part(CREDENTIAL_PART) {
            return None;
        }
        let is_at_part = own >= self.part(ORGANIZATION_PART);
        if self.open.len() < self.max_open && !is_at_part {
            return Some(());
        }
        let others = largest(&organizations, &organization).filter(|_| !is_at_part);
        let victim = self.victim(others.unwrap_or(organization), organization, credential)?;
        self.open.remove(&victim)?.cut.cancel();
        Some(())
    }

    /// The stream of `from` that gives way: the newest of the credential that has the most.
    fn victim(&self, from: &OrganizationId, newcomer: &OrganizationId, credential: &[u8]) -> Option<u64> {
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

fn count<K: Hash + Eq>(of: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut counts = HashMap::new();
    for key in of {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Whoever has the most, if `newcomer` has fewer also after one changes hands.
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

    /// As many as this credential gets, but no more than 100.
    fn open_all(streams: &Streams, organization: &str, credential: &str) -> Vec<StreamPermit> {
        (0..100).map_while(|_| open(streams, organization, credential)).collect()
    }

    #[test]
    fn an_organization_with_half_of_the_streams_gives_way() {
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
    fn a_key_with_all_streams_gives_way_to_another_key_of_its_organization() {
        let streams = Streams::new(32);
        let two = [open_all(&streams, "a", "one"), open_all(&streams, "a", "two")];
        let two: Vec<_> = two.into_iter().flatten().collect();
        assert_eq!((two.len(), closed(&two)), (16, 0), "a quarter each, half for both");
        let third = open_all(&streams, "a", "three");
        assert_eq!(
            (third.len(), closed(&third), closed(&two)),
            (5, 0, 5),
            "they have about the same by then"
        );
    }
}
