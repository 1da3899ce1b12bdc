//! Detects clock jumps, so that the server does not delete data because of a wrong wall clock.
//!
//! It compares a wall clock with a monotonic clock, and with the last time that was recorded before a
//! restart. It reads no clock itself.
//!
//! A clock is either trusted, or deletion is paused. During a pause the expected time is still known. So a
//! clock that is corrected is trusted immediately, in whichever direction it was wrong.

#[cfg(test)]
mod tests;

use super::record::{ClockRecord, MisdatedRange, Pause, PauseCause};

const HOUR: i64 = 60 * 60 * 1000;
pub(super) const DAY: i64 = 24 * HOUR;

/// How far wall time may drift from monotonic time within a day.
pub(super) const MAX_STEP: i64 = HOUR;
/// How far wall time may be past the last recorded time when a process starts.
pub(super) const MAX_DOWNTIME: i64 = 7 * DAY;
/// How long an untrusted clock must be steady before it is trusted again.
const STEADY_TIME: i64 = DAY;
/// A clock that was behind by less than this does not matter, because retention counts in days.
const MIN_MISDATED: i64 = DAY;
const RECORD_INTERVAL: i64 = 60 * 1000;

/// A wall clock and a monotonic clock, read at the same moment, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub wall: i64,
    pub monotonic: i64,
}

impl Reading {
    /// How far wall time moved ahead of monotonic time since `earlier`; negative when it fell behind.
    fn drift_since(self, earlier: Self) -> i64 {
        let elapsed = self.monotonic.saturating_sub(earlier.monotonic);
        self.wall.saturating_sub(earlier.wall).saturating_sub(elapsed)
    }
}

/// Which timestamps are old enough to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoff {
    /// Timestamps up to and including this one.
    pub before: i64,
    /// Timestamps in this range are kept; see [`MisdatedRange`]. The range is empty when `kept_from` >
    /// `kept_to`.
    pub kept_from: i64,
    pub kept_to: i64,
}

impl Cutoff {
    /// Deletes nothing. Far from `i64::MIN`, so that arithmetic on it does not overflow.
    pub const NOTHING: Self = Self { before: i64::MIN / 4, kept_from: i64::MAX, kept_to: i64::MIN };

    pub fn has_passed(&self, at: i64) -> bool {
        at <= self.before && !(self.kept_from..=self.kept_to).contains(&at)
    }
}

#[derive(Debug, Clone, Copy)]
struct Expectation {
    since: Reading,
    max_ahead: i64,
}

impl Expectation {
    fn from(now: Reading) -> Self {
        Self { since: now, max_ahead: MAX_STEP }
    }

    fn is_met(&self, now: Reading) -> bool {
        (-MAX_STEP..=self.max_ahead).contains(&now.drift_since(self.since))
    }

    fn wall_at(&self, now: Reading) -> i64 {
        now.wall.saturating_sub(now.drift_since(self.since))
    }

    /// Why a clock that does not meet the expectation is not trusted.
    fn cause(&self, now: Reading, ahead: PauseCause) -> PauseCause {
        if now.drift_since(self.since) < 0 { PauseCause::Behind } else { ahead }
    }
}

#[derive(Debug, Clone, Copy)]
struct PauseState {
    pause: Pause,
    /// When this process first saw the clock steady, and for how long it was steady before the last restart.
    steady_since: Reading,
    steady_before: i64,
}

impl PauseState {
    fn begin(cause: PauseCause, now: Reading) -> Self {
        let pause = Pause { cause, began: now.wall, last_wall: now.wall, steady: 0 };
        Self { pause, steady_since: now, steady_before: 0 }
    }

    fn resume(pause: Pause, now: Reading) -> Self {
        Self { pause, steady_since: now, steady_before: pause.steady }
    }

    fn is_steady(&self, now: Reading) -> bool {
        now.drift_since(self.steady_since).abs() <= MAX_STEP
    }
}

/// One clock, as one process sees it.
#[derive(Debug, Clone, Copy)]
pub struct ClockWatch {
    expected: Expectation,
    paused: Option<PauseState>,
    misdated: Option<MisdatedRange>,
    version: i64,
    /// The clock was accepted, and the stored record does not say so yet.
    is_accepted: bool,
}

impl ClockWatch {
    /// Checks a clock against its stored record.
    pub fn start(record: &ClockRecord, now: Reading) -> Self {
        let since = Reading { wall: record.trusted, monotonic: now.monotonic };
        let expected = Expectation { since, max_ahead: record.max_ahead() };
        let paused = record.pause.map(|pause| PauseState::resume(pause, now));
        let ClockRecord { version, misdated, .. } = *record;
        let mut watch = Self { expected, paused, misdated, version, is_accepted: false };
        match record.pause {
            Some(_) if expected.is_met(now) => watch.trust_again(now),
            None if expected.is_met(now) => watch.expected = Expectation::from(now),
            Some(pause) if pause.continues_at(now.wall) => watch.observe(now),
            before => {
                watch.note_misdated(expected.wall_at(now));
                let ahead = before.map_or(PauseCause::LongDowntime, |pause| pause.cause);
                watch.paused = Some(PauseState::begin(expected.cause(now, ahead), now));
            }
        }
        watch
    }

    /// Checks one more reading.
    pub fn observe(&mut self, now: Reading) {
        let is_met = self.expected.is_met(now);
        match &mut self.paused {
            None if is_met => {
                // Small corrections must not add up over years.
                if now.monotonic.saturating_sub(self.expected.since.monotonic) >= STEADY_TIME {
                    self.expected = Expectation::from(now);
                }
            }
            None => {
                let cause = self.expected.cause(now, PauseCause::SteppedAhead);
                self.paused = Some(PauseState::begin(cause, now));
            }
            Some(_) if is_met => self.trust_again(now),
            Some(paused) if paused.is_steady(now) => {
                let steady = now.monotonic.saturating_sub(paused.steady_since.monotonic);
                paused.pause.steady = paused.steady_before.saturating_add(steady);
                paused.pause.last_wall = now.wall;
                if paused.pause.steady >= STEADY_TIME {
                    self.accept(now);
                }
            }
            Some(_) => {
                self.note_misdated(self.expected.wall_at(now));
                let cause = self.expected.cause(now, PauseCause::SteppedAhead);
                self.paused = Some(PauseState::begin(cause, now));
            }
        }
    }

    /// The clock shows the expected time again: it was corrected.
    fn trust_again(&mut self, now: Reading) {
        self.note_misdated(now.wall);
        self.accept(now);
    }

    fn accept(&mut self, now: Reading) {
        self.paused = None;
        self.is_accepted = true;
        self.expected = Expectation::from(now);
    }

    /// Records timestamps from a clock that was behind: once the clock is right again, they look too old. The
    /// range is an hour wider on both sides, for data from before the first reading and after the last.
    fn note_misdated(&mut self, until: i64) {
        let Some(PauseState { pause, .. }) = self.paused else { return };
        if pause.cause != PauseCause::Behind || until.saturating_sub(pause.began) < MIN_MISDATED {
            return;
        }
        let (from, to) = (pause.began - MAX_STEP, pause.last_wall + MAX_STEP);
        let before = self.misdated.unwrap_or(MisdatedRange { from, to, until });
        self.misdated = Some(MisdatedRange {
            from: before.from.min(from),
            to: before.to.max(to),
            until: before.until.max(until),
        });
    }

    pub fn pause(&self) -> Option<Pause> {
        self.paused.map(|paused| paused.pause)
    }

    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Whether another process changed the record: it accepted the clock, or paused deletion.
    pub fn is_overruled_by(&self, stored: &ClockRecord) -> bool {
        let is_paused_elsewhere = stored.pause.is_some() && !self.is_paused() && !self.is_accepted;
        stored.version != self.version || is_paused_elsewhere
    }

    /// The record that should replace the `stored` one; `None` while the stored one is recent enough.
    pub fn record_to_save(&self, stored: &ClockRecord, now: Reading) -> Option<ClockRecord> {
        let record = ClockRecord {
            trusted: if self.is_paused() { self.expected.wall_at(now) } else { now.wall },
            version: self.version.saturating_add(i64::from(self.is_accepted)),
            pause: self.pause(),
            misdated: self.misdated,
        };
        let state = |record: &ClockRecord| (record.version, record.pause.map(|pause| pause.cause));
        let wall = |record: &ClockRecord| record.pause.map_or(record.trusted, |pause| pause.last_wall);
        let is_old = wall(&record).saturating_sub(wall(stored)).saturating_abs() >= RECORD_INTERVAL;
        (is_old || state(&record) != state(stored)).then_some(record)
    }

    /// The cutoff for data older than `age` when the clock shows `wall`.
    pub fn cutoff(&self, wall: i64, age: i64) -> Cutoff {
        if self.is_paused() {
            return Cutoff::NOTHING;
        }
        let before = wall.saturating_sub(age).max(Cutoff::NOTHING.before);
        match self.misdated.filter(|misdated| before < misdated.until) {
            Some(MisdatedRange { from, to, .. }) => Cutoff { before, kept_from: from, kept_to: to },
            None => Cutoff { before, ..Cutoff::NOTHING },
        }
    }
}
