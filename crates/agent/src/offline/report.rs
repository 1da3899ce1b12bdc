//! Builds the report: its title, its summary and its notes.

use std::collections::BTreeMap;

use crate::editor::Report;

use super::command::Command;

const MAX_TITLE_CHARS: usize = 72;
const MAX_QUOTED_CHARS: usize = 24;
const MAX_FILES_NAMED: usize = 20;
const MAX_NOTES: usize = 50;
/// Each address without a certain target gets a note with its candidates.
const MAX_REDIRECT_NOTES: usize = 200;

/// The outcome of one instruction.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) command: Command,
    /// The number of changes in each file.
    pub(super) files: BTreeMap<String, usize>,
    pub(super) notes: Vec<String>,
    /// Scopes that match no page.
    pub(super) unmatched: Vec<String>,
    /// The number of headings that were not changed, because links lead to them.
    pub(super) linked_headings: usize,
    /// Pages with words that look misspelled, but that don't seem to be in English.
    pub(super) not_english: Vec<String>,
    /// The number of broken links on the selected pages.
    pub(super) broken_links: usize,
    /// The number of addresses that redirects were asked for.
    pub(super) asked_paths: usize,
    /// The number of redirects with a certain target that a person must add.
    pub(super) left_redirects: usize,
    /// Why the first redirect that would do harm wasn't added. It's one of the notes.
    pub(super) refused_redirect: Option<String>,
    /// Markdown behind the summary.
    pub(super) appendix: String,
}

impl Outcome {
    pub(super) fn new(command: Command) -> Self {
        Self {
            command,
            files: BTreeMap::new(),
            notes: Vec::new(),
            unmatched: Vec::new(),
            linked_headings: 0,
            not_english: Vec::new(),
            broken_links: 0,
            asked_paths: 0,
            left_redirects: 0,
            refused_redirect: None,
            appendix: String::new(),
        }
    }

    fn change_count(&self) -> usize {
        self.files.values().sum()
    }

    /// The first part of a title, in the imperative: the action, without the number of pages.
    fn action(&self) -> String {
        match &self.command {
            Command::Replace(replace) => {
                format!("Replace {} with {}", quote(&replace.old), quote(&replace.new))
            }
            Command::Bump(bump) => format!("Bump version {} to {}", shorten(&bump.old), shorten(&bump.new)),
            Command::FixLinks => format!("Fix {}", count(self.change_count(), "link", "links")),
            Command::FixSpelling => {
                format!("Fix {}", count(self.change_count(), "misspelling", "misspellings"))
            }
            Command::AddRedirects(_) => {
                format!("Add {}", count(self.change_count(), "redirect", "redirects"))
            }
        }
    }

    fn summary(&self) -> String {
        let places = count(self.change_count(), "place", "places");
        match &self.command {
            Command::Replace(replace) => {
                format!("Replaced {} with {} in {places}", code(&replace.old), code(&replace.new))
            }
            Command::Bump(bump) => {
                format!("Changed version {} to {} in {places}", code(&bump.old), code(&bump.new))
            }
            Command::FixLinks => format!("Fixed {}", count(self.change_count(), "link", "links")),
            Command::FixSpelling => {
                format!("Fixed {}", count(self.change_count(), "misspelling", "misspellings"))
            }
            Command::AddRedirects(_) => {
                format!("Added {}", count(self.change_count(), "redirect", "redirects"))
            }
        }
    }

    /// All notes for a person.
    fn all_notes(self) -> impl Iterator<Item = String> {
        let headings = count(self.linked_headings, "heading was", "headings were");
        let them = if self.linked_headings == 1 { "it" } else { "them" };
        let linked = (self.linked_headings > 0)
            .then(|| format!("{headings} not changed, because links lead to {them}."));
        let unmatched = self.unmatched.into_iter().map(|scope| format!("No page matches {}.", code(&scope)));
        let not_english = not_english_note(&self.not_english);
        unmatched.chain(self.notes).chain(linked).chain(not_english)
    }

    /// The files, each with its number of changes.
    fn list_files(&self) -> String {
        let named = self
            .files
            .iter()
            .take(MAX_FILES_NAMED)
            .map(|(file, places)| format!("{} ({places})", code(file)));
        let mut named: Vec<String> = named.collect();
        if self.files.len() > MAX_FILES_NAMED {
            named.push(format!("and {} more", self.files.len() - MAX_FILES_NAMED));
        }
        named.join(", ")
    }
}

fn not_english_note(pages: &[String]) -> Option<String> {
    let first = code(pages.first()?);
    let (pages, why) = match pages.len() {
        1 => (first, "the page doesn't seem"),
        many => {
            let more = count(many - 1, "more page", "more pages");
            (format!("{first} and {more}"), "the pages don't seem")
        }
    };
    Some(format!("Words in {pages} that look misspelled were not changed, because {why} to be in English."))
}

/// Builds the report on all instructions of a prompt.
pub(super) fn report(outcomes: Vec<Outcome>, mut notes: Vec<String>) -> Report {
    let done: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.files.is_empty()).collect();
    let (title, summary) = match done.is_empty() {
        true => ("Change nothing".to_owned(), unchanged_summary(&outcomes)),
        false => {
            (title(&done), done.iter().map(|o| format!("- {}: {}.\n", o.summary(), o.list_files())).collect())
        }
    };
    let appendices: Vec<&str> = outcomes.iter().map(|outcome| outcome.appendix.as_str()).collect();
    let summary = format!("{summary}{}", appendices.concat());
    let has_redirects = outcomes.iter().any(|outcome| matches!(outcome.command, Command::AddRedirects(_)));
    let max_notes = if has_redirects { MAX_REDIRECT_NOTES } else { MAX_NOTES };
    notes.extend(outcomes.into_iter().flat_map(Outcome::all_notes));
    if notes.len() > max_notes {
        let more = count(notes.len() - max_notes, "more note", "more notes");
        notes.truncate(max_notes);
        notes.push(format!("{more} like these were left out."));
    }
    Report { title, summary, notes, checks: Vec::new() }
}

fn unchanged_summary(outcomes: &[Outcome]) -> String {
    let reasons = outcomes.iter().map(|outcome| match &outcome.command {
        _ if !outcome.unmatched.is_empty() => {
            let scopes: Vec<String> = outcome.unmatched.iter().map(|scope| code(scope)).collect();
            format!("no page matches {}", scopes.join(" or "))
        }
        Command::Replace(replace) if replace.old == replace.new => {
            format!("{} and its replacement are the same", code(&replace.old))
        }
        Command::Replace(replace) => {
            format!("{} was found nowhere that could be changed", code(&replace.old))
        }
        Command::Bump(bump) => format!("version {} was found nowhere that could be changed", code(&bump.old)),
        Command::FixLinks if outcome.broken_links == 0 => "no link is broken".to_owned(),
        Command::FixLinks => "no broken link has a certain target".to_owned(),
        Command::FixSpelling if !outcome.not_english.is_empty() => {
            "the words that look misspelled are in pages that don't seem to be in English".to_owned()
        }
        Command::FixSpelling => "no misspelling was found".to_owned(),
        Command::AddRedirects(_) if outcome.asked_paths == 0 => {
            "the prompt names no address that needs a redirect".to_owned()
        }
        Command::AddRedirects(_) if outcome.left_redirects > 0 => {
            "the offline editor can't write the redirects of this site, so add the lines below yourself"
                .to_owned()
        }
        Command::AddRedirects(_) => match &outcome.refused_redirect {
            Some(note) => lower_first(note.trim_end_matches('.')),
            None => "no redirect has a certain target".to_owned(),
        },
    });
    format!("Nothing was changed: {}.\n", reasons.collect::<Vec<_>>().join("; "))
}

fn title(done: &[&Outcome]) -> String {
    let files: std::collections::BTreeSet<&String> =
        done.iter().flat_map(|outcome| outcome.files.keys()).collect();
    let is_page = |file: &&String| pages::is_page(file);
    let pages = match files.iter().all(is_page) {
        true => format!(" in {}", count(files.len(), "page", "pages")),
        false => format!(" in {}", count(files.len(), "file", "files")),
    };
    let action = |(index, outcome): (usize, &&Outcome)| match outcome.action() {
        first if index == 0 => first,
        // "Fix 7 links and 12 misspellings" has the verb only once.
        later => {
            lower_first(later.strip_prefix("Fix ").filter(|_| is_fix(done[index - 1])).unwrap_or(&later))
        }
    };
    let actions: Vec<String> = done.iter().enumerate().map(action).collect();
    let joined = join_with_and(&actions);
    let fits = |title: &String| title.chars().count() <= MAX_TITLE_CHARS;
    match actions.len() {
        1 => format!("{}{pages}", truncate(&joined, MAX_TITLE_CHARS - pages.chars().count())),
        // The actions matter more than the number of pages.
        _ => [format!("{joined}{pages}"), joined]
            .into_iter()
            .find(fits)
            .unwrap_or_else(|| format!("Make {} edits{pages}", actions.len())),
    }
}

fn is_fix(outcome: &Outcome) -> bool {
    matches!(outcome.command, Command::FixLinks | Command::FixSpelling)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

fn join_with_and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [part] => part.clone(),
        [first @ .., last] => format!("{} and {}", first.join(", "), last),
    }
}

/// `1 page`, `4 pages`.
pub(super) fn count(number: usize, singular: &str, plural: &str) -> String {
    if number == 1 { format!("1 {singular}") } else { format!("{number} {plural}") }
}

/// A text in quotes, short enough for a line.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", shorten(text))
}

fn shorten(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    truncate(&plain, MAX_QUOTED_CHARS)
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.chars().count() > max_chars {
        true => text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A text as a code span of Markdown. The text can contain backticks.
pub(super) fn code(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if plain.trim().is_empty() {
        return "nothing".to_owned();
    }
    let runs = plain.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    let space = if plain.starts_with('`') || plain.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{plain}{space}{fence}")
}
