//! Bounds password guessing: by address, by name, and by both together with a growing delay.
//!
//! An address that a member signed in from before is bound by address and by pair alone: strangers who try a name
//! cannot lock its member out. All of it is in memory; what a restart forgets is an hour old at most.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::Clock;

use crate::address_limit::{AddressLimit, Elapsed, TooOften, network, place};

const ADDRESS_TRIES_PER_MINUTE: u32 = 20;
const NAME_TRIES_PER_MINUTE: u32 = 5;
const JOINS_PER_MINUTE: u32 = 20;
/// Tries of one name from one address that need no wait.
const FREE_TRIES: u32 = 5;
/// The same, from a network that the member signed in from before.
const FREE_TRIES_IF_KNOWN: u32 = 10;
const MAX_DELAY: Duration = Duration::from_secs(15 * 60);
const FORGET_AFTER: Duration = Duration::from_secs(60 * 60);
/// Pairs that are remembered at once: about 5 MiB of them.
const MAX_PAIRS: usize = 64 * 1024;

/// One try to sign in: for which name, and from where.
#[derive(Clone, Copy)]
pub struct SignInTry<'a> {
    pub address: Option<IpAddr>,
    pub name: &'a str,
    /// An account of that name has signed in from this network before.
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

    /// Counted first, and also for a try that is refused afterwards: it costs no look into the store.
    pub fn count_address(&self, address: Option<IpAddr>) -> Result<(), TooOften> {
        self.by_address.count(address)
    }

    pub fn count(&self, one: &SignInTry<'_>) -> Result<(), TooOften> {
        self.with_pairs(|pairs| pairs.check(one))?;
        if !one.is_known {
            self.count_name(one.name)?;
        }
        self.with_pairs(|pairs| pairs.add(one));
        Ok(())
    }

    /// For accounts of the name that are not known from there, beside one that is.
    pub fn count_name(&self, name: &str) -> Result<(), TooOften> {
        self.by_name.count(Some(place(name)))
    }

    /// The password was right. What was wrong before still counts: who has an account of the same name in another
    /// organization must not get new tries by signing in to that one.
    pub fn give_back(&self, one: &SignInTry<'_>) {
        self.with_pairs(|pairs| pairs.give_back(one));
    }

    /// A try to join by an invitation.
    pub fn count_join(&self, address: Option<IpAddr>, link: &str) -> Result<(), TooOften> {
        self.joins_by_address.count(address)?;
        self.joins_by_link.count(Some(place(link)))
    }

    /// Whether this is the first report about `subject` within an hour, so that repeating it fills no log.
    pub fn is_first_report(&self, subject: &str) -> bool {
        self.reports.count(Some(place(subject))).is_ok()
    }

    fn with_pairs<T>(&self, work: impl FnOnce(&mut Pairs) -> T) -> T {
        work(&mut self.pairs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An address or its network, and the hash of a name.
type Pair = (Option<IpAddr>, IpAddr);

#[derive(Clone, Copy)]
struct Tried {
    count: u32,
    last: Duration,
    /// The next try is taken then.
    next: Duration,
}

struct Pairs {
    tried: HashMap<Pair, Tried>,
    elapsed: Elapsed,
    max: usize,
}

impl Pairs {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { tried: HashMap::new(), elapsed: Elapsed::new(clock), max: MAX_PAIRS }
    }

    fn check(&mut self, one: &SignInTry<'_>) -> Result<(), TooOften> {
        let now = self.elapsed.total();
        match self.tried.get(&pair(one)).map(|tried| tried.next) {
            Some(next) if next > now => Err(TooOften { per_minute: FREE_TRIES, wait: next - now }),
            _ => Ok(()),
        }
    }

    fn add(&mut self, one: &SignInTry<'_>) {
        let now = self.elapsed.total();
        self.make_room(now);
        let tried = self.tried.entry(pair(one)).or_insert(Tried { count: 0, last: now, next: now });
        if now.saturating_sub(tried.last) > FORGET_AFTER {
            tried.count = 0;
        }
        tried.count = tried.count.saturating_add(1);
        (tried.last, tried.next) = (now, now + delay(tried.count, one.is_known));
    }

    fn give_back(&mut self, one: &SignInTry<'_>) {
        let now = self.elapsed.total();
        if let Some(tried) = self.tried.get_mut(&pair(one)) {
            tried.count = tried.count.saturating_sub(1);
            tried.next = now + delay(tried.count, one.is_known);
        }
    }

    /// Forgets who has been quiet, and then the older half: the address and the name are counted on their own.
    fn make_room(&mut self, now: Duration) {
        if self.tried.len() < self.max {
            return;
        }
        self.tried.retain(|_, tried| now.saturating_sub(tried.last) <= FORGET_AFTER);
        if self.tried.len() > self.max / 2 {
            let mut times: Vec<_> = self.tried.values().map(|tried| tried.last).collect();
            times.sort_unstable();
            let cut = times[times.len() - self.max / 2];
            let mut kept_of_cut = self.max / 2 - times.iter().filter(|last| **last > cut).count();
            self.tried.retain(|_, tried| {
                let is_kept = tried.last > cut || (tried.last == cut && kept_of_cut > 0);
                kept_of_cut -= usize::from(is_kept && tried.last == cut);
                is_kept
            });
        }
    }
}

fn pair(one: &SignInTry<'_>) -> Pair {
    (one.address.map(network), place(one.name))
}

/// None for the first tries, then 2 seconds, and twice as long after every further one.
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

    fn tries(address: &str, name: &'static str, is_known: bool) -> SignInTry<'static> {
        SignInTry { address: Some(address.parse().unwrap()), name, is_known }
    }

    #[test]
    fn a_known_address_has_free_tries_and_then_a_growing_delay() {
        let (limit, clock) = limit();
        let ada = tries("192.0.2.1", "ada@acme.dev", true);
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
            assert_eq!(limit.count(&ada), Ok(()), "after an hour it begins anew");
        }
    }

    #[test]
    fn strangers_hold_up_a_name_for_strangers_alone() {
        let (limit, clock) = limit();
        let from = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"];
        let results = from.map(|address| limit.count(&tries(address, "ada@acme.dev", false)).is_ok());
        assert_eq!(results, [true, true, true, true, true, false], "a name alone has a bound");
        assert_eq!(limit.count(&tries("198.51.100.1", "ada@acme.dev", true)), Ok(()));
        assert_eq!(limit.count(&tries("192.0.2.6", "bob@acme.dev", false)), Ok(()));
        for _ in 0..20 {
            assert_eq!(limit.count_address(Some("192.0.2.9".parse().unwrap())), Ok(()));
        }
        assert!(limit.count_address(Some("192.0.2.9".parse().unwrap())).is_err(), "and so has an address");
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(limit.count(&tries("192.0.2.6", "ada@acme.dev", false)), Ok(()));
    }

    #[test]
    fn a_right_password_gives_back_its_own_try_alone() {
        let (limit, _) = limit();
        let ada = tries("192.0.2.1", "ada@acme.dev", true);
        for _ in 0..30 {
            assert_eq!(limit.count(&ada), Ok(()));
            limit.give_back(&ada);
        }
        for _ in 0..11 {
            assert_eq!(limit.count(&ada), Ok(()));
        }
        assert!(limit.count(&ada).is_err());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (limit, clock) = limit();
        limit.with_pairs(|pairs| pairs.max = 8);
        let guessed = tries("192.0.2.1", "ada@acme.dev", true);
        for n in 0..100_u32 {
            let address = Some(IpAddr::from((n + 1).to_be_bytes()));
            limit.count(&SignInTry { address, name: "bob@acme.dev", is_known: true }).unwrap();
            if n % 3 == 0 {
                clock.advance(SignedDuration::from_secs(900));
                limit.count(&guessed).unwrap();
            }
            assert!(limit.with_pairs(|pairs| pairs.tried.len()) <= 8);
        }
        assert!(limit.count(&guessed).is_err(), "the newest ones stay");
    }
}
