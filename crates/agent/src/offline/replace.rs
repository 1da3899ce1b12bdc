//! Replaces a text in prose, and in code only if the prompt asks for it.

use std::ops::Range;

use pages::{FileKind, Page};

use super::command::Replace;
use super::matcher::{self, JoinedWords, Matches};
use super::report::{count, quote};

/// The matches of a replacement in one page.
#[derive(Debug, Default)]
pub(super) struct PageMatches {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) skipped: Skipped,
}

/// The numbers of occurrences that are not replaced.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    in_code: usize,
    within_words: usize,
    other_case: usize,
    /// Values of front matter that the new text would break.
    in_front_matter: usize,
    /// Link destinations and addresses.
    in_addresses: usize,
    /// Labels such as `[npm]`, which are both text and the name of a reference.
    in_references: usize,
    /// Text where the new text would become markup.
    breaks_markup: usize,
}

/// Finds the ranges of a page to change. `path` distinguishes MDX from Markdown.
pub(super) fn find(page: &Page, path: &str, text: &str, replace: &Replace) -> PageMatches {
    let mut found = PageMatches::default();
    if replace.old == replace.new {
        return found;
    }
    let find = |range: &Range<usize>, joined| {
        matcher::find_matches(text, range.clone(), &replace.old, &replace.new, joined)
    };
    for value in page.front.values.iter().filter(|value| value.is_prose(text)) {
        let matches = find(&value.range, JoinedWords::Excluded);
        match value.can_hold(&replace.new) {
            true => found.add(matches),
            false => found.skipped.in_front_matter += matches.whole.len(),
        }
    }
    for range in &page.prose {
        let mut matches = find(range, JoinedWords::Excluded);
        found.skipped.breaks_markup +=
            remove_markup_conflicts(path, text, range, &mut matches.whole, &replace.new);
        found.add(matches);
    }
    for range in &page.code {
        let matches = find(range, JoinedWords::Included);
        match replace.code {
            true => found.add(matches),
            false => found.skipped.in_code += matches.whole.len(),
        }
    }
    found.skipped.in_references =
        page.labels.iter().map(|range| find(range, JoinedWords::Included).whole.len()).sum();
    let addresses = page.addresses.iter().chain(page.links.iter().map(|link| &link.range));
    found.skipped.in_addresses =
        addresses.map(|range| matcher::count_words(&text[range.clone()], &replace.old)).sum();
    found
}

/// Properties of a line, computed once for all matches in it.
#[derive(Default)]
struct Line {
    range: Range<usize>,
    has_pipes: bool,
    has_brackets: bool,
    /// Whether it is a statement of MDX, such as `import A from "b"`, in a page of any kind.
    is_statement: bool,
}

impl Line {
    fn at(text: &str, found: &Range<usize>) -> Self {
        let start = text[..found.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[found.end..].find('\n').map_or(text.len(), |at| found.end + at);
        let line = &text[start..end];
        Self {
            range: start..end,
            has_pipes: line.contains('|'),
            has_brackets: line.contains(['[', ']']),
            is_statement: pages::is_statement(line) && line.contains(['"', '\'']),
        }
    }

    /// Whether `new` would still be text at this position of the line.
    fn can_hold(&self, text: &str, found: &Range<usize>, new: &str) -> bool {
        let is_at_start = || text[self.range.start..found.start].trim_matches([' ', '\t', '>']).is_empty();
        let is_marker = new.trim_start().starts_with(['#', '>', '-', '+', '*', '=', '~', '|', '`']);
        let breaks_table = self.has_pipes && new.contains('|');
        let breaks_link = self.has_brackets && new.contains(['[', ']']);
        !(breaks_table || breaks_link || self.is_statement || (is_marker && is_at_start()))
    }
}

/// Removes the matches in a run of text where `new` would become markup. Returns their number.
fn remove_markup_conflicts(
    path: &str,
    text: &str,
    run: &Range<usize>,
    matches: &mut Vec<Range<usize>>,
    new: &str,
) -> usize {
    let before = matches.len();
    let in_mdx = FileKind::of(path) == FileKind::Mdx && new.contains(['{', '}', '<']);
    // Without text, the emphasis, link or heading around it would be empty.
    let empties_run =
        |found: &Range<usize>| new.trim().is_empty() && text[run.clone()].trim().len() == found.len();
    let mut line = Line::default();
    matches.retain(|found| {
        if found.end > line.range.end {
            line = Line::at(text, found);
        }
        !in_mdx && !empties_run(found) && line.can_hold(text, found, new)
    });
    before - matches.len()
}

/// The change of a match. An empty replacement also removes the space before the match.
pub(super) fn change(text: &str, found: Range<usize>, new: &str) -> (Range<usize>, String) {
    let removes_space = new.is_empty()
        && text[..found.start].ends_with(' ')
        && text[found.end..].chars().next().is_none_or(|c| c.is_whitespace() || ".,;:!?)".contains(c));
    (found.start - usize::from(removes_space)..found.end, new.to_owned())
}

impl PageMatches {
    fn add(&mut self, matches: Matches) {
        self.ranges.extend(matches.whole);
        self.skipped.within_words += matches.within_words;
        self.skipped.other_case += matches.other_case;
    }
}

impl Skipped {
    pub(super) fn add(&mut self, other: &Self) {
        self.in_code += other.in_code;
        self.within_words += other.within_words;
        self.other_case += other.other_case;
        self.in_front_matter += other.in_front_matter;
        self.in_addresses += other.in_addresses;
        self.in_references += other.in_references;
        self.breaks_markup += other.breaks_markup;
    }

    /// One sentence for each kind of skipped occurrence.
    pub(super) fn notes(&self, replace: &Replace) -> Vec<String> {
        let old = quote(&replace.old);
        let were = |count| if count == 1 { "was" } else { "were" };
        let them = if self.in_code == 1 { "it" } else { "them" };
        let differ = if self.other_case == 1 { "differs" } else { "differ" };
        let kinds = [
            (
                self.in_code,
                "in code".to_owned(),
                format!("; to change {them}, add \"including code\" to the prompt"),
            ),
            (self.within_words, format!("where {old} is part of a longer word or name"), String::new()),
            (self.other_case, format!("that {differ} from {old} by case"), String::new()),
            (
                self.in_front_matter,
                "in front matter".to_owned(),
                ", because the new text would break it".to_owned(),
            ),
            (
                self.breaks_markup,
                "in text".to_owned(),
                ", because the new text would become markup".to_owned(),
            ),
            (self.in_references, "in the names of link references".to_owned(), String::new()),
            (self.in_addresses, "in addresses".to_owned(), String::new()),
        ];
        let sentence = |(number, where_, why): (usize, String, String)| {
            let places = count(number, "place", "places");
            (number > 0).then(|| format!("{places} {where_} {} not changed{why}.", were(number)))
        };
        kinds.into_iter().filter_map(sentence).collect()
    }
}
