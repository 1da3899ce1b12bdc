//! Repairs broken links if the intended target is certain.

use std::collections::BTreeMap;

use pages::{BrokenLink, LinkFault, Repair, Site, repair};

use crate::editor::{AgentError, StepKind};

use super::report::{Outcome, code, count};
use super::run::Run;

/// Repairs the links of the selected pages. Links without a certain target become notes.
pub(super) fn fix(run: &mut Run<'_>, selected: &[String], outcome: &mut Outcome) -> Result<(), AgentError> {
    let site = Site::read(run.files)?;
    if site.unchecked_links() > 0 {
        let note = unchecked_note(site.unchecked_links());
        run.step(StepKind::Note, note.clone());
        outcome.notes.push(note);
    }
    let mut by_file: BTreeMap<String, Vec<BrokenLink>> = BTreeMap::new();
    for link in site.broken_links() {
        if selected.binary_search(&link.file).is_ok() {
            by_file.entry(link.file.clone()).or_default().push(link);
        }
    }
    outcome.broken_links = by_file.values().map(Vec::len).sum();
    for (file, links) in by_file {
        let (text, _) = run.open(&file)?;
        let mut changes = Vec::new();
        let mut steps = Vec::new();
        for link in links {
            let position = format!("{file}:{}: {}", link.line, link.destination);
            match repair(&site, &link) {
                Repair::Certain(new) => {
                    steps.push(format!("{position} → {new}"));
                    changes.push((link.range, new));
                }
                Repair::Unsure(candidates) => {
                    let note = broken_link_note(&link, &candidates);
                    run.step(StepKind::Note, note.clone());
                    outcome.notes.push(note);
                }
            }
        }
        run.change(&file, &text, changes, steps, outcome)?;
    }
    Ok(())
}

fn unchecked_note(links: usize) -> String {
    let links = count(links, "of them leads", "of them lead");
    format!(
        "Absolute links were not checked: {links} to no page, so the site probably serves its pages under other paths."
    )
}

fn broken_link_note(link: &BrokenLink, candidates: &[String]) -> String {
    let problem = match &link.fault {
        LinkFault::NoSuchPage => "leads to no page".to_owned(),
        LinkFault::NoSuchAnchor { page } => format!("leads to no anchor of {}", code(page)),
    };
    let candidates: Vec<_> = candidates.iter().map(|candidate| code(candidate)).collect();
    let suggestion = match candidates.as_slice() {
        [] => String::new(),
        candidates => format!("; it might mean {}", candidates.join(" or ")),
    };
    format!("{}:{}: {} {problem}{suggestion}.", link.file, link.line, code(&link.destination))
}
