//! Leads broken links to where they were meant to, when that is certain.

use std::collections::BTreeMap;

use pages::{BrokenLink, Repair, Site, Why, repair};

use crate::{AgentError, StepKind};

use super::report::{Outcome, code, count};
use super::run::Run;

/// Repairs the links of the chosen pages; those with no certain answer become notes.
pub(super) fn fix(run: &mut Run<'_>, chosen: &[String], outcome: &mut Outcome) -> Result<(), AgentError> {
    let site = Site::read(run.files)?;
    if site.unjudged_links() > 0 {
        let note = unjudged(site.unjudged_links());
        run.step(StepKind::Note, note.clone());
        outcome.notes.push(note);
    }
    let mut by_file: BTreeMap<String, Vec<BrokenLink>> = BTreeMap::new();
    for link in site.broken_links() {
        if chosen.binary_search(&link.file).is_ok() {
            by_file.entry(link.file.clone()).or_default().push(link);
        }
    }
    for (file, links) in by_file {
        let (text, _) = run.open(&file)?;
        let mut changes = Vec::new();
        let mut steps = Vec::new();
        for link in links {
            let place = format!("{file}:{}: {}", link.line, link.destination);
            match repair(&site, &link) {
                Repair::Certain(new) => {
                    steps.push(format!("{place} → {new}"));
                    changes.push((link.range, new));
                }
                Repair::Unsure(candidates) => {
                    let note = note(&link, &candidates);
                    run.step(StepKind::Note, note.clone());
                    outcome.notes.push(note);
                }
            }
        }
        run.change(&file, &text, changes, steps, outcome)?;
    }
    Ok(())
}

fn unjudged(links: usize) -> String {
    let links = count(links, "of them leads", "of them lead");
    format!(
        "Absolute links are not judged: {links} to no page, so the site is probably served in a way that its files do not show."
    )
}

fn note(link: &BrokenLink, candidates: &[String]) -> String {
    let what = match &link.why {
        Why::NoSuchPage => "leads to no page".to_owned(),
        Why::NoSuchAnchor { page } => format!("names no anchor of {}", code(page)),
    };
    let meant = match candidates {
        [] => String::new(),
        some => {
            format!("; it may mean {}", some.iter().map(|one| code(one)).collect::<Vec<_>>().join(" or "))
        }
    };
    format!("{}:{}: {} {what}{meant}.", link.file, link.line, code(&link.destination))
}
