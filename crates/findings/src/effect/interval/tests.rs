use super::*;

fn days(subject: &[u64], rest: u64) -> Vec<DayCounts> {
    let day = |&subject: &u64| DayCounts { subject, subject_share: subject, site: subject + rest };
    subject.iter().map(day).collect()
}

/// The smallest deviance of a ratio over a grid of odds, without the quadratic equation.
fn searched_deviance(table: &Table, ratio: f64) -> f64 {
    let (mut low, mut high) = (-40.0_f64, 40.0_f64);
    let deviance = |log: f64| table.before.deviance(log.exp()) + table.after.deviance(log.exp() * ratio);
    // The deviance is convex in the logarithm of the odds.
    for _ in 0..200 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if deviance(left) < deviance(right) { high = right } else { low = left }
    }
    deviance(low)
}

#[test]
fn limits_lie_where_the_deviance_reaches_the_quantile() {
    for (before, after, rest) in [
        (vec![3, 2, 4, 3, 2, 4, 3, 2], vec![1, 0, 2, 1, 0, 1, 1, 1], 50),
        (vec![300, 310, 290, 305], vec![500, 510, 490, 505], 10_000),
        (vec![10, 40, 5, 30], vec![0, 9, 0, 90], 70),
        (vec![5, 5, 5, 5], vec![0, 0, 0, 0], 3),
    ] {
        let (before, after) = (days(&before, rest), days(&after, rest + 7));
        let rate = rate_ratio(&before, &after).unwrap();
        let table = Table { before: Cells::sum(&before), after: Cells::sum(&after) };
        let limit = deviance_limit(&[(&before, table.before), (&after, table.after)]).unwrap();
        assert!((searched_deviance(&table, rate.high) - limit).abs() < 1e-3, "{rate:?}");
        if rate.ratio > 0.0 {
            assert!((searched_deviance(&table, rate.low) - limit).abs() < 1e-3, "{rate:?}");
        }
        assert!(rate.low <= rate.ratio && rate.ratio <= rate.high, "{rate:?}");
    }
}

/// 140 and 70 requests beside a large site: the ratio of two Poisson counts. The exact conditional interval
/// (Clopper–Pearson) with the normal quantile is 0.371 to 0.670; 12 degrees of freedom widen it a little.
#[test]
fn the_interval_agrees_with_the_exact_one() {
    let (before, after) = (days(&[20; 7], 1_000_000), days(&[10; 7], 1_000_000));
    let rate = rate_ratio(&before, &after).unwrap();
    assert!((rate.ratio - 0.5).abs() < 1e-4, "{rate:?}");
    assert!((0.350..0.375).contains(&rate.low) && (0.665..0.70).contains(&rate.high), "{rate:?}");
}

#[test]
fn nothing_is_said_without_readers_to_compare_with() {
    let week = days(&[10; 7], 100);
    assert!(rate_ratio(&week, &week).is_some());
    assert_eq!(rate_ratio(&days(&[0; 7], 100), &week), None);
    assert_eq!(rate_ratio(&days(&[10; 7], 0), &week), None);
    assert_eq!(rate_ratio(&week, &days(&[10; 7], 0)), None);
    assert_eq!(rate_ratio(&[], &[]), None);
    let one_day = days(&[70], 700);
    assert_eq!(rate_ratio(&one_day, &one_day), None);
}

#[test]
fn all_requests_on_one_day_prove_little() {
    let burst = rate_ratio(&days(&[70, 0, 0, 0, 0, 0, 0], 100), &days(&[0; 7], 100)).unwrap();
    assert!(burst.high > 1.0, "{burst:?}");
    let steady = rate_ratio(&days(&[10; 7], 100), &days(&[0; 7], 100)).unwrap();
    assert!(steady.high < 0.2, "{steady:?}");
}

#[test]
fn extreme_counts_give_finite_limits() {
    for (before, after, rest) in [
        (vec![u64::MAX / 8; 4], vec![0; 4], 1),
        (vec![1_000_000_000; 4], vec![1; 4], 1),
        (vec![7; 4], vec![1_000_000_000; 4], 1_000_000_000_000),
        (vec![0, 0, 0, 1_000_000], vec![0, 1, 0, 0], 2),
    ] {
        let rate = rate_ratio(&days(&before, rest), &days(&after, rest)).unwrap();
        assert!(rate.ratio.is_finite() && rate.low.is_finite() && rate.high.is_finite(), "{rate:?}");
        assert!(rate.low >= 0.0 && rate.low <= rate.high, "{rate:?}");
    }
}
