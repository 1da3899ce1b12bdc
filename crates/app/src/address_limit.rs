//! Limits requests per address and minute, for requests without an API key.
//!
//! The counts are only in memory: a restart forgets at most a minute.

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

/// The number of addresses in memory: about 4 MiB.
const MAX_ADDRESSES: usize = 64 * 1024;

/// `None`: all senders without a known address together.
type Sender = Option<IpAddr>;
type Limiter = RateLimiter<Sender, HashMapStateStore<Sender>, Elapsed, NoOpMiddleware<Nanos>>;

pub struct AddressLimit {
    limiter: Mutex<Limiter>,
    quota: Quota,
    clock: Arc<dyn Clock>,
    max_addresses: usize,
}

/// The address exceeded its limit.
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
        Self { limiter: Mutex::new(new_limiter(quota, &clock)), quota, clock, max_addresses: MAX_ADDRESSES }
    }

    /// Counts one request of `address`, if its limit allows it.
    pub fn count(&self, address: Option<IpAddr>) -> Result<(), TooOften> {
        let mut limiter = self.lock();
        self.evict(&mut limiter);
        limiter.check_key(&address.map(network)).map_err(|until| TooOften {
            per_minute: self.quota.burst_size().get(),
            wait: until.wait_time_from(limiter.clock().now()),
        })
    }

    /// Forgets idle addresses. If too many are active, forgets all of them: a limit per address doesn't stop
    /// a sender with so many addresses anyway.
    fn evict(&self, limiter: &mut Limiter) {
        if limiter.len() < self.max_addresses {
            return;
        }
        limiter.retain_recent();
        // At least half are removed, so that the next walk over all addresses is far away.
        if limiter.len() > self.max_addresses / 2 {
            *limiter = new_limiter(self.quota, &self.clock);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Limiter> {
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Maps a name to an address, by 64 bits of its hash, so that names can be counted like networks.
pub fn address_of_name(name: &str) -> IpAddr {
    let hash = Sha256::digest(name.as_bytes());
    let network = hash.first_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first));
    Ipv6Addr::from_bits(u128::from(network) << 64).into()
}

fn new_limiter(quota: Quota, clock: &Arc<dyn Clock>) -> Limiter {
    RateLimiter::hashmap_with_clock(quota, Elapsed::new(clock.clone()))
}

/// Returns what a limit counts: an IPv4 address itself, or the /64 network of an IPv6 address, because a client
/// usually controls all addresses of its /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
    }
}

/// Turns the clock into monotonic time, so that no client waits longer when the clock is set back.
pub struct Elapsed {
    clock: Arc<dyn Clock>,
    /// The time of the last reading, and the nanoseconds that had passed by then.
    last: Cell<(Timestamp, u64)>,
}

impl Elapsed {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { last: Cell::new((clock.now(), 0)), clock }
    }

    /// The time since the start.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.now().as_u64())
    }
}

impl governor::clock::Clock for Elapsed {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        let now = self.clock.now();
        let (last, passed) = self.last.get();
        let passed = passed + u64::try_from(now.duration_since(last).as_nanos()).unwrap_or(0);
        self.last.set((now, passed));
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
    fn each_address_has_its_own_limit() {
        let (limit, clock) = limit(2);
        let [first, second] = ["192.0.2.1", "192.0.2.2"].map(address);
        assert_eq!([limit.count(first), limit.count(first)], [Ok(()); 2]);
        let refused = TooOften { per_minute: 2, wait: Duration::from_secs(30) };
        assert_eq!(limit.count(first), Err(refused));
        assert_eq!([limit.count(second), limit.count(None), limit.count(None)], [Ok(()); 3]);
        assert!(limit.count(None).is_err(), "senders without an address share a limit");
        clock.advance(SignedDuration::from_secs(30));
        assert_eq!(limit.count(first), Ok(()));
        assert!(limit.count(first).is_err());
    }

    #[test]
    fn an_ipv6_network_is_one_sender() {
        let (limit, _) = limit(1);
        assert_eq!(limit.count(address("2001:db8:0:1::1")), Ok(()));
        assert!(limit.count(address("2001:db8:0:1:ffff::2")).is_err());
        assert_eq!(limit.count(address("2001:db8:0:2::1")), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_delays_no_client() {
        let (limit, clock) = limit(1);
        let sender = address("192.0.2.1");
        assert_eq!(limit.count(sender), Ok(()));
        clock.advance(SignedDuration::from_hours(-24));
        assert!(limit.count(sender).is_err());
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(limit.count(sender), Ok(()));
    }

    #[test]
    fn the_number_of_addresses_in_memory_is_bounded() {
        let (mut limit, clock) = limit(60);
        limit.max_addresses = 8;
        let sender = |n: u32| Some(IpAddr::from(n.to_be_bytes()));
        let busy = sender(0);
        (0..60).for_each(|_| limit.count(busy).unwrap());
        for n in 1..100 {
            clock.advance(SignedDuration::from_secs(1));
            limit.count(sender(n)).unwrap();
            limit.count(busy).unwrap();
            assert!(limit.count(busy).is_err(), "only idle addresses are forgotten");
            assert!(limit.lock().len() <= 8);
        }
        for n in 100..200 {
            limit.count(sender(n)).unwrap();
            assert!(limit.lock().len() <= 8, "also when none is idle");
        }
    }
}
