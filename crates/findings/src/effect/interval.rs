//! The 95% interval of a rate ratio, adjusted for the change of the rest of the site.
//!
//! Each day splits the requests of the site in two: those of the subject and those of the rest. So the ratio of (after ÷
//! before of the subject) to (after ÷ before of the rest) is the odds ratio of a logistic regression on the period. What
//! moves the whole site, such as weekends and holidays, cancels out day by day.
//!
//! - The interval comes from the profile likelihood. It handles zeros, where the Wald interval is far too wide.
//! - Requests come in bursts, so days vary more than Poisson counts do. The dispersion is estimated from the days
//!   (Pearson's χ² divided by its degrees of freedom, at least 1), the deviance is divided by it, and the limit comes
//!   from Student's t distribution: a quasi-binomial model.

use serde::{Deserialize, Serialize};

/// Below this, the dispersion is a guess.
const MIN_DEGREES_OF_FREEDOM: usize = 2;
/// Limits of the interval are searched between e^-30 and e^30.
const MAX_LOG_RATIO: f64 = 30.0;
const BISECTIONS: usize = 60;

/// The 97.5% quantiles of Student's t distribution for 2 to 30 degrees of freedom.
const T_QUANTILES: [f64; 29] = [
    4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// A rate ratio with its 95% interval. 1 means that the subject changed as the rest of the site did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateRatio {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// The counts of one day.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DayCounts {
    pub(super) subject: u64,
    /// What the subject adds to the count of the site.
    pub(super) subject_share: u64,
    pub(super) site: u64,
}

impl DayCounts {
    fn rest(&self) -> f64 {
        self.site.saturating_sub(self.subject_share) as f64
    }

    fn all(&self) -> f64 {
        self.subject as f64 + self.rest()
    }
}

/// `None` if nothing can be said: the subject or the rest of the site had no readers before, the rest has none after, or
/// there are too few days to see how much days vary.
pub(super) fn rate_ratio(before: &[DayCounts], after: &[DayCounts]) -> Option<RateRatio> {
    let table = Table { before: Cells::sum(before), after: Cells::sum(after) };
    if table.before.subject == 0.0 || table.before.rest == 0.0 || table.after.rest == 0.0 {
        return None;
    }
    let limit = deviance_limit(&[(before, table.before), (after, table.after)])?;
    let ratio = table.after.odds() / table.before.odds();
    let start = ratio.ln().clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
    let low = if table.after.subject == 0.0 { 0.0 } else { table.bisect(start, -MAX_LOG_RATIO, limit).exp() };
    let high = table.bisect(start, MAX_LOG_RATIO, limit).exp();
    Some(RateRatio { ratio, low, high })
}

/// The deviance beyond which a ratio is outside of the interval.
fn deviance_limit(periods: &[(&[DayCounts], Cells); 2]) -> Option<f64> {
    let (mut chi_squared, mut degrees) = (0.0, 0);
    // Without requests of the subject, a period shows nothing about how its days vary.
    for (days, cells) in periods.iter().filter(|(_, cells)| cells.subject > 0.0) {
        let share = cells.subject / (cells.subject + cells.rest);
        let days = days.iter().filter(|day| day.all() > 0.0);
        chi_squared += days.clone().map(|day| pearson(day, share)).sum::<f64>();
        degrees += days.count().saturating_sub(1);
    }
    let dispersion = (chi_squared / degrees as f64).max(1.0);
    (degrees >= MIN_DEGREES_OF_FREEDOM).then(|| dispersion * t_quantile(degrees).powi(2))
}

/// The squared Pearson residual of a day, when the subject has `share` of all requests.
fn pearson(day: &DayCounts, share: f64) -> f64 {
    let expected = day.all() * share;
    (day.subject as f64 - expected).powi(2) / (expected * (1.0 - share))
}

fn t_quantile(degrees: usize) -> f64 {
    let index = degrees.saturating_sub(MIN_DEGREES_OF_FREEDOM);
    // From 31 on, the first term of the expansion around the normal quantile is exact to 0.001.
    T_QUANTILES.get(index).copied().unwrap_or(1.960 + 2.42 / degrees as f64)
}

/// The requests of one period.
#[derive(Debug, Clone, Copy)]
struct Cells {
    subject: f64,
    rest: f64,
}

impl Cells {
    fn sum(days: &[DayCounts]) -> Self {
        Self {
            subject: days.iter().map(|day| day.subject as f64).sum(),
            rest: days.iter().map(DayCounts::rest).sum(),
        }
    }

    fn odds(&self) -> f64 {
        self.subject / self.rest
    }

    /// Twice the log-likelihood that the period loses when the odds are `odds` instead of its own.
    fn deviance(&self, odds: f64) -> f64 {
        let all = self.subject + self.rest;
        let term = |observed: f64, expected: f64| match observed {
            0.0 => 0.0,
            observed => 2.0 * observed * (observed / expected).ln(),
        };
        term(self.subject, all * odds / (1.0 + odds)) + term(self.rest, all / (1.0 + odds))
    }
}

struct Table {
    before: Cells,
    after: Cells,
}

impl Table {
    /// The logarithm of the ratio between `inside` and `outside` at which the deviance reaches the limit.
    fn bisect(&self, mut inside: f64, mut outside: f64, limit: f64) -> f64 {
        for _ in 0..BISECTIONS {
            let middle = (inside + outside) / 2.0;
            match self.deviance(middle.exp()) <= limit {
                true => inside = middle,
                false => outside = middle,
            }
        }
        outside
    }

    /// The deviance of the best fit with this ratio.
    fn deviance(&self, ratio: f64) -> f64 {
        let odds = self.best_odds(ratio);
        self.before.deviance(odds) + self.after.deviance(odds * ratio)
    }

    /// The odds before that fit best when those after are `ratio` times as high. The fit keeps the number of the subject's
    /// requests in both periods, which is a quadratic equation.
    fn best_odds(&self, ratio: f64) -> f64 {
        let rest = self.before.rest + self.after.rest;
        let subject = self.before.subject + self.after.subject;
        let (before, after) = (self.before.subject + self.before.rest, self.after.subject + self.after.rest);
        // `before · o ÷ (1 + o) + after · r·o ÷ (1 + r·o) = subject`, as `a·o² + b·o = subject`.
        let a = ratio * rest;
        let b = before - subject + ratio * (after - subject);
        let root = b.mul_add(b, 4.0 * a * subject).sqrt();
        // The form without cancellation.
        if b >= 0.0 { 2.0 * subject / (b + root) } else { (root - b) / (2.0 * a) }
    }
}

#[cfg(test)]
mod tests;
