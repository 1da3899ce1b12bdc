//! The numbers of an effect equal a recount of single requests.

use findings::{Change, Counts, Effect, MIN_BEFORE, Measure, Measured, ReaderDay, Verdict};
use jiff::civil::Date;

use crate::{Random, START, day};

/// One request of a log.
struct Request {
    day: i64,
    on_subject: bool,
    is_human: bool,
    is_found: bool,
    visitor: u64,
}

struct History {
    requests: Vec<Request>,
    merged: i64,
    shipped: i64,
    days: i64,
}

impl History {
    fn random(random: &mut Random) -> Self {
        let (merged, days) = (20 + random.below(20) as i64, 1 + random.below(20) as i64);
        let subject_share = 1 + random.below(60);
        let found_share = random.below(101);
        let count = random.below(1_500);
        let requests = (0..count).map(|_| Request {
            day: random.below(70) as i64,
            on_subject: random.below(100) < subject_share,
            is_human: random.below(3) > 0,
            is_found: random.below(100) < found_share,
            visitor: random.below(30),
        });
        let requests = requests.collect();
        Self { requests, merged, shipped: merged + random.below(5) as i64, days }
    }

    /// Requests by day, as the store keeps them.
    fn reader_days(&self, counts: impl Fn(&Request) -> bool) -> Vec<ReaderDay> {
        let of_day = |number, is_human| {
            let all = self.requests.iter().filter(|request| request.day == number);
            let all: Vec<_> = all.filter(|request| request.is_human == is_human && counts(request)).collect();
            let found = all.iter().filter(|request| request.is_found);
            let visitors: std::collections::HashSet<_> =
                found.clone().map(|request| request.visitor).collect();
            let views = found.count() as u64;
            Counts { not_found: all.len() as u64 - views, views, visitors: visitors.len() as u64 }
        };
        let day_of =
            |number| ReaderDay { day: day(number), human: of_day(number, true), ai: of_day(number, false) };
        (0..70).rev().map(day_of).collect()
    }

    fn effect(&self) -> Effect {
        let (merged_on, shipped_on) = (day(self.merged), day(self.shipped));
        let subject = self.reader_days(|request| request.on_subject);
        let site = self.reader_days(|_| true);
        Effect::measure(&subject, &site, merged_on, shipped_on, self.days as u32)
    }

    /// Counts requests of one class one by one: before, after.
    fn recount(&self, counts: impl Fn(&Request) -> bool) -> (u64, u64) {
        let between = |first, end| {
            let days = self.requests.iter().filter(|request| (first..end).contains(&request.day));
            days.filter(|request| counts(request)).count() as u64
        };
        let before = between(self.merged - self.days, self.merged);
        (before, between(self.shipped + 1, self.shipped + 1 + self.days))
    }
}

fn site_counts(change: &Change) -> (u64, u64) {
    (change.site_before, change.site_after)
}

fn subject_counts(change: &Change) -> (u64, u64) {
    (change.before, change.after)
}

#[test]
fn effects_of_500_histories_equal_a_recount() {
    let mut random = Random(1);
    let mut verdicts = std::collections::HashMap::<_, u32>::new();
    for _ in 0..500 {
        let history = History::random(&mut random);
        let effect = history.effect();
        check_class(&history, &effect.human, |request| request.is_human);
        check_class(&history, &effect.ai, |request| !request.is_human);
        check_class(&history, &effect.total, |_| true);
        for measure in Measure::ALL {
            let change = effect.total.get(measure);
            check_verdict(measure, change);
            *verdicts.entry(change.verdict).or_default() += 1;
        }
    }
    assert_eq!(verdicts.len(), 4, "each verdict occurs: {verdicts:?}");
}

#[track_caller]
fn check_class(history: &History, measured: &Measured, is_class: fn(&Request) -> bool) {
    let subject = |request: &Request| request.on_subject && is_class(request);
    let missing = history.recount(|request| subject(request) && !request.is_found);
    assert_eq!(subject_counts(&measured.not_found), missing);
    assert_eq!(site_counts(&measured.not_found), history.recount(is_class));
    let views = history.recount(|request| subject(request) && request.is_found);
    assert_eq!(subject_counts(&measured.views), views);
    assert_eq!(
        site_counts(&measured.views),
        history.recount(|request| is_class(request) && request.is_found)
    );
}

#[track_caller]
fn check_verdict(measure: Measure, change: &Change) {
    match (change.verdict, change.rate) {
        (Verdict::TooFew, None) => {}
        (verdict, Some(rate)) => {
            assert!(change.before >= MIN_BEFORE);
            let more_is_better = measure != Measure::NotFound;
            let expected = match () {
                () if rate.low > 1.0 && more_is_better => Verdict::Better,
                () if rate.low > 1.0 => Verdict::Worse,
                () if rate.high < 1.0 && more_is_better => Verdict::Worse,
                () if rate.high < 1.0 => Verdict::Better,
                () => Verdict::NoChange,
            };
            assert_eq!(verdict, expected);
        }
        other => panic!("{other:?}"),
    }
}

fn steady(first: Date, days: u32, not_found: u64, views: u64) -> Vec<ReaderDay> {
    let human = Counts { not_found, views, visitors: views / 2 };
    let dates = first.series(jiff::ToSpan::days(1)).take(days as usize);
    dates.map(|day| ReaderDay { day, human, ai: Counts::default() }).collect()
}

/// A subject and a site with other counts before and after day 7.
fn change(before: [u64; 2], after: [u64; 2]) -> Change {
    let days =
        |first, counts: [u64; 2]| (steady(first, 7, counts[0], 0), steady(first, 7, counts[0], counts[1]));
    let ((mut subject, mut site), (subject_after, site_after)) = (days(START, before), days(day(8), after));
    subject.extend(subject_after);
    site.extend(site_after);
    Effect::measure(&subject, &site, day(7), day(7), 7).human.not_found
}

#[test]
fn a_verdict_needs_twenty_requests_before_and_a_site() {
    assert_eq!(change([4, 100], [0, 100]).verdict, Verdict::Better);
    assert_eq!(change([2, 100], [0, 100]).verdict, Verdict::TooFew, "14 before");
    assert_eq!(change([4, 100], [4, 100]).verdict, Verdict::NoChange);
    assert_eq!(change([4, 100], [30, 100]).verdict, Verdict::Worse);
    assert_eq!(change([4, 0], [0, 100]).verdict, Verdict::TooFew, "no site before");
    assert_eq!(change([4, 100], [0, 0]).verdict, Verdict::TooFew, "no site after");
}

#[test]
fn a_change_of_the_whole_site_is_divided_out() {
    assert_eq!(change([20, 400], [5, 100]).verdict, Verdict::NoChange, "the site lost as much");
    assert_eq!(change([20, 100], [20, 400]).verdict, Verdict::Better, "the site grew, the requests did not");
}

#[test]
fn the_days_of_merge_and_shipping_belong_to_neither_period() {
    let days = steady(START, 20, 3, 50);
    let effect = Effect::measure(&days, &days, day(7), day(9), 5);
    assert_eq!((effect.before.first, effect.before.last), (day(2), day(6)));
    assert_eq!((effect.after.first, effect.after.last), (day(10), day(14)));
    assert_eq!(subject_counts(&effect.human.not_found), (15, 15));
}
