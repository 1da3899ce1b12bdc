//! Tables of events of a clock, and whether deletion is paused after each.

use PauseCause::{Behind, LongDowntime, SteppedAhead};

use super::*;

const MINUTE: i64 = 60 * 1000;
const START: i64 = 1_800_000_000_000;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Time passes, and the process reads the clock.
    Pass(i64),
    /// Somebody sets the clock.
    Jump(i64),
    /// The process restarts: the machine is off for the first duration, and its clock is set by the second.
    Restart(i64, i64),
    /// The process dies before it records the jump.
    Crash(i64),
    Confirm,
}
use Step::{Confirm, Crash, Jump, Pass, Restart};

/// A process that watches a clock, with its record on disk.
struct Process {
    now: Reading,
    watch: ClockWatch,
    record: ClockRecord,
}

impl Process {
    fn new() -> Self {
        let now = Reading { wall: START, monotonic: 5_000 };
        let record = ClockRecord::first(None, now.wall);
        Self { now, watch: ClockWatch::start(&record, now), record }
    }

    fn take(&mut self, step: Step) {
        match step {
            Pass(time) => {
                self.now = Reading { wall: self.now.wall + time, monotonic: self.now.monotonic + time };
            }
            Jump(by) => self.now.wall += by,
            Restart(off, jump) => self.restart(off + jump),
            Crash(jump) => return self.restart(jump),
            Confirm => {
                let version = self.record.version + 1;
                self.record = ClockRecord { trusted: self.now.wall, version, pause: None, ..self.record };
            }
        }
        self.observe();
    }

    fn restart(&mut self, wall: i64) {
        self.now = Reading { wall: self.now.wall + wall, monotonic: 1_000 };
        self.watch = ClockWatch::start(&self.record, self.now);
    }

    /// Does what the server's periodic check does.
    fn observe(&mut self) {
        match self.watch.is_overruled_by(&self.record) {
            true => self.watch = ClockWatch::start(&self.record, self.now),
            false => self.watch.observe(self.now),
        }
        self.record = self.watch.record_to_save(&self.record, self.now).unwrap_or(self.record);
    }
}

#[track_caller]
fn check(steps: &[(Step, Option<PauseCause>)]) -> Process {
    let mut process = Process::new();
    for (n, (step, expected)) in steps.iter().enumerate() {
        process.take(*step);
        let cause = process.watch.pause().map(|pause| pause.cause);
        assert_eq!(cause, *expected, "after step {n}, {step:?}: {:?}", process.watch);
        let cutoff = process.watch.cutoff(process.now.wall, DAY);
        assert_eq!(cutoff == Cutoff::NOTHING, expected.is_some(), "{cutoff:?}");
    }
    process
}

#[test]
fn a_steady_clock_is_trusted() {
    let hours = [(Pass(HOUR), None); 24 * 10];
    check(&hours);
    check(&[(Pass(5_000), None), (Jump(HOUR), None), (Pass(DAY), None), (Jump(HOUR), None)]);
    check(&[(Jump(-HOUR), None), (Jump(HOUR), None), (Jump(HOUR), None), (Jump(-2 * HOUR), None)]);
    // The machine slept or was busy: monotonic time advanced, too.
    check(&[(Pass(30 * DAY), None)]);
}

#[test]
fn a_step_ahead_pauses_deletion_and_a_steady_day_resumes_it() {
    let paused = Some(SteppedAhead);
    check(&[(Jump(HOUR + 1), paused), (Pass(DAY - 1), paused), (Pass(1), None), (Pass(DAY), None)]);
    check(&[(Pass(DAY), None), (Jump(500 * DAY), paused), (Pass(HOUR), paused), (Pass(23 * HOUR), None)]);
    // Small steps add up within a day.
    check(&[(Jump(50 * MINUTE), None), (Pass(MINUTE), None), (Jump(50 * MINUTE), paused)]);
    // Another step restarts the day.
    let again = [(Jump(500 * DAY), paused), (Pass(20 * HOUR), paused), (Jump(2 * HOUR), paused)];
    let mut steps = again.to_vec();
    steps.extend([(Pass(23 * HOUR), paused), (Pass(HOUR), None)]);
    check(&steps);
}

#[test]
fn a_confirmed_clock_is_trusted_immediately() {
    check(&[
        (Jump(500 * DAY), Some(SteppedAhead)),
        (Confirm, None),
        (Pass(DAY), None),
        (Restart(0, 0), None),
    ]);
    check(&[(Restart(0, 500 * DAY), Some(LongDowntime)), (Confirm, None), (Pass(HOUR), None)]);
    check(&[(Jump(-500 * DAY), Some(Behind)), (Confirm, None), (Restart(HOUR, 0), None)]);
    check(&[(Confirm, None), (Jump(DAY), Some(SteppedAhead))]);
    // The clock is confirmed while no server runs.
    let mut process = check(&[(Jump(500 * DAY), Some(SteppedAhead))]);
    process.record = ClockRecord { trusted: process.now.wall, version: 7, pause: None, ..process.record };
    process.take(Restart(HOUR, 0));
    assert!(!process.watch.is_paused());
}

#[test]
fn a_downtime_of_up_to_7_days_is_trusted_and_a_longer_one_is_not() {
    check(&[(Restart(3 * DAY, 0), None), (Restart(7 * DAY, 0), None)]);
    check(&[
        (Restart(10 * DAY, 0), Some(LongDowntime)),
        (Pass(DAY - 1), Some(LongDowntime)),
        (Pass(1), None),
    ]);
    check(&[(Restart(10 * DAY, 0), Some(LongDowntime)), (Jump(-10 * DAY), None)]);
}

#[test]
fn a_restart_does_not_end_a_pause() {
    let paused = Some(SteppedAhead);
    for jump in [2 * HOUR, 3 * DAY, 500 * DAY] {
        check(&[(Jump(jump), paused), (Restart(0, 0), paused), (Restart(DAY, 0), paused)]);
        // The hours of both processes count; the time between them does not.
        let hours = [(Jump(jump), paused), (Pass(20 * HOUR), paused), (Restart(5 * HOUR, 0), paused)];
        let mut steps = hours.to_vec();
        steps.extend([(Pass(3 * HOUR), paused), (Pass(HOUR), None), (Restart(0, 0), None)]);
        check(&steps);
        // The clock is corrected while no process runs.
        check(&[(Jump(jump), paused), (Pass(MINUTE), paused), (Restart(HOUR, -jump), None)]);
    }
    // The process dies before it records the jump.
    check(&[(Pass(HOUR), None), (Crash(500 * DAY), Some(LongDowntime)), (Restart(0, 0), Some(LongDowntime))]);
    // A clock that jumps again must be steady for a day from then on.
    let steps = [(Jump(500 * DAY), paused), (Pass(20 * HOUR), paused), (Restart(0, 100 * DAY), paused)];
    check(&[&steps[..], &[(Pass(23 * HOUR), paused), (Pass(HOUR), None)]].concat());
}

#[test]
fn a_corrected_clock_is_trusted_immediately() {
    check(&[
        (Jump(500 * DAY), Some(SteppedAhead)),
        (Pass(3 * HOUR), Some(SteppedAhead)),
        (Jump(-500 * DAY), None),
    ]);
    let restarted = [(Jump(500 * DAY), Some(SteppedAhead)), (Restart(0, 0), Some(SteppedAhead))];
    check(&[&restarted[..], &[(Pass(HOUR), Some(SteppedAhead)), (Jump(-500 * DAY), None)]].concat());
    // The clock goes back and is then corrected: the step ahead is not a jump.
    for jump in [2 * HOUR, 3 * DAY, 500 * DAY] {
        check(&[(Jump(-jump), Some(Behind)), (Pass(3 * HOUR), Some(Behind)), (Jump(jump), None)]);
        check(&[(Jump(-jump), Some(Behind)), (Restart(0, 0), Some(Behind)), (Jump(jump), None)]);
        check(&[(Jump(-jump), Some(Behind)), (Pass(MINUTE), Some(Behind)), (Restart(HOUR, jump), None)]);
        check(&[(Restart(0, -jump), Some(Behind)), (Jump(jump + 3 * DAY), None)]);
    }
    // It is a jump if the clock overshoots.
    check(&[(Jump(-2 * DAY), Some(Behind)), (Jump(20 * DAY), Some(SteppedAhead)), (Jump(-18 * DAY), None)]);
}

#[test]
fn a_clock_that_stays_behind_is_trusted_after_a_day() {
    let accepted = [(Jump(500 * DAY), Some(SteppedAhead)), (Pass(DAY), None)];
    let back = [(Jump(-500 * DAY), Some(Behind)), (Pass(HOUR), Some(Behind)), (Pass(23 * HOUR), None)];
    let process = check(&[&accepted[..], &back].concat());
    assert_eq!(process.record.misdated, None, "the clock is right, so its timestamps are right");
    assert_eq!(process.record.trusted, process.now.wall);
}

#[test]
fn data_from_a_clock_that_was_behind_is_kept_after_the_correction() {
    let behind = [(Jump(-500 * DAY), Some(Behind)), (Pass(5 * HOUR), Some(Behind)), (Jump(500 * DAY), None)];
    let process = check(&behind);
    let (now, low) = (process.now.wall, START - 500 * DAY);
    let cutoff = process.watch.cutoff(now, 90 * DAY);
    assert!(cutoff.has_passed(now - 90 * DAY) && !cutoff.has_passed(now - 90 * DAY + 1));
    assert!(
        !cutoff.has_passed(low) && !cutoff.has_passed(low + 5 * HOUR),
        "dated while the clock was behind"
    );
    assert!(cutoff.has_passed(low - DAY) && cutoff.has_passed(low + DAY), "really old");
    let later = process.watch.cutoff(now + 90 * DAY, 90 * DAY);
    assert!(later.has_passed(low), "the retention counts from the correction");
    // This also holds after a restart, and a second range does not shorten the first.
    let restarts = [(Restart(0, -500 * DAY), Some(Behind)), (Restart(DAY, 500 * DAY), None)];
    let process = check(&[&behind[..], &restarts].concat());
    let cutoff = process.watch.cutoff(process.now.wall, 90 * DAY);
    assert!(!cutoff.has_passed(low) && !cutoff.has_passed(low + 5 * HOUR));
    // Hours do not matter, because retention counts in days.
    assert_eq!(check(&[(Jump(-3 * HOUR), Some(Behind)), (Jump(3 * HOUR), None)]).record.misdated, None);
}

#[test]
fn the_trusted_time_does_not_follow_a_clock_that_jumped() {
    let paused = Some(SteppedAhead);
    let process = check(&[(Pass(HOUR), None), (Jump(500 * DAY), paused), (Pass(3 * HOUR), paused)]);
    assert_eq!(process.record.trusted, START + 4 * HOUR);
    // The record is written once a minute, and immediately when deletion is paused.
    let mut process = Process::new();
    process.take(Pass(30_000));
    assert_eq!(process.record.trusted, START);
    process.take(Pass(30_000));
    assert_eq!(process.record.trusted, START + MINUTE);
    process.take(Jump(DAY));
    assert_eq!(process.record.pause.unwrap().began, START + MINUTE + DAY);
}

#[test]
fn two_processes_on_one_clock_pause_and_resume_together() {
    let mut first = Process::new();
    let mut second = Process { watch: first.watch, ..Process::new() };
    first.take(Jump(500 * DAY));
    // The second process missed the jump, and on its own would trust the clock.
    second.now = first.now;
    second.watch = ClockWatch::start(&ClockRecord::first(None, second.now.wall), second.now);
    second.record = first.record;
    second.observe();
    assert!(second.watch.is_paused());
    first.take(Pass(DAY));
    assert!(!first.watch.is_paused());
    (second.now, second.record) = (first.now, first.record);
    second.observe();
    assert!(!second.watch.is_paused());
}

#[test]
fn the_newest_timestamp_stands_in_for_a_missing_record() {
    let start = |newest: Option<i64>| {
        let record = ClockRecord::first(newest, START);
        ClockWatch::start(&record, Reading { wall: START, monotonic: 0 }).pause().map(|pause| pause.cause)
    };
    assert_eq!(start(None), None);
    assert_eq!(start(Some(START - 3 * DAY)), None);
    assert_eq!(start(Some(START - 500 * DAY)), Some(LongDowntime));
    assert_eq!(start(Some(START + DAY)), None, "a page view may be up to a day ahead");
    assert_eq!(start(Some(START + 500 * DAY)), Some(Behind));
}

#[test]
fn pause_causes_round_trip_through_text() {
    for cause in PauseCause::ALL {
        assert_eq!(cause.as_str().parse(), Ok(cause));
    }
    assert_eq!("?".parse::<PauseCause>(), Err(()));
}
