//! Says what was done: the title, the summary and the notes of a report.

use std::collections::BTreeMap;

use crate::Report;

use super::command::Command;

const MAX_TITLE_CHARS: usize = 72;
const MAX_QUOTED_CHARS: usize = 24;
const MAX_FILES_NAMED: usize = 20;
const MAX_NOTES: usize = 50;

/// What one instruction did.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) command: Command,
    /// How many places were changed in which file.
    pub(super) files: BTreeMap<String, usize>,
    pub(super) notes: Vec<String>,
    /// Places that were named and hold no page.
    pub(super) nowhere: Vec<String>,
    /// Headings that were left because links lead to them.
    pub(super) linked_headings: usize,
    /// Pages with words that would be wrong in English, which these pages may not be in.
    pub(super) foreign: Vec<String>,
}

impl Outcome {
    pub(super) fn new(command: Command) -> Self {
        let (files, notes, nowhere, foreign) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
        Self { command, files, notes, nowhere, linked_headings: 0, foreign }
    }

    fn places(&self) -> usize {
        self.files.values().sum()
    }

    /// The imperative half of a title: what, without where.
    fn deed(&self) -> String {
        match &self.command {
            Command::Replace(replace) => {
                format!("Replace {} with {}", quote(&replace.old), quote(&replace.new))
            }
            Command::Bump(bump) => format!("Bump version {} to {}", shorten(&bump.old), shorten(&bump.new)),
            Command::FixLinks => format!("Fix {}", count(self.places(), "link", "links")),
            Command::FixSpelling => format!("Fix {}", count(self.places(), "misspelling", "misspellings")),
        }
    }

    fn summary(&self) -> String {
        let places = count(self.places(), "place", "places");
        match &self.command {
            Command::Replace(replace) => {
                format!("Replaced {} with {} in {places}", code(&replace.old), code(&replace.new))
            }
            Command::Bump(bump) => {
                format!("Changed version {} to {} in {places}", code(&bump.old), code(&bump.new))
            }
            Command::FixLinks => format!("Fixed {}", count(self.places(), "link", "links")),
            Command::FixSpelling => format!("Fixed {}", count(self.places(), "misspelling", "misspellings")),
        }
    }

    /// What is left to a person.
    fn all_notes(self) -> impl Iterator<Item = String> {
        let headings = count(self.linked_headings, "heading was", "headings were");
        let them = if self.linked_headings == 1 { "it" } else { "them" };
        let linked = (self.linked_headings > 0).then(|| format!("{headings} left: links lead to {them}."));
        let nowhere = self.nowhere.into_iter().map(|place| format!("No page matches {}.", code(&place)));
        let foreign = foreign(&self.foreign);
        nowhere.chain(self.notes).chain(linked).chain(foreign)
    }

    /// The files by name, with how often each was changed.
    fn files_named(&self) -> String {
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

fn foreign(pages: &[String]) -> Option<String> {
    let first = code(pages.first()?);
    let (pages, them) = match pages.len() {
        1 => (first, "it does not show that it is"),
        2 => (format!("{first} and 1 more page"), "they do not show that they are"),
        many => (format!("{first} and {} more pages", many - 1), "they do not show that they are"),
    };
    Some(format!("Words in {pages} that look misspelled were left: {them} in English."))
}

/// The report over all instructions of a prompt.
pub(super) fn report(outcomes: Vec<Outcome>, mut notes: Vec<String>) -> Report {
    let done: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.files.is_empty()).collect();
    let (title, summary) = match done.is_empty() {
        true => ("Change nothing".to_owned(), nothing_done(&outcomes)),
        false => (
            title(&done),
            done.iter().map(|o| format!("- {}: {}.\n", o.summary(), o.files_named())).collect(),
        ),
    };
    notes.extend(outcomes.into_iter().flat_map(Outcome::all_notes));
    if notes.len() > MAX_NOTES {
        let more = notes.len() - MAX_NOTES;
        notes.truncate(MAX_NOTES);
        notes.push(format!("There are {more} more notes like these."));
    }
    Report { title, summary, notes, checks: Vec::new() }
}

fn nothing_done(outcomes: &[Outcome]) -> String {
    let searched = outcomes.iter().map(|outcome| match &outcome.command {
        _ if !outcome.nowhere.is_empty() => {
            let places: Vec<String> = outcome.nowhere.iter().map(|place| code(place)).collect();
            format!("no page matches {}", places.join(" or "))
        }
        Command::Replace(replace) if replace.old == replace.new => {
            format!("{} and its replacement are the same", code(&replace.old))
        }
        Command::Replace(replace) => {
            format!("{} was found nowhere that could be changed", code(&replace.old))
        }
        Command::Bump(bump) => format!("version {} was found nowhere that could be changed", code(&bump.old)),
        Command::FixLinks => "no link could be fixed with certainty".to_owned(),
        Command::FixSpelling if !outcome.foreign.is_empty() => {
            "what looks misspelled is in pages that do not show that they are in English".to_owned()
        }
        Command::FixSpelling => "no misspelling was found".to_owned(),
    });
    format!("Nothing was changed: {}.\n", searched.collect::<Vec<_>>().join("; "))
}

fn title(done: &[&Outcome]) -> String {
    let files: std::collections::BTreeSet<&String> =
        done.iter().flat_map(|outcome| outcome.files.keys()).collect();
    let place = format!(" in {}", count(files.len(), "page", "pages"));
    let deed = |(index, outcome): (usize, &&Outcome)| match outcome.deed() {
        first if index == 0 => first,
        // "Fix 7 links and 12 misspellings": the verb is said once.
        later => {
            lower_first(later.strip_prefix("Fix ").filter(|_| is_fix(done[index - 1])).unwrap_or(&later))
        }
    };
    let deeds: Vec<String> = done.iter().enumerate().map(deed).collect();
    let what = and(&deeds);
    let fits = |title: &String| title.chars().count() <= MAX_TITLE_CHARS;
    match deeds.len() {
        1 => format!("{}{place}", cut(&what, MAX_TITLE_CHARS - place.chars().count())),
        // What was done matters more than in how many pages.
        _ => [format!("{what}{place}"), what]
            .into_iter()
            .find(fits)
            .unwrap_or_else(|| format!("Carry out {} edits{place}", deeds.len())),
    }
}

fn is_fix(outcome: &Outcome) -> bool {
    matches!(outcome.command, Command::FixLinks | Command::FixSpelling)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {}", first.join(", "), last),
    }
}

/// `1 page`, `4 pages`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A text in quotes, short enough for a line.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", shorten(text))
}

fn shorten(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(&plain, MAX_QUOTED_CHARS)
}

fn cut(text: &str, room: usize) -> String {
    match text.chars().count() > room {
        true => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A text as a code span of Markdown, whatever backticks are in it.
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
