//! What is kept of a clock across restarts, and why deletion is paused.

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

    /// The word that a record keeps.
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

/// What the clock did, for a sentence that begins with the clock.
impl fmt::Display for PauseCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SteppedAhead => "moved ahead by more than an hour that did not pass",
            Self::LongDowntime => "is more than 7 days past the last recorded time",
            Self::Behind => "is behind the last recorded time",
        })
    }
}

/// Times are as the clock shows them that is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub cause: PauseCause,
    pub began: i64,
    pub last_wall: i64,
    /// How long the clock has been steady since, in milliseconds of running servers.
    pub steady: i64,
}

impl Pause {
    /// Whether this is still the clock that the pause is about, after a restart.
    pub(super) fn continues_at(&self, wall: i64) -> bool {
        (-MAX_STEP..=MAX_DOWNTIME).contains(&wall.saturating_sub(self.last_wall))
    }
}

/// Dates that a clock made while it was behind. What bears one is kept as if it were of `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misdated {
    pub from: i64,
    pub to: i64,
    pub until: i64,
}

/// What is kept of a clock across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRecord {
    /// The last time that was right. While deletion is paused it goes on with monotonic time alone.
    pub trusted: i64,
    /// Goes up when a clock is accepted, so that everybody who watches it judges it anew.
    pub version: i64,
    pub pause: Option<Pause>,
    pub misdated: Option<Misdated>,
}

impl ClockRecord {
    /// The first one. Data of before there were records is as good as one: the clock has been at `newest`, which a
    /// page view may be ahead of by a day.
    pub fn first(newest: Option<i64>, now: i64) -> Self {
        let is_ahead = |newest: i64| (1..=DAY).contains(&newest.saturating_sub(now));
        let trusted = newest.filter(|newest| !is_ahead(*newest)).unwrap_or(now);
        Self { trusted, version: 0, pause: None, misdated: None }
    }

    /// How far ahead a clock may be at the start. A clock that was not trusted before is no better for a restart.
    pub(super) fn max_ahead(&self) -> i64 {
        match self.pause {
            Some(pause) if pause.cause != PauseCause::Behind => {
                pause.last_wall.saturating_sub(self.trusted).saturating_sub(MAX_STEP).clamp(0, MAX_DOWNTIME)
            }
            _ => MAX_DOWNTIME,
        }
    }
}
