//! Measures the proposals against redirects that people chose.
//!
//! `DOCWRIGHT_REDIRECTS` names a folder with `SITE.redirects.tsv`, `SITE.pages.tsv` and perhaps `SITE.renames.tsv`.
//! Each redirect is asked for with all the others as the redirects that the site has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::clue::ClueKind;
use super::*;

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
    for site in read_sites(Path::new(&folder)) {
        for others in [Others::All, Others::NoTwins, Others::None] {
            report(&site, others);
        }
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

impl Others {
    fn select(self, site: &Site, asked: &str) -> Vec<Redirect> {
        let rest = |path: &str| site.pages.editions.rest(path).join("/");
        let is_twin = |from: &str| {
            let (from, asked) = (rest(from), rest(asked));
            from.ends_with(&asked) || asked.ends_with(&from)
        };
        let is_kept = |other: &&Redirect| match self {
            Self::All => other.from != asked,
            Self::NoTwins => !is_twin(&other.from),
            Self::None => false,
        };
        site.redirects.iter().filter(is_kept).cloned().collect()
    }
}

fn report(site: &Site, others: Others) {
    let no_history = History::default();
    let history = if matches!(others, Others::None) { &no_history } else { &site.history };
    let mut kinds: BTreeMap<ClueKind, (usize, usize)> = BTreeMap::new();
    let mut answers = Vec::new();
    let mut absent = 0;
    for redirect in &site.redirects {
        let right = address::plain(&redirect.to);
        absent += usize::from(!site.pages.has(&right));
        let known = others.select(site, &redirect.from);
        let matcher = Matcher::new(&site.pages, &known, history, "");
        let mut seen = Vec::new();
        for clue in matcher.clues(&redirect.from) {
            if !seen.contains(&(clue.kind, clue.target.clone())) {
                let count = kinds.entry(clue.kind).or_default();
                count.0 += usize::from(clue.target == right);
                count.1 += 1;
                seen.push((clue.kind, clue.target));
            }
        }
        let candidates = matcher.candidates(&redirect.from);
        let among = candidates.iter().take(3).any(|candidate| candidate.target == right);
        let (target, confidence, reason) = candidates
            .into_iter()
            .next()
            .map_or((String::new(), 0.0, String::new()), |c| (c.target, c.confidence, c.reason));
        let is_right = target == right;
        answers.push((confidence, is_right, among, redirect, target, reason));
    }
    println!("== {}, {others:?}: {} pairs, {absent} with a target that is no page", site.name, answers.len());
    for (kind, (right, all)) in kinds {
        println!("  {kind:?}: {right} of {all}");
    }
    answers.sort_by(|a, b| b.0.total_cmp(&a.0));
    for share in [10, 20, 35, 40, 60, 100] {
        let count = answers.len() * share / 100;
        let right = answers[..count].iter().filter(|answer| answer.1).count();
        println!(
            "  at {share}% written: {:.1}% right (confidence {:.3})",
            100.0 * right as f64 / count as f64,
            answers[count - 1].0
        );
    }
    let among = answers.iter().filter(|answer| answer.2).count();
    println!("  among the first three candidates: {:.1}%", 100.0 * among as f64 / answers.len() as f64);
    for level in [0.97, 0.96, 0.95, 0.94, 0.93, 0.9, 0.8] {
        let written: Vec<_> = answers.iter().filter(|answer| answer.0 >= level).collect();
        let right = written.iter().filter(|answer| answer.1).count();
        println!("  from {level}: {right} of {} right", written.len());
    }
    for (confidence, _, _, redirect, target, reason) in
        answers.iter().filter(|answer| !answer.1 && answer.0 > 0.6)
    {
        println!("  {confidence:.3} {} -> {target} ({reason}), not {}", redirect.from, redirect.to);
    }
}
