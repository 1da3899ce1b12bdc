//! Tests of the public functions.

mod effect;
mod evidence;
mod kinds;
mod not_found;
mod scanner_flood;
mod settings;
mod simulation;
mod state_machine;
mod state_stories;

use findings::Day;
use jiff::ToSpan;
use jiff::civil::{Date, date};

/// Day 0 of all stories.
const START: Date = date(2026, 3, 1);

fn day(number: i64) -> Date {
    START.saturating_add(number.days())
}

fn requests(number: i64, human: u64) -> Day {
    Day { day: day(number), human, ai: 0 }
}

/// Random numbers that are the same in each run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Between 0 and 1, never 0.
    fn fraction(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn poisson(&mut self, mean: f64) -> u64 {
        let (mut count, mut time) = (0, -self.fraction().ln());
        while time < mean {
            count += 1;
            time -= self.fraction().ln();
        }
        count
    }

    /// A gamma variate with mean 1 and variance 1 ÷ `shape`.
    fn gamma(&mut self, shape: u32) -> f64 {
        (0..shape).map(|_| -self.fraction().ln()).sum::<f64>() / f64::from(shape)
    }
}
