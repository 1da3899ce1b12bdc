//! Limits password guessing per address, per name, and per pair of both with a growing delay.
//!
//! The limit per name doesn't apply to an address that the member signed in from before, so strangers who try
//! a name can't lock its member out. The counts are only in memory: a restart forgets at most an hour.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::Clock;

use crate::address_limit::{AddressLimit, Elapsed, TooOften, address_of_name, network};

const ADDRESS_TRIES_PER_MINUTE: u32 = 20;
const NAME_TRIES_PER_MINUTE: u32 = 5;
const JOINS_PER_MINUTE: u32 = 20;
/// Tries for one name from one address without a delay.
const FREE_TRIES: u32 = 5;
/// The same, from a network that the member signed in from before.
const FREE_TRIES_IF_KNOWN: u32 = 10;
const MAX_DELAY: Duration = Duration::from_secs(15 * 60);
const FORGET_AFTER: Duration = Duration::from_secs(60 * 60);
/// The number of pairs in memory: about 5 MiB.
const MAX_PAIRS: usize = 64 * 1024;

/// A try to sign in.
#[derive(Clone, Copy)]
pub struct SignInTry<'a> {
    pub address: Option<IpAddr>,
    pub name: &'a str,
    /// An account with that name signed in from this network before.
    pub is_known: bool,
}

pub struct SignInLimit {
    by_address: AddressLimit,
    by_name: AddressLimit,
    pairs: Mutex<Pairs>,
    joins_by_address: AddressLimit,
    joins_by_link: AddressLimit,
    reports: AddressLimit,
}

impl SignInLimit {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let per_minute = |count| AddressLimit::new(count, clock.clone());
        Self {
            by_address: per_minute(ADDRESS_TRIES_PER_MINUTE),
            by_name: per_minute(NAME_TRIES_PER_MINUTE),
            joins_by_address: per_minute(JOINS_PER_MINUTE),
            joins_by_link: per_minute(JOINS_PER_MINUTE),
            reports: AddressLimit::once_an_hour(clock.clone()),
            pairs: Mutex::new(Pairs::new(clock)),
        }
    }

    /// Counts a try per address. Call it first, because it needs no read from the store.
    pub fn count_address(&self, address: Option<IpAddr>) -> Result<(), TooOften> {
        self.by_address.count(address)
    }

    pub fn count(&self, attempt: &SignInTry<'_>) -> Result<(), TooOften> {
        self.with_pairs(|pairs| pairs.check(attempt))?;
        if !attempt.is_known {
            self.count_name(attempt.name)?;
        }
        self.with_pairs(|pairs| pairs.add(attempt));
        Ok(())
    }

    /// Counts a try per name. For accounts with the name that never signed in from the address, if another
    /// one did.
    pub fn count_name(&self, name: &str) -> Result<(), TooOften> {
        self.by_name.count(Some(address_of_name(name)))
    }

    /// Removes the count of one try, because its password was right. Earlier wrong tries still count:
    /// otherwise a person with an account of the same name in another organization could reset them by
    /// signing in there.
    pub fn refund(&self, attempt: &SignInTry<'_>) {
        self.with_pairs(|pairs| pairs.refund(attempt));
    }

    /// Counts a try to join with an invitation link.
    pub fn count_join(&self, address: Option<IpAddr>, link: &str) -> Result<(), TooOften> {
        self.joins_by_address.count(address)?;
        self.joins_by_link.count(Some(address_of_name(link)))
    }

    /// Whether this is the first report about `subject` within an hour, so that repetitions don't fill the
    /// log.
    pub fn is_first_report(&self, subject: &str) -> bool {
        self.reports.count(Some(address_of_name(subject))).is_ok()
    }

    fn with_pairs<T>(&self, work: impl FnOnce(&mut Pairs) -> T) -> T {
        work(&mut self.pairs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An address or its network, and the hash of a name.
type Pair = (Option<IpAddr>, IpAddr);

#[derive(Clone, Copy)]
struct TryCount {
    count: u32,
    last: Duration,
    /// When the next try is allowed.
    next: Duration,
}

struct Pairs {
    tries: HashMap<Pair, TryCount>,
    elapsed: Elapsed,
    max: usize,
}

impl Pairs {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { tries: HashMap::new(), elapsed: Elapsed::new(clock), max: MAX_PAIRS }
    }

    fn check(&mut self, attempt: &SignInTry<'_>) -> Result<(), TooOften> {
        let now = self.elapsed.total();
        match self.tries.get(&pair(attempt)).map(|tries| tries.next) {
            Some(next) if next > now => Err(TooOften { per_minute: FREE_TRIES, wait: next - now }),
            _ => Ok(()),
        }
    }

    fn add(&mut self, attempt: &SignInTry<'_>) {
        let now = self.elapsed.total();
        self.evict(now);
        let tries = self.tries.entry(pair(attempt)).or_insert(TryCount { count: 0, last: now, next: now });
        if now.saturating_sub(tries.last) > FORGET_AFTER {
            tries.count = 0;
        }
        tries.count = tries.count.saturating_add(1);
        (tries.last, tries.next) = (now, now + delay(tries.count, attempt.is_known));
    }

    fn refund(&mut self, attempt: &SignInTry<'_>) {
        let now = self.elapsed.total();
        if let Some(tries) = self.tries.get_mut(&pair(attempt)) {
            tries.count = tries.count.saturating_sub(1);
            tries.next = now + delay(tries.count, attempt.is_known);
        }
    }

    /// Forgets idle pairs, and then the older half. The separate limits per address and per name still apply.
    fn evict(&mut self, now: Duration) {
        if self.tries.len() < self.max {
            return;
        }
        self.tries.retain(|_, tries| now.saturating_sub(tries.last) <= FORGET_AFTER);
        if self.tries.len() > self.max / 2 {
            let mut times: Vec<_> = self.tries.values().map(|tries| tries.last).collect();
            times.sort_unstable();
            let cutoff = times[times.len() - self.max / 2];
            // Of pairs with the same time as the cutoff, so many stay.
            let mut left_at_cutoff = self.max / 2 - times.iter().filter(|last| **last > cutoff).count();
            self.tries.retain(|_, tries| {
                let stays = tries.last > cutoff || (tries.last == cutoff && left_at_cutoff > 0);
                left_at_cutoff -= usize::from(stays && tries.last == cutoff);
                stays
            });
        }
    }
}

fn pair(attempt: &SignInTry<'_>) -> Pair {
    (attempt.address.map(network), address_of_name(attempt.name))
}

/// No delay after the first tries, then 2 seconds, doubled after every further try.
fn delay(count: u32, is_known: bool) -> Duration {
    let free = if is_known { FREE_TRIES_IF_KNOWN } else { FREE_TRIES };
    match count.saturating_sub(free) {
        0 => Duration::ZERO,
        extra => Duration::from_secs(1_u64.checked_shl(extra.min(32)).unwrap_or(u64::MAX)).min(MAX_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use base::TestClock;
    use jiff::SignedDuration;

    use super::*;

    fn limit() -> (SignInLimit, Arc<TestClock>) {
        let clock = Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
        (SignInLimit::new(clock.clone()), clock)
    }

    fn sign_in(address: &str, name: &'static str, is_known: bool) -> SignInTry<'static> {
        SignInTry { address: Some(address.parse().unwrap()), name, is_known }
    }

    #[test]
    fn a_known_address_has_free_tries_and_then_a_growing_delay() {
        let (limit, clock) = limit();
        let ada = sign_in("192.0.2.1", "ada@acme.dev", true);
        for _ in 0..11 {
            assert_eq!(limit.count(&ada), Ok(()));
        }
        for seconds in [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(limit.count(&ada).map_err(|refused| refused.wait), Err(wait));
            clock.advance(SignedDuration::from_secs(seconds as i64) - SignedDuration::from_millis(1));
            assert!(limit.count(&ada).is_err());
            clock.advance(SignedDuration::from_millis(1));
            assert_eq!(limit.count(&ada), Ok(()));
        }
        clock.advance(SignedDuration::from_mins(61));
        for _ in 0..10 {
            assert_eq!(limit.count(&ada), Ok(()), "after an hour the count restarts");
        }
    }

    #[test]
    fn strangers_exhaust_the_limit_of_a_name_only_for_strangers() {
        let (limit, clock) = limit();
        let from = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"];
        let results = from.map(|address| limit.count(&sign_in(address, "ada@acme.dev", false)).is_ok());
        assert_eq!(results, [true, true, true, true, true, false], "a name has a limit");
        assert_eq!(limit.count(&sign_in("198.51.100.1", "ada@acme.dev", true)), Ok(()));
        assert_eq!(limit.count(&sign_in("192.0.2.6", "bob@acme.dev", false)), Ok(()));
        for _ in 0..20 {
            assert_eq!(limit.count_address(Some("192.0.2.9".parse().unwrap())), Ok(()));
        }
        assert!(limit.count_address(Some("192.0.2.9".parse().unwrap())).is_err(), "an address has a limit");
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(limit.count(&sign_in("192.0.2.6", "ada@acme.dev", false)), Ok(()));
    }

    #[test]
    fn a_right_password_refunds_only_its_own_try() {
        let (limit, _) = limit();
        let ada = sign_in("192.0.2.1", "ada@acme.dev", true);
        for _ in 0..30 {
            assert_eq!(limit.count(&ada), Ok(()));
            limit.refund(&ada);
        }
        for _ in 0..11 {
            assert_eq!(limit.count(&ada), Ok(()));
        }
        assert!(limit.count(&ada).is_err());
    }

    #[test]
    fn the_number_of_pairs_in_memory_is_bounded() {
        let (limit, clock) = limit();
        limit.with_pairs(|pairs| pairs.max = 8);
        let guessed = sign_in("192.0.2.1", "ada@acme.dev", true);
        for n in 0..100_u32 {
            let address = Some(IpAddr::from((n + 1).to_be_bytes()));
            limit.count(&SignInTry { address, name: "bob@acme.dev", is_known: true }).unwrap();
            if n % 3 == 0 {
                clock.advance(SignedDuration::from_secs(900));
                limit.count(&guessed).unwrap();
            }
            assert!(limit.with_pairs(|pairs| pairs.tries.len()) <= 8);
        }
        assert!(limit.count(&guessed).is_err(), "the newest pairs stay");
    }
}
