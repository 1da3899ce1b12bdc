//! Decides when a worker leases a suspect: a job in whose current step two workers died.
//!
//! The death of a worker counts against each job that worked or called its model on it, because its cause is unknown. A
//! suspect therefore runs alone: if its worker dies again in that step, the suspect is the cause. The count is reset when
//! the run gets past the step of the last death. A job that only waited for its turn is not the cause: there can be
//! hundreds of them, and two deaths would make all of them suspects.
//!
//! A worker can lease a suspect while it has other jobs. The suspect then waits until they wait, too, and they wait until
//! it got past its step. So of a worker's jobs, only the suspect can be blamed for a third death.
//!
//! A model can take an hour to answer, so a suspect is alone only for the first seconds of a call. Then jobs that aren't
//! suspects run beside it. A death during that still counts, but the first in a step doesn't if another job worked or
//! called its model: the other job can be the cause. The second counts, so a job that kills its workers late in its calls
//! is given up, too.

use jiff::SignedDuration;

use crate::{LEASE, NewEvent};

/// Deaths of workers in one step after which the job is given up. On the last of them, all other jobs waited.
pub const MAX_DEATHS: u32 = 3;
/// Deaths of workers that only search for the pull request of a job that is given up. A search changes nothing, so it
/// can be repeated, but one that kills every worker must end.
pub const MAX_LOOKUP_DEATHS: u32 = 5;
/// Deaths in one step after which a job runs alone. The indexes of the queue have this number, too.
pub(crate) const SUSPECT_DEATHS: u32 = 2;
/// The minimum age of a worker that leases a suspect. Kills from outside come in series, so a new worker may be killed
/// again, and the suspect would get the blame. The age is twice the time that the job spent in the step before a worker
/// died, within these bounds: a step that takes longer than servers live does not kill them.
pub const MIN_WORKER_AGE: SignedDuration = SignedDuration::from_secs(10);
pub(crate) const MAX_WORKER_AGE: SignedDuration = SignedDuration::from_mins(10);
/// When a suspect has waited for so long, the worker with the fewest jobs leases it next, although it is not idle.
pub const MAX_SUSPECT_WAIT: SignedDuration = SignedDuration::from_secs(60);

/// The step of a run, as SQL over a row of `jobs`. It rises with each progress of the run. An attempt that replays the
/// conversation does not change it, and one that restarts from another commit begins at a lower step.
macro_rules! step {
    () => {
        "coalesce(
           (SELECT CASE WHEN made.pushed THEN 4294967297 ELSE 4294967296 END
            FROM job_changes made WHERE made.job = jobs.id AND made.run = jobs.run),
           CASE WHEN jobs.base_commit IS NULL THEN 0 ELSE 1 + coalesce(
             (SELECT max(said.number) FROM conversation said WHERE said.job = jobs.id AND said.run = jobs.run), 0)
           END)"
    };
}

/// The columns of [`Dead`], as a SELECT over `jobs`.
macro_rules! dead_columns {
    () => {
        concat!(
            "SELECT id, worker, deaths, died_step, steady_ms, leased_at, activity,
             activity = 'sharing' AND (survived_step IS NULL OR survived_step <> died_step)
               AND EXISTS (SELECT 1 FROM jobs beside
                 WHERE beside.status = 'active' AND beside.worker IS NOT NULL AND beside.worker = jobs.worker
                   AND beside.id <> jobs.id AND beside.activity <> 'waiting') AS is_doubtful, ",
            $crate::suspects::step!(),
            " AS step, (SELECT max(said.at) FROM conversation said
                        WHERE said.job = jobs.id AND said.run = jobs.run) AS said_at,
             (SELECT alive_until FROM workers WHERE workers.id = jobs.worker) AS alive_until"
        )
    };
}
pub(crate) use {dead_columns, step};

/// A job whose worker is dead. Times are milliseconds.
pub(crate) struct Dead {
    pub(crate) count: DeathCount,
    /// The job only waited for its turn.
    pub(crate) waited: bool,
    /// It shared its worker with jobs that can be the cause, for the first time in the step of the last death.
    pub(crate) is_doubtful: bool,
    /// The step of the run.
    pub(crate) step: i64,
    pub(crate) leased_at: i64,
    /// When the current step began: the time of the last entry of the run's conversation.
    pub(crate) step_began_at: Option<i64>,
    pub(crate) worker_alive_until: Option<i64>,
}

/// The stored count of deaths of a job's workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeathCount {
    /// In the current step.
    pub(crate) deaths: u32,
    /// The step of the last death.
    pub(crate) died_step: i64,
    /// The minimum age of a worker that leases the job as a suspect.
    pub(crate) steady_ms: i64,
}

impl Dead {
    /// The count with one more death, unless the job can't be its cause.
    pub(crate) fn counted(&self) -> DeathCount {
        if self.waited || self.is_forgiven() {
            return self.count;
        }
        let steady_ms = (2 * self.time_in_step())
            .clamp(MIN_WORKER_AGE.as_millis() as i64, MAX_WORKER_AGE.as_millis() as i64);
        let DeathCount { deaths, died_step, steady_ms: steady_before } = self.count;
        match self.step > died_step || deaths == 0 {
            true => DeathCount { deaths: 1, died_step: died_step.max(self.step), steady_ms },
            false => DeathCount { deaths: deaths + 1, died_step, steady_ms: steady_before.max(steady_ms) },
        }
    }

    /// Whether a death that would be a suspect's last is not counted. That happens once per step.
    pub(crate) fn is_forgiven(&self) -> bool {
        self.is_doubtful && self.count.deaths == SUSPECT_DEATHS && self.step <= self.count.died_step
    }

    /// Until the last heartbeat: the worker may have been dead for long.
    fn time_in_step(&self) -> i64 {
        let last_beat = self.worker_alive_until.map_or(0, |until| until - LEASE.as_millis() as i64);
        let began = self.step_began_at.map_or(self.leased_at, |at| at.max(self.leased_at));
        (last_beat - began).max(0)
    }
}

/// The first suspect of the queue, as a worker finds it. Times are milliseconds.
pub(crate) struct Suspect {
    /// It does not run any more: it is to be archived, or it is given up.
    pub(crate) is_over: bool,
    pub(crate) waits_since: i64,
    /// See [`DeathCount`].
    pub(crate) steady_ms: i64,
    /// `None`: the worker is unknown.
    pub(crate) worker_since: Option<i64>,
    /// When the worker last took a suspect.
    pub(crate) worker_alone_at: Option<i64>,
    /// It has a suspect, which calls its model. A second one could not be alone.
    pub(crate) worker_has_suspect: bool,
    /// All of its jobs wait.
    pub(crate) worker_is_idle: bool,
    /// Of all workers it has the fewest jobs that don't wait.
    pub(crate) worker_is_nearest: bool,
}

/// What a worker leases next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Suspect,
    /// The suspect only if no other job is queued.
    OthersFirst,
    Others,
}

impl Suspect {
    /// Between two suspects, other jobs have the worker for as long as a suspect waits.
    pub(crate) fn turn(&self, now: i64) -> Turn {
        if self.is_over {
            return Turn::Suspect;
        }
        let is_steady = self.worker_since.is_some_and(|since| has_passed(since, self.steady_ms, now));
        if self.worker_has_suspect || !is_steady {
            return Turn::Others;
        }
        let waits_since = self.worker_alone_at.map_or(self.waits_since, |at| at.max(self.waits_since));
        let has_waited = |times| has_passed(waits_since, times * MAX_SUSPECT_WAIT.as_millis() as i64, now);
        match has_waited(1) {
            true if self.worker_is_idle || self.worker_is_nearest => Turn::Suspect,
            // The nearest may have as many jobs as it can have.
            true if has_waited(3) => Turn::Suspect,
            false if self.worker_is_idle => Turn::OthersFirst,
            _ => Turn::Others,
        }
    }
}

/// Also true when the clock was set back meanwhile.
fn has_passed(since: i64, length: i64, now: i64) -> bool {
    now < since || now - since >= length
}

/// The first event of an attempt.
pub(crate) fn started(attempt: u32, deaths: u32) -> NewEvent {
    let how = match deaths {
        0..SUSPECT_DEATHS => "",
        SUSPECT_DEATHS => " with no other job on its worker",
        _ => ": it only looks for the pull request of the job",
    };
    NewEvent::new("started", format!("Attempt {attempt} began{how}")).with("attempt", attempt)
}

/// The event of a job that has become a suspect.
pub(crate) fn waits_alone() -> NewEvent {
    NewEvent::new(
        "waiting",
        "Waiting for a worker with no other job, because two workers stopped in this step",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn suspect(alive: i64, waited: i64, is_idle: bool) -> Suspect {
        Suspect {
            is_over: false,
            waits_since: NOW - waited,
            steady_ms: 10_000,
            worker_since: Some(NOW - alive),
            worker_alone_at: None,
            worker_has_suspect: false,
            worker_is_idle: is_idle,
            worker_is_nearest: true,
        }
    }

    #[test]
    fn turns() {
        #[track_caller]
        fn check(suspect: &Suspect, expected: Turn) {
            assert_eq!(suspect.turn(NOW), expected);
        }
        // A worker that has just started takes none, however long it has waited.
        check(&suspect(9_999, 100_000, true), Turn::Others);
        check(&Suspect { worker_since: None, ..suspect(0, 100_000, true) }, Turn::Others);
        check(&suspect(10_000, 59_999, true), Turn::OthersFirst);
        check(&suspect(10_000, 59_999, false), Turn::Others);
        check(&suspect(10_000, 60_000, true), Turn::Suspect);
        check(&suspect(10_000, 60_000, false), Turn::Suspect);
        check(&Suspect { worker_is_nearest: false, ..suspect(10_000, 60_000, false) }, Turn::Others);
        // After one, the others have the worker for a while.
        let after_one = |at| Suspect { worker_alone_at: Some(NOW - at), ..suspect(100_000, 90_000, false) };
        check(&after_one(59_999), Turn::Others);
        check(&after_one(60_000), Turn::Suspect);
        // Two suspects can't both be alone.
        check(&Suspect { worker_has_suspect: true, ..suspect(10_000, 600_000, true) }, Turn::Others);
        // A job that does not run needs no idle worker.
        let is_over = Suspect { is_over: true, ..suspect(0, 0, false) };
        check(&is_over, Turn::Suspect);
        check(&Suspect { worker_has_suspect: true, ..is_over }, Turn::Suspect);
        // One that spent a minute in its step waits for a worker that lives longer than that.
        check(&Suspect { steady_ms: 120_000, ..suspect(119_999, 60_000, true) }, Turn::Others);
        check(&Suspect { steady_ms: 120_000, ..suspect(120_000, 60_000, true) }, Turn::Suspect);
        // A clock that was set back by hours.
        check(&suspect(-3_600_000, -3_600_000, true), Turn::Suspect);
    }

    #[test]
    fn deaths_are_counted_by_step() {
        let dead = |count, step, lived| Dead {
            count,
            waited: false,
            is_doubtful: false,
            step,
            leased_at: NOW,
            step_began_at: None,
            worker_alive_until: Some(NOW + lived + LEASE.as_millis() as i64),
        };
        let count = |deaths, died_step, steady_ms| DeathCount { deaths, died_step, steady_ms };
        let none = count(0, 0, 0);
        assert_eq!(dead(none, 0, 0).counted(), count(1, 0, 10_000));
        assert_eq!(dead(none, 7, 0).counted(), count(1, 7, 10_000));
        assert_eq!(dead(count(1, 7, 10_000), 7, 0).counted(), count(2, 7, 10_000));
        assert_eq!(dead(count(2, 7, 60_000), 8, 0).counted(), count(1, 8, 10_000));
        // One that starts over is where it was only when it gets there again.
        assert_eq!(dead(count(1, 7, 10_000), 3, 0).counted(), count(2, 7, 10_000));
        assert_eq!(dead(count(0, 7, 10_000), 3, 0).counted(), count(1, 7, 10_000));
        assert_eq!(Dead { waited: true, ..dead(count(1, 7, 10_000), 7, 0) }.counted(), count(1, 7, 10_000));
        // The longest time in the step counts, from its beginning to the last heartbeat, within bounds.
        assert_eq!(dead(none, 0, 30_000).counted().steady_ms, 60_000);
        assert_eq!(dead(count(1, 0, 60_000), 0, 20_000).counted().steady_ms, 60_000);
        assert_eq!(dead(none, 0, 3_600_000).counted().steady_ms, 600_000);
        let said = Dead { step_began_at: Some(NOW + 3_590_000), ..dead(none, 0, 3_600_000) };
        assert_eq!(said.counted().steady_ms, 20_000);
        let unknown = Dead { worker_alive_until: None, ..dead(none, 0, 0) };
        assert_eq!(unknown.counted().steady_ms, 10_000);
    }
}
