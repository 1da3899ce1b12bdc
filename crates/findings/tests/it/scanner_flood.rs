//! A scanner makes a million requests for random paths. Findings stay bounded and useful.

use findings::kinds::not_found::{MissingPath, detect};
use findings::{Candidate, Settings, SitePages};

use crate::{Random, day, requests};

const PATHS: u64 = 200_000;
const REQUESTS: u64 = 1_000_000;
const REAL: u64 = 40;

fn site() -> SitePages {
    SitePages::new((0..500).map(|number| format!("/guides/topic-{number}/install")))
}

/// A million requests for paths that `name` makes up, and 20 for each of a few that readers mean.
fn detected(name: impl Fn(&mut Random) -> String) -> Vec<Candidate> {
    let mut random = Random(3);
    let mut counts = vec![0; PATHS as usize];
    (0..REQUESTS).for_each(|_| counts[random.below(PATHS) as usize] += 1);
    let scanned: Vec<_> = counts.into_iter().map(|count| (name(&mut random), count)).collect();
    let real = (0..REAL).map(|number| (format!("/guides/topic-{number}/instal"), 20));
    let missing = scanned.into_iter().chain(real).map(|(path, count)| MissingPath {
        path,
        days: vec![requests(0, count)],
        referrers: Vec::new(),
    });
    detect(missing, |_| false, &site(), day(0), &Settings::default())
}

fn random_name(random: &mut Random) -> String {
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789".as_bytes();
    (0..10).map(|_| char::from(letters[random.below(36) as usize])).collect()
}

#[track_caller]
fn check_real_come_first(candidates: &[Candidate]) {
    let first = &candidates[..REAL as usize];
    assert!(first.iter().all(|candidate| candidate.subject.ends_with("/instal")), "{first:?}");
}

#[test]
fn random_names_are_no_findings() {
    let candidates = detected(|random| format!("/{}", random_name(random)));
    check_real_come_first(&candidates);
    assert_eq!(candidates.len() as u64, REAL);
}

#[test]
fn random_names_below_real_folders_are_few_and_last() {
    let candidates = detected(|random| format!("/guides/topic-1/{}", random_name(random)));
    check_real_come_first(&candidates);
    assert!(candidates.len() <= Settings::default().max_findings as usize, "{}", candidates.len());
}

/// The worst case: nothing tells these paths from readers' guesses but their number.
#[test]
fn random_names_with_words_of_the_site_are_bounded_and_last() {
    let candidates = detected(|random| format!("/install-{}", random_name(random)));
    check_real_come_first(&candidates);
    assert_eq!(candidates.len(), Settings::default().max_findings as usize);
}
