//! Makes copying mistakes in the texts of an edit.

use super::hunks::{Hunk, Kind};
use super::slips::Slipped;

/// Which texts have the mistake: the old one, the new one.
pub(super) type Sides = (bool, bool);
pub(super) const OLD: Sides = (true, false);
pub(super) const NEW: Sides = (false, true);
pub(super) const BOTH: Sides = (true, true);

impl Hunk {
    pub(super) fn unchanged(&self) -> Slipped {
        join(self, self.lines.clone())
    }
}

fn join(hunk: &Hunk, lines: Vec<(Kind, String)>) -> Slipped {
    let side =
        |not: Kind| lines.iter().filter(|(kind, _)| *kind != not).map(|(_, line)| line.as_str()).collect();
    Slipped {
        text: hunk.before.clone(),
        after: hunk.after.clone(),
        old: side(Kind::Added),
        new: side(Kind::Removed),
    }
}

/// Whether the old text has the slip. If only the new text has it, nothing shows that it is one.
fn is_slipped(hunk: &Hunk) -> impl Fn(&Slipped) -> bool {
    let old = hunk.unchanged().old;
    move |slipped| slipped.old != old && slipped.old != slipped.new
}

fn each_line(hunk: &Hunk, added: bool, change: impl Fn(&str) -> String) -> Option<Slipped> {
    let line = |(kind, line): &(Kind, String)| {
        let words = line.trim_end_matches(['\n', '\r']);
        let changed = if *kind == Kind::Added && !added { words.to_owned() } else { change(words) };
        (*kind, format!("{changed}{}", &line[words.len()..]))
    };
    Some(join(hunk, hunk.lines.iter().map(line).collect())).filter(is_slipped(hunk))
}

/// A slip in the lines that were copied from the file.
pub(super) fn copied(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    each_line(hunk, false, change)
}

/// A slip in the characters that were copied from the file. If the edit itself changes them so, there is no slip.
pub(super) fn swapped(hunk: &Hunk, pairs: &[(&str, &str)]) -> Option<Slipped> {
    let has = |kind: Kind, text: &str| {
        hunk.lines.iter().any(|(other, line)| *other == kind && line.contains(text.trim()))
    };
    let is_meant = pairs.iter().any(|(from, to)| has(Kind::Removed, from) && has(Kind::Added, to));
    copied(hunk, |line| swap(line, pairs)).filter(|_| !is_meant)
}

/// A slip in all lines.
pub(super) fn written(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    each_line(hunk, true, change)
}

/// A slip in a whole text.
pub(super) fn whole(hunk: &Hunk, (old, new): Sides, change: impl Fn(&str) -> String) -> Option<Slipped> {
    let mut slipped = hunk.unchanged();
    slipped.old = if old { change(&slipped.old) } else { slipped.old };
    slipped.new = if new { change(&slipped.new) } else { slipped.new };
    let (is_slipped, is_new_slipped) = (is_slipped(hunk), slipped.new != hunk.unchanged().new);
    Some(slipped).filter(|slipped| if old { is_slipped(slipped) } else { is_new_slipped })
}

/// Changes each line, without its line ending.
pub(super) fn each(text: &str, change: impl Fn(&str) -> String) -> String {
    let line = |line: &str| {
        let words = line.trim_end_matches(['\n', '\r']);
        change(words) + &line[words.len()..]
    };
    text.split_inclusive('\n').map(line).collect()
}

pub(super) fn swap(line: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to))
}

pub(super) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

pub(super) fn indented(by: &str, line: &str) -> String {
    if line.trim().is_empty() { line.to_owned() } else { format!("{by}{line}") }
}

pub(super) fn reindented(line: &str, from: &str, to: &str) -> String {
    let indent = indent(line);
    format!("{}{}", indent.replace(from, to), &line[indent.len()..])
}

pub(super) fn not_indented(hunk: &Hunk, sides: Sides) -> Option<Slipped> {
    let indents = hunk.lines.iter().filter(|(_, line)| !line.trim().is_empty()).map(|(_, line)| indent(line));
    let least = indents.min_by_key(|indent| indent.len())?.to_owned();
    let dedented = |line: &str| line.strip_prefix(least.as_str()).unwrap_or(line).to_owned();
    whole(hunk, sides, |text| each(text, dedented))
}

pub(super) fn half_indented(hunk: &Hunk) -> Option<Slipped> {
    let even = hunk.lines.iter().all(|(_, line)| indent(line).len().is_multiple_of(2));
    written(hunk, |line| line[indent(line).len() / 2..].to_owned()).filter(|_| even)
}

pub(super) fn is_item(line: &str) -> bool {
    let content = line.trim_start();
    ["- ", "* ", "+ ", ". "].iter().any(|mark| content.starts_with(mark))
}

pub(super) fn without_first_indent(text: &str) -> String {
    text.trim_start_matches([' ', '\t']).to_owned()
}

pub(super) fn trimmed(text: &str) -> String {
    text.trim_matches([' ', '\t', '\n', '\r']).to_owned()
}

pub(super) fn without_newline(text: &str) -> String {
    text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(text).to_owned()
}

/// Changes the number of blank lines between lines that stay.
pub(super) fn blank_lines(hunk: &Hunk, count: usize) -> Option<Slipped> {
    let stays = |at: usize| hunk.lines.get(at).is_some_and(|(kind, _)| *kind == Kind::Same);
    let is_inner = |at: usize| at > 0 && stays(at - 1) && stays(at) && stays(at + 1);
    let lines = hunk.lines.iter().enumerate().flat_map(|(at, line)| {
        let is_blank = line.1.trim().is_empty() && is_inner(at);
        std::iter::repeat_n(line.clone(), if is_blank { count } else { 1 })
    });
    Some(join(hunk, lines.collect())).filter(is_slipped(hunk))
}

/// The file ends without a newline, at the end of the hunk. So do the given sides.
pub(super) fn without_final_newline(hunk: &Hunk, sides: Sides) -> Option<Slipped> {
    let is_last = hunk.range.end == hunk.before.len() && !hunk.after.is_empty();
    let mut slipped = whole(hunk, sides, without_newline).filter(|_| is_last)?;
    slipped.text = without_newline(&slipped.text);
    slipped.after = without_newline(&slipped.after);
    Some(slipped)
}

pub(super) fn spaces_to_tabs(hunk: &Hunk) -> Option<Slipped> {
    let fours = hunk
        .lines
        .iter()
        .all(|(_, line)| indent(line).len().is_multiple_of(4) && !indent(line).contains('\t'));
    written(hunk, |line| reindented(line, "    ", "\t")).filter(|_| fours)
}

/// Wraps paragraphs again, in old and new: not in code, and only if all lines are plain text.
pub(super) fn wrapped(hunk: &Hunk, width: usize) -> Option<Slipped> {
    let plain = |line: &str| line.is_empty() || line.starts_with(char::is_alphabetic);
    let code =
        hunk.before.lines().take(hunk.number).filter(|line| line.trim().starts_with("```")).count() % 2 == 1;
    let all = !code && hunk.lines.iter().all(|(_, line)| plain(line.trim_end()) && !line.ends_with("  \n"));
    whole(hunk, BOTH, |text| wrap(text, width)).filter(|_| all)
}

fn wrap(text: &str, width: usize) -> String {
    let paragraph = |paragraph: &str| {
        let mut lines = vec![String::new()];
        for word in paragraph.split_whitespace() {
            let structural = word.starts_with(['-', '*', '+', '#', '>', '|', '<', '`', '=', '_', ':', '~'])
                || word.starts_with(|ch: char| ch.is_ascii_digit());
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if structural || line.len() + word.len() < width => *line += &format!(" {word}"),
                _ => lines.push(word.to_owned()),
            }
        }
        lines.join("\n")
    };
    let paragraphs: Vec<_> = text.trim_end().split("\n\n").map(paragraph).collect();
    format!("{}\n", paragraphs.join("\n\n"))
}

/// Between two lines that stay, one more blank line or one less.
pub(super) fn blank_line(hunk: &Hunk, more: bool) -> Option<Slipped> {
    let stays = |at: usize| hunk.lines.get(at).is_some_and(|(kind, _)| *kind == Kind::Same);
    let blank = |at: usize| hunk.lines[at].1.trim().is_empty();
    let mut positions = (1..hunk.lines.len()).filter(|at| stays(at - 1) && stays(*at) && blank(*at) != more);
    let mut lines = hunk.lines.clone();
    match more {
        true => lines.insert(positions.find(|at| !blank(at - 1))?, (Kind::Same, "\n".to_owned())),
        false => drop(lines.remove(positions.find(|at| at + 1 < hunk.lines.len())?)),
    }
    Some(join(hunk, lines))
}

pub(super) fn numbered(hunk: &Hunk, both: bool) -> Option<Slipped> {
    let number = |text: &str| {
        let lines = text.split_inclusive('\n').enumerate();
        lines.map(|(at, line)| format!("{:>6}\t{line}", at + hunk.number)).collect::<String>()
    };
    let mut slipped = join(hunk, hunk.lines.clone());
    slipped.old = number(&slipped.old);
    slipped.new = if both { number(&slipped.new) } else { slipped.new };
    Some(slipped)
}

pub(super) fn endings(hunk: &Hunk, in_file: bool) -> Option<Slipped> {
    let crlf = |text: &String| text.replace('\n', "\r\n");
    let Slipped { text, after, old, new } = join(hunk, hunk.lines.clone());
    match in_file {
        _ if text.contains('\r') => None,
        true => Some(Slipped { text: crlf(&text), after: crlf(&after), old, new }),
        false => Some(Slipped { old: crlf(&old), new: crlf(&new), text, after }),
    }
}

/// Changes the longest word of the old text.
pub(super) fn wrong(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    let mut slipped = join(hunk, hunk.lines.clone());
    let words = slipped.old.split(|ch: char| !ch.is_alphanumeric());
    let word = words.max_by_key(|word| word.len()).filter(|word| word.len() > 3)?.to_owned();
    slipped.old = slipped.old.replacen(&word, &change(&word), 1);
    // Without its first word, the rest is still in the file, and is found.
    Some(slipped).filter(|slipped| !slipped.text.contains(slipped.old.trim()))
}
