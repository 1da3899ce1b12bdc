//! Hashes address and user agent into an anonymous visitor, with a salt per day.
//!
//! The salt is deleted after its day, so a visitor cannot be identified later or recognized on another day.

use std::collections::HashMap;
use std::net::IpAddr;

use sha2::{Digest, Sha256};
use sqlx::SqliteConnection;

use super::project::DAY;
use crate::event::Event;
use crate::views::Failure;

type Salt = [u8; 32];

#[derive(Default)]
pub(super) struct Salts(HashMap<i64, Salt>);

impl Salts {
    /// Whether the salts of today and tomorrow exist, and none is due for deletion.
    pub(super) fn are_current(&self, today: i64, trusted_day: Option<i64>) -> bool {
        let has_both = self.0.contains_key(&today) && self.0.contains_key(&(today + 1));
        has_both && (self.0.len() == 2 || trusted_day.is_none())
    }

    /// Creates the salts of today and of tomorrow, for senders whose clocks are ahead. A late view uses the
    /// salt of the day of its arrival. While the clock is not trusted, no salt is deleted: it may be the salt
    /// of the real day, and that day's readers would count twice.
    pub(super) async fn rotate(
        connection: &mut SqliteConnection,
        today: i64,
        trusted_day: Option<i64>,
    ) -> Result<Self, Failure> {
        if let Some(day) = trusted_day {
            sqlx::query("DELETE FROM salt WHERE day < ? OR day > ? + 1")
                .bind(day)
                .bind(day)
                .execute(&mut *connection)
                .await?;
        }
        for day in [today, today + 1] {
            let mut salt = Salt::default();
            getrandom::fill(&mut salt).map_err(|error| Failure::new(error.to_string()))?;
            sqlx::query("INSERT INTO salt (day, salt) VALUES (?, ?) ON CONFLICT DO NOTHING")
                .bind(day)
                .bind(salt.as_slice())
                .execute(&mut *connection)
                .await?;
        }
        let kept: Vec<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT day, salt FROM salt").fetch_all(connection).await?;
        let salt = |(day, salt): (i64, Vec<u8>)| Some((day, salt.try_into().ok()?));
        Ok(Self(kept.into_iter().filter_map(salt).collect()))
    }

    /// Without addresses, each user agent counts as one visitor.
    pub(super) fn visitor(&self, project: i64, event: &Event, today: i64) -> Option<u64> {
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
