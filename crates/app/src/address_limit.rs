//! How often one address may send something within a minute, where there is no key to count by.
//! In memory: what a restart forgets is a minute old at most.

use std::cell::Cell;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Clock;
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// Addresses that are remembered at once: about 4 MiB of them.
const MOST: usize = 64 * 1024;

/// `None` is whoever has no known address, all of them together.
type Sender = Option<IpAddr>;
type Limiter = RateLimiter<Sender, HashMapStateStore<Sender>, Elapsed, NoOpMiddleware<Nanos>>;

pub struct AddressLimit {
    limiter: Mutex<Limiter>,
    quota: Quota,
    clock: Arc<dyn Clock>,
    most: usize,
}

/// The address has used up its minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOften {
    pub per_minute: u32,
    pub wait: Duration,
}

impl AddressLimit {
    pub fn new(per_minute: u32, clock: Arc<dyn Clock>) -> Self {
        Self::with(Quota::per_minute(NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN)), clock)
    }

    pub fn once_an_hour(clock: Arc<dyn Clock>) -> Self {
        Self::with(Quota::per_hour(NonZeroU32::MIN), clock)
    }

    fn with(quota: Quota, clock: Arc<dyn Clock>) -> Self {
        Self { limiter: Mutex::new(fresh(quota, &clock)), quota, clock, most: MOST }
    }

    /// Counts one of `address`, if there is room for it.
    pub fn count(&self, address: Option<IpAddr>) -> Result<(), TooOften> {
        let mut limiter = self.lock();
        self.make_room(&mut limiter);
        limiter.check_key(&address.map(network)).map_err(|until| TooOften {
            per_minute: self.quota.burst_size().get(),
            wait: until.wait_time_from(limiter.clock().now()),
        })
    }

    /// Forgets who has been quiet. Where too many are not, all are forgotten: whoever sends from
    /// that many addresses is not held up by a limit a single one has.
    fn make_room(&self, limiter: &mut Limiter) {
        if limiter.len() < self.most {
            return;
        }
        limiter.retain_recent();
        // By half at least, so that the next walk over all of them is far away.
        if limiter.len() > self.most / 2 {
            *limiter = fresh(self.quota, &self.clock);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Limiter> {
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name is counted as if it were a network: by 64 bits of its hash.
pub fn place(name: &str) -> IpAddr {
    let hash = Sha256::digest(name.as_bytes());
    let network = hash.first_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first));
    Ipv6Addr::from_bits(u128::from(network) << 64).into()
}

fn fresh(quota: Quota, clock: &Arc<dyn Clock>) -> Limiter {
    RateLimiter::hashmap_with_clock(quota, Elapsed::new(clock.clone()))
}

/// Who has one IPv6 address has the 2^64 of its network, too.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
    }
}

/// Our clock as time that only goes on: when a clock is set back by an hour, nobody waits for it.
pub struct Elapsed {
    clock: Arc<dyn Clock>,
    /// When it was last asked, and the nanoseconds that had passed by then.
    seen: Cell<(Timestamp, u64)>,
}

impl Elapsed {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { seen: Cell::new((clock.now(), 0)), clock }
    }

    /// What has passed since it began.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.now().as_u64())
    }
}

impl governor::clock::Clock for Elapsed {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        let now = self.clock.now();
        let (last, passed) = self.seen.get();
        let passed = passed + u64::try_from(now.duration_since(last).as_nanos()).unwrap_or(0);
        self.seen.set((now, passed));
        Nanos::new(passed)
    }
}

#[cfg(test)]
mod tests {
    use base::TestClock;
    use jiff::SignedDuration;

    use super::*;

    fn limit(per_minute: u32) -> (AddressLimit, Arc<TestClock>) {
        let clock = Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
        (AddressLimit::new(per_minute, clock.clone()), clock)
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_address_has_its_minute_and_others_have_theirs() {
        let (limit, clock) = limit(2);
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(address);
        assert_eq!([limit.count(one), limit.count(one)], [Ok(()); 2]);
        let refused = TooOften { per_minute: 2, wait: Duration::from_secs(30) };
        assert_eq!(limit.count(one), Err(refused));
        assert_eq!([limit.count(other), limit.count(None), limit.count(None)], [Ok(()); 3]);
        assert!(limit.count(None).is_err(), "those without an address share one");
        clock.advance(SignedDuration::from_secs(30));
        assert_eq!(limit.count(one), Ok(()));
        assert!(limit.count(one).is_err());
    }

    #[test]
    fn an_ipv6_network_is_one_sender() {
        let (limit, _) = limit(1);
        assert_eq!(limit.count(address("2001:db8:0:1::1")), Ok(()));
        assert!(limit.count(address("2001:db8:0:1:ffff::2")).is_err());
        assert_eq!(limit.count(address("2001:db8:0:2::1")), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_nobody_waiting() {
        let (limit, clock) = limit(1);
        let one = address("192.0.2.1");
        assert_eq!(limit.count(one), Ok(()));
        clock.advance(SignedDuration::from_hours(-24));
        assert!(limit.count(one).is_err());
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(limit.count(one), Ok(()));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut limit, clock) = limit(60);
        limit.most = 8;
        let sender = |n: u32| Some(IpAddr::from(n.to_be_bytes()));
        let busy = sender(0);
        (0..60).for_each(|_| limit.count(busy).unwrap());
        for n in 1..100 {
            clock.advance(SignedDuration::from_secs(1));
            limit.count(sender(n)).unwrap();
            limit.count(busy).unwrap();
            assert!(limit.count(busy).is_err(), "only the quiet ones are forgotten");
            assert!(limit.lock().len() <= 8);
        }
        for n in 100..200 {
            limit.count(sender(n)).unwrap();
            assert!(limit.lock().len() <= 8, "also when none is quiet");
        }
    }
}
