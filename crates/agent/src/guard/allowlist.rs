//! Judges what a change adds, construct by construct. Only what the modules below list passes, and what a page of the
//! base already has.

mod addresses;
mod attributes;
mod code;
mod comments;
mod components;
mod constructs;
mod context;
mod data;
mod directives;
mod files;
mod front_matter;
mod includes;
mod literals;
mod lost_redirects;
mod moves;
mod nav_script;
mod new_constructs;
mod plain_text;
mod published_files;
mod redirects;
mod site;
mod site_roots;
mod svg;
mod verdict;

use pages::redirects::Redirect;
use pages::{Construct, ConstructKind, FileKind, FrontMatter, MAX_TEXT_BYTES};

use super::additions::Additions;
use super::change::{Change, Policy};
use super::refusal::Violation;
use super::repo_files::is_judged;
use context::Judge;
pub(super) use files::refusal_of_path;
use new_constructs::{NewConstructs, ParsedFile};
use verdict::{TextViolations, short_name};

pub(super) fn judge<'a>(
    change: &Change<'a>,
    policy: &Policy<'_>,
    additions: &Additions<'a>,
    violations: &mut Vec<Violation<'a>>,
) {
    let judge = Judge::new(change, policy.docs_path);
    files::judge(change, policy, violations);
    lost_redirects::judge(&judge, violations);
    let (mut before, mut after) = parse_files(&judge, policy, violations);
    includes::read_as_included(&judge, additions, &mut before, &mut after);
    let mut new = NewConstructs::new(&before, &after);
    for (path, text) in additions.files() {
        let mut of_text = TextViolations::default();
        for file in after.iter().filter(|file| file.path == path) {
            for construct in new.take(file) {
                of_text.add(text, construct, judge.judge_construct(path, file.kind, construct));
            }
        }
        violations.append(&mut of_text.0);
    }
    judge_addresses_in_text(&judge, additions, violations);
}

/// The redirects that the guard accepts in a file with redirects.
pub(super) fn valid_redirects(
    change: &Change<'_>,
    docs_path: Option<&str>,
    mut redirects: Vec<Redirect>,
) -> Vec<Redirect> {
    let judge = Judge::new(change, docs_path);
    redirects.retain(|redirect| redirects::is_valid(&judge, &redirect.from, &redirect.to));
    redirects
}

/// Parses the touched files before and after the change. Refuses files that can't be read, and judges data files.
fn parse_files<'a>(
    judge: &Judge<'_, 'a>,
    policy: &Policy<'_>,
    violations: &mut Vec<Violation<'a>>,
) -> (Vec<ParsedFile<'a>>, Vec<ParsedFile<'a>>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    // A new page can have the control characters of deleted pages, because it can be such a page under a new name.
    let deleted = judge.change.edits.iter().filter(|(_, bytes)| bytes.is_none());
    let deleted: usize =
        deleted.filter_map(|(path, _)| Some(count_controls(&judge.read_base(path).ok()??))).sum();
    for (path, bytes) in judge.change.edits {
        let kind = FileKind::of(path);
        let old = match judge.read_base(path) {
            Ok(old) => old,
            Err(what) => {
                violations.push(Violation::of_path(path, what));
                continue;
            }
        };
        let old_constructs = old.as_deref().map_or_else(Vec::new, |text| pages::constructs(kind, text));
        before.push(ParsedFile { path, kind, constructs: old_constructs });
        let Some(bytes) = bytes.as_ref().filter(|_| is_judged(kind)) else { continue };
        match std::str::from_utf8(bytes) {
            Ok(text) if count_controls(text) > old.as_deref().map_or(deleted, count_controls) => {
                violations.push(Violation::of_path(path, "has new control characters"));
            }
            Ok(text) if text.len() <= MAX_TEXT_BYTES => {
                let constructs = pages::constructs(kind, text);
                let old_constructs = before.last().map_or(&[][..], |file| &file.constructs);
                let is_displaced = old.as_deref().is_some_and(|old| FrontMatter::is_displaced(old, text));
                let lost = lost_front_matter(is_displaced, old_constructs, &constructs);
                violations.extend(lost.map(|what| Violation::of_path(path, what)));
                after.push(ParsedFile { path, kind, constructs });
                let old = old.as_deref().unwrap_or_default();
                violations.extend(data::judge(kind, old, text, judge).map(|what| {
                    match policy.allow.permits(path) {
                        true => data::note_of_allowed(path, what),
                        false => Violation::of_path(path, what),
                    }
                }));
            }
            Ok(_) => violations.push(Violation::of_path(path, "is too large to be read")),
            Err(_) => violations.push(Violation::of_path(path, "is not UTF-8 text")),
        }
    }
    (before, after)
}

/// How a page loses front matter that can matter more than what the change adds.
fn lost_front_matter(is_displaced: bool, before: &[Construct], after: &[Construct]) -> Option<String> {
    if is_displaced {
        return Some("adds front matter in front of front matter of another kind".to_owned());
    }
    let key = front_matter::lost_key(before, after)?;
    Some(format!(
        "removes or changes `{}` in the front matter, which keeps text of the page from running",
        short_name(&key)
    ))
}

/// Judges the addresses in the title, the summary and the names of new files.
fn judge_addresses_in_text<'a>(
    judge: &Judge<'_, 'a>,
    additions: &Additions<'a>,
    violations: &mut Vec<Violation<'a>>,
) {
    for text in additions.texts.iter().filter(|text| text.path().is_none()) {
        let mut of_text = TextViolations::default();
        for construct in pages::constructs(FileKind::Markdown, &text.text) {
            let (ConstructKind::Link(address) | ConstructKind::Image(address)) = &construct.kind else {
                continue;
            };
            if !additions.was_in_base(text, address) {
                of_text.add(text, &construct, judge.judge_link(address));
            }
        }
        violations.append(&mut of_text.0);
    }
}

/// Counts characters that control a terminal, or that only some programs treat as the end of a line.
fn count_controls(text: &str) -> usize {
    let is_control = |c: &char| c.is_control() && !matches!(c, '\t' | '\n');
    text.chars().filter(is_control).count() - text.matches("\r\n").count()
}
