//! Adds redirects for missing addresses. Those without a certain target become notes with candidates.

use pages::redirects::{Candidate, History, Plan, Redirect, SiteRedirects, Uncertain, plan, snippets};

use crate::editor::{AgentError, StepKind};
use crate::guard;

use super::report::{Outcome, code, count};
use super::run::Run;

/// More addresses than a person can review in one pull request.
const MAX_PATHS: usize = 500;
/// A longer line of a quotation names no page.
const MAX_PATH_CHARS: usize = 512;
/// A note shows no more of an address that can't have a redirect.
const MAX_SHOWN_CHARS: usize = 100;
/// How a quotation names a missing address.
const QUOTED: &str = "Path:";
/// How a quotation names the prefix at which readers reach the pages.
const SERVED_AT: &str = "Served at:";

/// Adds redirects for the addresses of the instruction. If it names none, those of the quotations are meant.
pub(super) fn add(run: &mut Run<'_>, named: Vec<String>, outcome: &mut Outcome) -> Result<(), AgentError> {
    let is_quoted = named.is_empty();
    let mut paths = if is_quoted { quoted_paths(&run.quotations) } else { named };
    if paths.len() > MAX_PATHS {
        let more = count(paths.len() - MAX_PATHS, "more address", "more addresses");
        outcome.notes.push(format!("{more} were left out. Ask for at most {MAX_PATHS} at once."));
        paths.truncate(MAX_PATHS);
    }
    outcome.asked_paths = paths.len();
    if paths.is_empty() {
        return Ok(());
    }
    let viewed = quoted_values(&run.quotations, SERVED_AT).next();
    let site = SiteRedirects::read_as_viewed(run.files, viewed)?;
    if !is_quoted {
        add_prefix(&site, &mut paths);
    }
    let no_history = History::default();
    let plan = plan(&site, run.history.unwrap_or(&no_history), &paths);
    let accepted = run.judge(|change, policy| guard::valid_redirects(change, policy, plan.certain.clone()));
    let refused = plan.certain.iter().filter(|redirect| !accepted.contains(redirect));
    let refused: Vec<String> = refused.map(refused_note).collect();
    outcome.refused_redirect = refused.first().cloned();
    outcome.notes.extend(refused);
    let left = write(run, &site, &accepted, outcome)?;
    if !left.is_empty() {
        let left: Vec<Redirect> = left.iter().map(|redirect| site.prefix.add_to(redirect)).collect();
        list_for_a_person(run, &left, outcome);
    }
    add_notes(run, site.notes, plan, outcome);
    Ok(())
}

/// The addresses in lines such as `Path: /guide`. Visitors choose them, so they are only compared with pages.
fn quoted_paths(quotations: &[String]) -> Vec<String> {
    quoted_values(quotations, QUOTED).map(str::to_owned).collect()
}

/// The addresses in lines that begin with a label.
fn quoted_values<'q>(quotations: &'q [String], label: &'q str) -> impl Iterator<Item = &'q str> {
    let lines = quotations.iter().flat_map(|text| text.lines());
    let values = lines.filter_map(move |line| line.trim_start().strip_prefix(label)).map(str::trim);
    values.filter(|path| path.starts_with('/') && path.chars().count() <= MAX_PATH_CHARS)
}

/// A person can name an address of the site without its prefix.
fn add_prefix(site: &SiteRedirects, paths: &mut [String]) {
    for path in paths.iter_mut().filter(|path| site.prefix.strip(path).is_none()) {
        *path = site.prefix.add(path);
    }
}

/// Writes redirects, and returns those that a person must add.
fn write(
    run: &mut Run<'_>,
    site: &SiteRedirects,
    certain: &[Redirect],
    outcome: &mut Outcome,
) -> Result<Vec<Redirect>, AgentError> {
    let additions = site.add(run.files, certain)?;
    let mut left = additions.left;
    outcome.notes.extend(additions.notes);
    let edits = additions.files.iter().map(|(file, text, _)| (file.clone(), text.clone()));
    let refused = run.refused_files(edits);
    for (file, text, redirects) in additions.files {
        let step = |redirect: &Redirect| format!("{file}: redirect {} → {}", redirect.from, redirect.to);
        let steps = redirects.iter().map(step).collect();
        if refused.contains(&file) {
            outcome.notes.push(format!(
                "{} was left alone, because its redirects are not in a form that jobs can extend.",
                code(&file)
            ));
            left.extend(redirects);
        } else if !run.write(&file, text, redirects.len(), steps, outcome)? {
            left.extend(redirects);
        }
    }
    Ok(left)
}

/// The summary gets the redirects that Docwright can't write, for several servers.
fn list_for_a_person(run: &Run<'_>, left: &[Redirect], outcome: &mut Outcome) {
    outcome.left_redirects = left.len();
    let redirects = count(left.len(), "redirect has", "redirects have");
    outcome.notes.push(match outside_docs_note(run) {
        Some(outside) => format!("{redirects} a certain target, but {outside}"),
        None => format!(
            "{redirects} a certain target, but this site has no list of redirects that the offline editor can extend. \
            Add the lines from the summary to the settings of your web server."
        ),
    });
    outcome.appendix = format!("\n{}\n", snippets(left).join("\n\n"));
}

/// How to let jobs change the file with the redirects, if it's outside the docs folder.
fn outside_docs_note(run: &Run<'_>) -> Option<String> {
    let files = run.files.redirects_outside();
    let (first, all) = (files.first()?, files.iter().map(|file| code(file)).collect::<Vec<_>>());
    let verb = if all.len() == 1 { "is" } else { "are" };
    let which = if all.len() == 1 { "it" } else { "the file that has your redirects" };
    let command = code(&format!("docwright project update PROJECT --allow-path {first}"));
    Some(format!(
        "{} {verb} outside the docs folder {}; allow {which} with {command} (repeat the flag for globs that are already \
        allowed), and retry the job. Jobs can then change everything in it, with a note for the reviewer. Or add the lines from the summary to the settings of your web server.",
        all.join(" and "),
        code(run.files.root()),
    ))
}

fn add_notes(run: &mut Run<'_>, notes: Vec<String>, plan: Plan, outcome: &mut Outcome) {
    let skipped =
        plan.skipped.iter().map(|(path, why)| format!("{} needs no redirect: {why}.", code(&visible(path))));
    let notes: Vec<String> =
        notes.into_iter().chain(plan.uncertain.iter().map(uncertain_note)).chain(skipped).collect();
    for note in notes {
        run.step(StepKind::Note, note.clone());
        outcome.notes.push(note);
    }
}

/// The guard would refuse the whole change because of this redirect.
fn refused_note(redirect: &Redirect) -> String {
    let why = match redirect.from.to_lowercase() == redirect.to.to_lowercase() {
        true => "a server that ignores capital letters would redirect the page to itself",
        false => "it could hide a page or lead to another redirect",
    };
    let (from, to) = (code(&visible(&redirect.from)), code(&visible(&redirect.to)));
    format!("No redirect was added from {from} to {to}, because {why}.")
}

/// A visitor's address without characters for which the guard would refuse the whole change.
fn visible(path: &str) -> String {
    path.chars().filter(|c| c.is_alphanumeric() || c.is_ascii_graphic()).take(MAX_SHOWN_CHARS).collect()
}

fn uncertain_note(uncertain: &Uncertain) -> String {
    let path = code(&uncertain.path);
    let candidate = |candidate: &Candidate| format!("{} ({})", code(&candidate.target), candidate.reason);
    let candidates: Vec<String> = uncertain.candidates.iter().map(candidate).collect();
    match candidates.as_slice() {
        [] => format!("No redirect was added for {path}, because no page resembles it."),
        _ => format!(
            "No redirect was added for {path}, because its target is not certain. Candidates: {}.",
            candidates.join(", ")
        ),
    }
}
