//! Measures the proposals against redirects that people chose.
//!
//! `DOCWRIGHT_REDIRECTS` names a folder with `SITE.redirects.tsv`, `SITE.pages.tsv` and perhaps `SITE.renames.tsv`.
//! Each redirect is asked for with all the others as the redirects that the site has. The last report is for all sites
//! of the folder.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use super::clue::{ClueKind, Reliability};
use super::plan::{can_be_written, is_of_no_page};
use super::*;

/// A site with more redirects is measured with every second or third one. Large sites would count for most otherwise.
const MAX_ASKED: usize = 300;
/// Fewer where each redirect needs a matcher of its own.
const MAX_ASKED_WITHOUT_TWINS: usize = 60;

struct Site {
    name: String,
    pages: SitePages,
    redirects: Vec<Redirect>,
    history: History,
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let row = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().skip(1).map(row).collect()
}

fn read_sites(folder: &Path) -> Vec<Site> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            Some(entry.unwrap().file_name().to_str()?.strip_suffix(".redirects.tsv")?.to_owned())
        })
        .collect();
    names.sort();
    names.into_iter().map(|name| read_site(folder, name)).collect()
}

fn read_site(folder: &Path, name: String) -> Site {
    let read = |kind: &str| rows(&folder.join(format!("{name}.{kind}.tsv")));
    let page = |row: Vec<String>| SitePage {
        route: row[0].clone(),
        title: row.get(1).filter(|title| !title.is_empty()).cloned(),
        headings: row.get(2).iter().flat_map(|text| text.split(" | ")).map(str::to_owned).collect(),
    };
    let file = |route: &str| format!("{}.mdx", if route == "/" { "index" } else { &route[1..] });
    let rename = |row: Vec<String>| Rename {
        date: row[0].replace('-', "").parse().unwrap(),
        from: file(&row[1]),
        to: file(&row[2]),
    };
    Site {
        pages: SitePages::new(read("pages").into_iter().map(page).collect()),
        redirects: read("redirects").into_iter().map(|row| Redirect::new(&*row[0], &*row[1])).collect(),
        history: History { renames: read("renames").into_iter().map(rename).collect(), removed: Vec::new() },
        name,
    }
}

#[test]
#[ignore = "needs a folder of redirects, in DOCWRIGHT_REDIRECTS"]
fn measure() {
    let folder = std::env::var("DOCWRIGHT_REDIRECTS").unwrap();
    let sites = read_sites(Path::new(&folder));
    for others in [Others::All, Others::NoTwins, Others::None] {
        let mut all = Report::default();
        for site in &sites {
            let report = measure_site(site, others);
            report.print(&format!("{}, {others:?}", site.name));
            report.print_wrong();
            all.add(report);
        }
        all.print(&format!("{} sites, {others:?}", sites.len()));
    }
}

/// The redirects that the site has when one is asked for.
#[derive(Debug, Clone, Copy)]
enum Others {
    All,
    /// Without those of the same page in another language, version or folder.
    NoTwins,
    /// Neither redirects nor renames.
    None,
}

/// The redirects of a site that aren't those of the same page elsewhere.
fn without_twins(site: &Site, asked: &str) -> Vec<Redirect> {
    let rest = |path: &str| site.pages.editions.rest(path).join("/");
    let is_twin = |from: &str| {
        let (from, asked) = (rest(from), rest(asked));
        from.ends_with(&asked) || asked.ends_with(&from)
    };
    site.redirects.iter().filter(|other| !is_twin(&other.from)).cloned().collect()
}

/// What was proposed for one redirect.
struct Answer {
    asked: Redirect,
    target: String,
    confidence: f64,
    reason: String,
    is_right: bool,
    /// Whether the right target is one of the first three candidates.
    is_among: bool,
    is_written: bool,
    /// Whether readers of the written redirect would come back to it, or whether it would hide a page.
    is_harmful: bool,
}

#[derive(Default)]
struct Report {
    answers: Vec<Answer>,
    /// How many clues of a kind were right, and how many there were.
    kinds: BTreeMap<ClueKind, (usize, usize)>,
    /// Redirects whose target is no page.
    absent: usize,
}

fn measure_site(site: &Site, others: Others) -> Report {
    let no_history = History::default();
    let (known, history) = match others {
        Others::None => (Vec::new(), &no_history),
        _ => (site.redirects.clone(), &site.history),
    };
    let matcher = Matcher::new(&site.pages, &known, history, "");
    let measured: HashSet<&str> = matcher.measured().iter().map(|redirect| redirect.from.as_str()).collect();
    let mut report = Report::default();
    let max_asked = if matches!(others, Others::NoTwins) { MAX_ASKED_WITHOUT_TWINS } else { MAX_ASKED };
    let step = site.redirects.len().div_ceil(max_asked).max(1);
    for asked in site.redirects.iter().step_by(step) {
        if matches!(others, Others::NoTwins) {
            let known = without_twins(site, &asked.from);
            let matcher = Matcher::new(&site.pages, &known, history, "");
            report.ask(&matcher, &matcher.reliability, asked);
        } else {
            // A matcher never uses the redirect from the address that is asked for, so only its record is taken back.
            let mut reliability = matcher.reliability.clone();
            if measured.contains(asked.from.as_str()) {
                let records = matcher.judge(asked);
                records.into_iter().for_each(|(kind, is_right)| reliability.forget(kind, is_right));
            }
            report.ask(&matcher, &reliability, asked);
        }
    }
    report.answers.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    report
}

fn answer(matcher: &Matcher<'_>, reliability: &Reliability, asked: &Redirect, right: &str) -> Answer {
    let from = address::plain(&asked.from);
    let candidates = reliability.rank(matcher.clues(&from));
    let is_among = candidates.iter().take(3).any(|candidate| candidate.target == right);
    let best = candidates.into_iter().next();
    let best = best.unwrap_or(Candidate { target: String::new(), confidence: 0.0, reason: String::new() });
    let is_written = best.confidence >= CERTAIN
        && !matcher.pages.has(&from)
        && is_of_no_page(&from).is_none()
        && can_be_written(matcher, &from);
    let is_looped = matcher.existing.follow(&best.target, &from).as_deref() != Some(&best.target);
    Answer {
        asked: asked.clone(),
        is_right: best.target == right,
        is_among,
        is_written,
        is_harmful: is_written && (is_looped || matcher.pages.has(&from)),
        confidence: best.confidence,
        target: best.target,
        reason: best.reason,
    }
}

impl Report {
    fn ask(&mut self, matcher: &Matcher<'_>, reliability: &Reliability, asked: &Redirect) {
        let right = address::plain(&asked.to);
        self.absent += usize::from(!matcher.pages.has(&right));
        self.add_kinds(matcher, asked, &right);
        self.answers.push(answer(matcher, reliability, asked, &right));
    }

    fn add_kinds(&mut self, matcher: &Matcher<'_>, asked: &Redirect, right: &str) {
        let mut seen = Vec::new();
        for clue in matcher.clues(&asked.from) {
            if !seen.contains(&(clue.kind, clue.target.clone())) {
                let count = self.kinds.entry(clue.kind).or_default();
                count.0 += usize::from(clue.target == right);
                count.1 += 1;
                seen.push((clue.kind, clue.target));
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.answers.extend(other.answers);
        self.answers.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        self.absent += other.absent;
        for (kind, (right, all)) in other.kinds {
            let count = self.kinds.entry(kind).or_default();
            (count.0, count.1) = (count.0 + right, count.1 + all);
        }
    }

    fn print(&self, name: &str) {
        let all = self.answers.len();
        let count = |is: fn(&Answer) -> bool| self.answers.iter().filter(|answer| is(answer)).count();
        let written = count(|answer| answer.is_written);
        println!("== {name}: {all} pairs, {} with a target that is no page", self.absent);
        println!(
            "  written: {written} ({:.0}%), {} right ({:.1}%), {} with a loop or a hidden page",
            percent(written, all),
            count(|answer| answer.is_written && answer.is_right),
            percent(count(|answer| answer.is_written && answer.is_right), written),
            count(|answer| answer.is_harmful)
        );
        for (kind, (right, all)) in &self.kinds {
            println!("  {kind:?}: {right} of {all}");
        }
        for share in [10, 20, 35, 40, 60, 100] {
            let best = &self.answers[..(all * share / 100).max(1)];
            let right = best.iter().filter(|answer| answer.is_right).count();
            let level = best[best.len() - 1].confidence;
            println!(
                "  at {share}% written: {:.1}% right (confidence {level:.3})",
                percent(right, best.len())
            );
        }
        let among = count(|answer| answer.is_among);
        println!("  among the first three candidates: {:.1}%", percent(among, all));
        for level in [0.97, 0.96, 0.95, 0.94, 0.93, 0.9, 0.8] {
            let certain = self.answers.iter().filter(|answer| answer.confidence >= level);
            let (right, all) =
                certain.fold((0, 0), |count, answer| (count.0 + usize::from(answer.is_right), count.1 + 1));
            println!("  from {level}: {right} of {all} right");
        }
    }

    fn print_wrong(&self) {
        for answer in self.answers.iter().filter(|answer| !answer.is_right && answer.confidence > 0.6) {
            let Answer { asked, target, confidence, reason, .. } = answer;
            println!("  {confidence:.3} {} -> {target} ({reason}), not {}", asked.from, asked.to);
        }
    }
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// A site with 3,000 pages, whose addresses and titles share words, and 300 redirects.
fn large_site() -> (Vec<SitePage>, Vec<Redirect>) {
    let topics = ["install", "configure", "deploy", "monitor", "secure", "migrate", "query", "export"];
    let objects = ["cluster", "index", "client", "token", "dashboard", "alert", "backup"];
    let route = |n: usize| {
        let (topic, object) = (topics[n % topics.len()], objects[n % objects.len()]);
        format!("/guides/{object}s/{topic}-the-{object}-{}", n / 56)
    };
    let title =
        |n: usize| format!("How to {} a {} of the API in version {}", topics[n % 8], objects[n % 7], n / 56);
    let page = |n| SitePage { route: route(n), title: Some(title(n)), headings: Vec::new() };
    let redirect = |n: usize| Redirect::new(format!("/old/{}-{}", objects[n % 7], n), route(n * 10));
    ((0..3_000).map(page).collect(), (0..300).map(redirect).collect())
}

#[test]
#[ignore = "prints how long it takes; run it in a release build"]
fn measure_candidates_of_a_large_site() {
    let (pages, redirects) = large_site();
    let start = std::time::Instant::now();
    let site = SitePages::new(pages);
    let indexed = start.elapsed();
    let history = History::default();
    let matcher = Matcher::new(&site, &redirects, &history, "");
    let measured = start.elapsed() - indexed;
    let found = matcher.candidates("/old/configuring-clusters");
    let matched = start.elapsed() - indexed - measured;
    println!("{} candidates: index {indexed:?}, matcher {measured:?}, candidates {matched:?}", found.len());
    let (start, record) = (std::time::Instant::now(), matcher.record());
    let matcher = Matcher::with_record(&site, &redirects, &history, "", &record);
    assert_eq!(matcher.candidates("/old/configuring-clusters"), found);
    println!("with the record: {:?}", start.elapsed());
}

/// A kind that isn't in the list would be forgotten.
#[test]
fn every_kind_of_clue_survives_in_a_record() {
    let (pages, redirects) = large_site();
    let site = SitePages::new(pages.into_iter().take(200).collect());
    let history = History::default();
    let matcher = Matcher::new(&site, &redirects, &history, "");
    let record = matcher.record();
    assert!(!record.is_empty());
    assert!(ClueKind::ALL.iter().enumerate().all(|(at, kind)| *kind as usize == at));
    assert_eq!(Matcher::with_record(&site, &redirects, &history, "", &record).record(), record);
}
