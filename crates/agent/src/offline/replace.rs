//! Puts one text in the place of another, in prose and only there unless code is asked for.

use std::ops::Range;

use pages::{FileKind, Page};

use super::command::Replace;
use super::matcher::{self, Names, Places};
use super::report::{count, quote};

/// What a replacement finds in one page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: Vec<Range<usize>>,
    pub(super) left: Left,
}

/// Places that look like the text and were left.
#[derive(Debug, Default)]
pub(super) struct Left {
    in_code: usize,
    within_words: usize,
    other_case: usize,
    /// Values of front matter that the new text would break.
    in_front_matter: usize,
    /// Link destinations and addresses.
    in_addresses: usize,
    /// `[npm]` is the text and the name of a reference at once.
    in_references: usize,
    /// The new text would be read as markup there.
    broken: usize,
}

/// The places of a page to change. `path` tells MDX from Markdown.
pub(super) fn find(page: &Page, path: &str, text: &str, replace: &Replace) -> Found {
    let mut found = Found::default();
    if replace.old == replace.new {
        return found;
    }
    let look =
        |range: &Range<usize>, names| matcher::places(text, range.clone(), &replace.old, &replace.new, names);
    for value in page.front.values.iter().filter(|value| value.is_prose(text)) {
        let places = look(&value.range, Names::Whole);
        match value.can_hold(&replace.new) {
            true => found.add(places),
            false => found.left.in_front_matter += places.whole.len(),
        }
    }
    for range in &page.prose {
        let mut places = look(range, Names::Whole);
        found.left.broken += keep_fitting(path, text, range, &mut places.whole, &replace.new);
        found.add(places);
    }
    for range in &page.code {
        let places = look(range, Names::Apart);
        match replace.code {
            true => found.add(places),
            false => found.left.in_code += places.whole.len(),
        }
    }
    found.left.in_references = page.labels.iter().map(|range| look(range, Names::Apart).whole.len()).sum();
    let addresses = page.addresses.iter().chain(page.links.iter().map(|link| &link.range));
    found.left.in_addresses =
        addresses.map(|range| matcher::count_words(&text[range.clone()], &replace.old)).sum();
    found
}

/// What a line of text has in it, found once for all the places in it.
#[derive(Default)]
struct Line {
    range: Range<usize>,
    pipes: bool,
    brackets: bool,
    /// `import A from "b"`: code to MDX, whatever the page is called.
    is_statement: bool,
}

impl Line {
    fn at(text: &str, place: &Range<usize>) -> Self {
        let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
        let line = &text[start..end];
        Self {
            range: start..end,
            pipes: line.contains('|'),
            brackets: line.contains(['[', ']']),
            is_statement: pages::is_statement(line) && line.contains(['"', '\'']),
        }
    }

    /// Whether `new` can stand at a place of this line and be read as text there.
    fn can_hold(&self, text: &str, place: &Range<usize>, new: &str) -> bool {
        let heads_it = || text[self.range.start..place.start].trim_matches([' ', '\t', '>']).is_empty();
        let is_mark = new.trim_start().starts_with(['#', '>', '-', '+', '*', '=', '~', '|', '`']);
        let in_table = self.pipes && new.contains('|');
        let in_link = self.brackets && new.contains(['[', ']']);
        !(in_table || in_link || self.is_statement || (is_mark && heads_it()))
    }
}

/// Drops the places in a run of text where `new` would be read as markup; says how many.
fn keep_fitting(
    path: &str,
    text: &str,
    run: &Range<usize>,
    places: &mut Vec<Range<usize>>,
    new: &str,
) -> usize {
    let before = places.len();
    let in_mdx = FileKind::of(path) == FileKind::Mdx && new.contains(['{', '}', '<']);
    // With nothing left, emphasis, links and headings around it would be empty.
    let empties =
        |place: &Range<usize>| new.trim().is_empty() && text[run.clone()].trim().len() == place.len();
    let mut line = Line::default();
    places.retain(|place| {
        if place.end > line.range.end {
            line = Line::at(text, place);
        }
        !in_mdx && !empties(place) && line.can_hold(text, place, new)
    });
    before - places.len()
}

/// The change of a place. Nothing in its stead takes the space in front along.
pub(super) fn change(text: &str, place: Range<usize>, new: &str) -> (Range<usize>, String) {
    let spaced = new.is_empty()
        && text[..place.start].ends_with(' ')
        && text[place.end..].chars().next().is_none_or(|c| c.is_whitespace() || ".,;:!?)".contains(c));
    (place.start - usize::from(spaced)..place.end, new.to_owned())
}

impl Found {
    fn add(&mut self, places: Places) {
        self.places.extend(places.whole);
        self.left.within_words += places.within_words;
        self.left.other_case += places.other_case;
    }
}

impl Left {
    pub(super) fn add(&mut self, other: &Self) {
        self.in_code += other.in_code;
        self.within_words += other.within_words;
        self.other_case += other.other_case;
        self.in_front_matter += other.in_front_matter;
        self.in_addresses += other.in_addresses;
        self.in_references += other.in_references;
        self.broken += other.broken;
    }

    /// One sentence for each kind of place that was left.
    pub(super) fn notes(&self, replace: &Replace) -> Vec<String> {
        let old = quote(&replace.old);
        let were = |count| if count == 1 { "was" } else { "were" };
        let them = if self.in_code == 1 { "it" } else { "them" };
        let differ = if self.other_case == 1 { "differs" } else { "differ" };
        let kinds = [
            (self.in_code, "in code".to_owned(), format!("; say \"including code\" to change {them}")),
            (self.within_words, format!("where {old} is part of a longer word or name"), String::new()),
            (self.other_case, format!("that {differ} from {old} by case"), String::new()),
            (
                self.in_front_matter,
                "in front matter".to_owned(),
                ": the new text would break it there".to_owned(),
            ),
            (self.broken, "in text".to_owned(), ": the new text would be read as markup there".to_owned()),
            (self.in_references, "in the names of link references".to_owned(), String::new()),
            (self.in_addresses, "in addresses".to_owned(), String::new()),
        ];
        let sentence = |(number, where_, why): (usize, String, String)| {
            let places = count(number, "place", "places");
            (number > 0).then(|| format!("{places} {where_} {} left{why}.", were(number)))
        };
        kinds.into_iter().filter_map(sentence).collect()
    }
}
