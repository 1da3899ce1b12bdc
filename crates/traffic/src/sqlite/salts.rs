//! Creates and deletes the salts of visitors.

use sqlx::SqliteConnection;

use crate::views::Failure;
use crate::visitor_salts::{Salt, Salts};

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
}
