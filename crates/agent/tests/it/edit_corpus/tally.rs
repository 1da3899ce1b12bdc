//! Counts the results of edits with slips, byte by byte.

use agent::edit;

use super::hunks::Hunk;
use super::slips::{SLIPS, Slip, Slipped};

/// What became of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every byte of the result is as expected.
    Exact,
    /// The words are as expected, but not the white space.
    WhiteSpace,
    /// Other words, or words at another location.
    Wrong,
    Refused,
}

/// The outcomes of some edits.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub exact: usize,
    pub white_space: usize,
    pub wrong: usize,
    pub refused: usize,
}

impl Tally {
    fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Exact => &mut self.exact,
            Outcome::WhiteSpace => &mut self.white_space,
            Outcome::Wrong => &mut self.wrong,
            Outcome::Refused => &mut self.refused,
        } += 1;
    }

    fn add(&mut self, other: Self) {
        self.exact += other.exact;
        self.white_space += other.white_space;
        self.wrong += other.wrong;
        self.refused += other.refused;
    }

    pub(super) fn all(&self) -> usize {
        self.exact + self.white_space + self.wrong + self.refused
    }

    /// The percentage of exact results.
    pub(super) fn exact_share(&self) -> f64 {
        100.0 * self.exact as f64 / self.all() as f64
    }

    pub(super) fn refused_share(&self) -> f64 {
        100.0 * self.refused as f64 / self.all() as f64
    }
}

/// Makes every slip in every hunk, and prints a table. Returns the tally of the slips that must apply, and the tally of
/// those that must be refused. `see` gets each edit that didn't go as expected.
pub(super) fn tally(hunks: &[Hunk], mut see: impl FnMut(&Slip, &Slipped, Outcome, &str)) -> (Tally, Tally) {
    println!("{} edits", hunks.len());
    println!("{:<38}{:>8}{:>8}{:>12}{:>8}{:>8}", "slip", "edits", "exact", "white space", "wrong", "refused");
    let (mut apply, mut miss) = (Tally::default(), Tally::default());
    for slip in SLIPS.iter().copied().flatten() {
        let mut tally = Tally::default();
        for slipped in
            hunks.iter().filter_map(|hunk| (slip.make)(hunk).filter(|made| !is_elsewhere(made, hunk)))
        {
            let (outcome, result) = outcome(slip, &slipped);
            tally.count(outcome);
            if outcome != if slip.must_miss { Outcome::Refused } else { Outcome::Exact } {
                see(slip, &slipped, outcome, &result);
            }
        }
        let Tally { exact, white_space, wrong, refused } = tally;
        println!("{:<38}{:>8}{exact:>8}{white_space:>12}{wrong:>8}{refused:>8}", slip.name, tally.all());
        if slip.must_miss { &mut miss } else { &mut apply }.add(tally);
    }
    (apply, miss)
}

/// The outcome, and the edited text or the error.
fn outcome(slip: &Slip, slipped: &Slipped) -> (Outcome, String) {
    match edit(&slipped.text, &slipped.old, &slipped.new, false) {
        Err(error) => (Outcome::Refused, error.to_string()),
        Ok(edited) if slip.must_miss => (Outcome::Wrong, edited.text),
        Ok(edited) if edited.text == slipped.after => (Outcome::Exact, edited.text),
        Ok(edited) if has_same_words(&edited.text, &slipped.after) => (Outcome::WhiteSpace, edited.text),
        Ok(edited) => (Outcome::Wrong, edited.text),
    }
}

fn has_same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Whether the mistake turned the old text into another text of the file, which can't be noticed.
fn is_elsewhere(slipped: &Slipped, hunk: &Hunk) -> bool {
    let Some(at) = hunk.before.find(&slipped.old).filter(|_| slipped.text == hunk.before) else {
        return false;
    };
    let (found, expected) = (at..at + slipped.old.len(), &hunk.range);
    let is_inside = expected.start <= found.start && found.end <= expected.end;
    let contains = found.start <= expected.start && expected.end <= found.end;
    !(is_inside || contains)
}
