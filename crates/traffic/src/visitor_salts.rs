//! Hashes address and user agent into an anonymous visitor, with a salt per day.
//!
//! The salt is deleted after its day, so a visitor cannot be identified later or recognized on another day.

use std::collections::HashMap;
use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::event::Event;
use crate::range_parts::DAY;

pub(crate) type Salt = [u8; 32];

/// Salts by day.
#[derive(Debug, Clone, Default)]
pub(crate) struct Salts(pub(crate) HashMap<i64, Salt>);

impl Salts {
    /// Without addresses, each user agent counts as one visitor.
    pub(crate) fn visitor(&self, project: i64, event: &Event, today: i64) -> Option<u64> {
        let day = event.at.div_euclid(DAY);
        let salt = self.0.get(&day).or_else(|| self.0.get(&today))?;
        let mut hash = Sha256::new_with_prefix(salt);
        hash.update(project.to_le_bytes());
        hash.update(day.to_le_bytes());
        hash.update(match event.address {
            Some(IpAddr::V4(address)) => address.to_ipv6_mapped().octets(),
            Some(IpAddr::V6(address)) => address.octets(),
            None => [0; 16],
        });
        hash.update(event.user_agent.as_deref().unwrap_or_default());
        hash.finalize().first_chunk().copied().map(u64::from_le_bytes)
    }
}
