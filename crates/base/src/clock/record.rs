//! Defines what the server stores about a clock across restarts, and the reasons to pause deletion.

use std::fmt;
use std::str::FromStr;

use super::watch::{DAY, MAX_DOWNTIME, MAX_STEP};

/// Why deletion is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseCause {
    SteppedAhead,
    LongDowntime,
    Behind,
}

impl PauseCause {
    pub(super) const ALL: [Self; 3] = [Self::SteppedAhead, Self::LongDowntime, Self::Behind];

    /// The name in the stored record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SteppedAhead => "stepped_ahead",
            Self::LongDowntime => "long_downtime",
            Self::Behind => "behind",
        }
    }
}

impl FromStr for PauseCause {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == text).ok_or(())
    }
}

/// The predicate of a sentence whose subject is the clock.
impl fmt::Display for PauseCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SteppedAhead => "jumped ahead by more than an hour",
            Self::LongDowntime => "is more than 7 days past the last recorded time",
            Self::Behind => "is behind the last recorded time",
        })
    }
}

/// A pause of deletion. Its times are readings of the clock that is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub cause: PauseCause,
    pub began: i64,
    pub last_wall: i64,
    /// How long the clock has been steady since then, in milliseconds, counted while a server runs.
    pub steady: i64,
}

impl Pause {
    /// Whether the clock still continues from the paused one after a restart.
    pub(super) fn continues_at(&self, wall: i64) -> bool {
        (-MAX_STEP..=MAX_DOWNTIME).contains(&wall.saturating_sub(self.last_wall))
    }
}

/// Timestamps that a clock produced while it was behind. Data with such a timestamp is kept as if it dated
/// from `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MisdatedRange {
    pub from: i64,
    pub to: i64,
    pub until: i64,
}

/// What the server stores about a clock across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRecord {
    /// The last trusted time. While deletion is paused, it advances with monotonic time only.
    pub trusted: i64,
    /// Increases when a clock is accepted, so that every process checks the clock again.
    pub version: i64,
    pub pause: Option<Pause>,
    pub misdated: Option<MisdatedRange>,
}

impl ClockRecord {
    /// The first record of a database. For data that is older than clock records, the `newest` timestamp
    /// stands in for one. A page view may be up to a day ahead of the clock.
    pub fn first(newest: Option<i64>, now: i64) -> Self {
        let is_ahead = |newest: i64| (1..=DAY).contains(&newest.saturating_sub(now));
        let trusted = newest.filter(|newest| !is_ahead(*newest)).unwrap_or(now);
        Self { trusted, version: 0, pause: None, misdated: None }
    }

    /// How far ahead a clock may be at the start. A restart does not make an untrusted clock trusted.
    pub(super) fn max_ahead(&self) -> i64 {
        match self.pause {
            Some(pause) if pause.cause != PauseCause::Behind => {
                pause.last_wall.saturating_sub(self.trusted).saturating_sub(MAX_STEP).clamp(0, MAX_DOWNTIME)
            }
            _ => MAX_DOWNTIME,
        }
    }
}
