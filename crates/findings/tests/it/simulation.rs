//! How often the verdict is wrong when nothing changed, and how often it sees a change.

use findings::{Counts, Effect, ReaderDay, Verdict};

use crate::{Random, day};

const RUNS: u64 = 2_000;
const DAYS: i64 = 14;

/// Requests per day of a subject and of the rest of the site.
struct Site {
    mean: f64,
    /// The shape of the gamma distribution that each day's mean is drawn from. `None` is a Poisson process.
    burst_shape: Option<u32>,
    /// What each mean is multiplied by after the merge.
    subject_factor: f64,
    site_factor: f64,
    weekend_factor: f64,
}

const STEADY: Site =
    Site { mean: 5.0, burst_shape: None, subject_factor: 1.0, site_factor: 1.0, weekend_factor: 1.0 };

impl Site {
    fn verdict(&self, random: &mut Random) -> Verdict {
        let (mut subject, mut site) = (Vec::new(), Vec::new());
        for number in (-DAYS..=DAYS).filter(|number| *number != 0) {
            let weekend = if number.rem_euclid(7) < 2 { self.weekend_factor } else { 1.0 };
            let (own, all) = if number > 0 { (self.subject_factor, self.site_factor) } else { (1.0, 1.0) };
            let burst = self.burst_shape.map_or(1.0, |shape| random.gamma(shape));
            let missing = random.poisson(self.mean * weekend * own * all * burst);
            let views = random.poisson(40.0 * weekend * all);
            let reader_day = |not_found, views| ReaderDay {
                day: day(number),
                human: Counts { not_found, views, visitors: 0 },
                ai: Counts::default(),
            };
            subject.push(reader_day(missing, 0));
            site.push(reader_day(missing, views));
        }
        Effect::measure(&subject, &site, day(0), day(0), DAYS as u32).human.not_found.verdict
    }

    /// The share of runs in which a change is seen.
    fn change_rate(&self) -> f64 {
        let mut random = Random(7);
        let is_change = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        let changes = (0..RUNS).filter(|_| is_change(self.verdict(&mut random))).count();
        changes as f64 / RUNS as f64
    }
}

#[test]
fn without_a_change_five_percent_of_verdicts_are_wrong() {
    for (name, site) in [
        ("steady", STEADY),
        ("bursts", Site { burst_shape: Some(2), ..STEADY }),
        ("strong bursts", Site { burst_shape: Some(1), mean: 20.0, ..STEADY }),
        ("growing site", Site { burst_shape: Some(2), site_factor: 2.5, ..STEADY }),
        ("weekends", Site { burst_shape: Some(4), weekend_factor: 0.2, mean: 10.0, ..STEADY }),
    ] {
        let rate = site.change_rate();
        println!("{name}: {rate}");
        assert!((0.02..0.085).contains(&rate), "{name}: {rate}");
    }
}

#[test]
fn a_real_change_is_seen() {
    let halved = Site { subject_factor: 0.5, mean: 10.0, ..STEADY };
    assert!(halved.change_rate() > 0.95);
    let stopped_with_bursts = Site { subject_factor: 0.02, burst_shape: Some(2), ..STEADY };
    assert!(stopped_with_bursts.change_rate() > 0.95);
    let in_a_growing_site = Site { subject_factor: 0.5, site_factor: 2.0, mean: 10.0, ..STEADY };
    assert!(in_a_growing_site.change_rate() > 0.95);
}
