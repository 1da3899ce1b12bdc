//! Puts a new text in the place of an old one, though the old one was not copied exactly.
//!
//! The ways to find the place are rungs of a ladder ([`Rung`]), from exact to loose. A rung is tried only
//! when those before it found nothing, and what it finds is changed only when it is the one place that fits.
//! What is merely similar is shown ([`Missed::NotFound`]), never changed. The change from old to new is
//! brought onto the file's own text, so what old and new have in common keeps the file's characters,
//! indentation and wrapping. Line endings, a byte-order mark and a final newline are the file's always.

mod alike;
mod apply;
mod blank;
mod change;
mod copied;
mod find;
mod fold;
mod indent;
mod lines;
mod missed;
mod nearest;

use std::ops::Range;

use apply::{Place, Plan, Splice};
use copied::Reading;
use find::Wanted;
use fold::{Folded, Loose, fold};

pub use missed::{Missed, Near};

/// A text that was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// The line, from 1, in which each place began before the edit.
    pub places: Vec<usize>,
    /// How the places were found.
    pub rung: Rung,
}

/// How alike the old text and its place had to be. Each forgives what the ones before it do, but
/// `Wrapping` no blank lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rung {
    Exact,
    /// But for line endings and spaces before them, and blank lines around the whole.
    LineEnds,
    /// But for indentation; new lines are indented as the file would have them.
    Indentation,
    /// But for quotes, dashes, spaces, ellipses and full-width letters that look alike.
    LookAlikes,
    /// But for blank lines between others. Of `all` places, those like the first.
    BlankLines,
    /// But for where the lines of a paragraph end, and how many spaces are between words.
    Wrapping,
    /// After line numbers, a code fence, escapes or entities were taken out; then by any of the above.
    Copied,
}

const LADDER: [(Rung, Loose); 6] = {
    let none = Loose { indent: false, alike: false, blank: false, wrap: false };
    let both = Loose { indent: true, alike: true, ..none };
    [
        (Rung::LineEnds, none),
        (Rung::Indentation, Loose { indent: true, ..none }),
        (Rung::LookAlikes, Loose { alike: true, ..none }),
        (Rung::LookAlikes, both),
        (Rung::BlankLines, Loose { blank: true, ..both }),
        (Rung::Wrapping, Loose { wrap: true, ..both }),
    ]
};

/// Beyond these, only an exact old text is found.
const MAX_TEXT: usize = 2 << 20;
const MAX_OLD: usize = 100_000;
/// Many places and a long new text make a longer one.
const MAX_RESULT: usize = 8 << 20;
const MAX_LINES_TOLD: usize = 8;

/// Puts `new` in the one place of `text` where `old` stands, or with `all` in every one.
pub fn edit(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, Missed> {
    const MARK: char = '\u{feff}';
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let old = old.strip_prefix(MARK).unwrap_or(old);
    let new = new.strip_prefix(MARK).unwrap_or(new);
    if old.is_empty() {
        return Err(Missed::Empty);
    }
    if old == new {
        return Err(Missed::SameText);
    }
    let mut edited = land(body, old, new, all)?;
    edited.text.insert_str(0, &text[..text.len() - body.len()]);
    Ok(edited)
}

fn land(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, Missed> {
    if let Some(edited) = exactly(text, old, new, all)? {
        return Ok(edited);
    }
    if text.len() > MAX_TEXT || old.len() > MAX_OLD || new.len() > MAX_TEXT {
        return Err(Missed::TooLarge);
    }
    if let Some(edited) = climb(text, old, new, false, all, &LADDER)? {
        return Ok(edited);
    }
    for Reading { old, new, whole_lines } in copied::readings(old, new)? {
        if let Some(edited) = climb(text, &old, &new, whole_lines, all, &LADDER)? {
            return Ok(Edited { rung: Rung::Copied, ..edited });
        }
    }
    Err(Missed::NotFound { nearest: nearest::nearest(text, old) })
}

/// The first rung.
fn exactly(text: &str, old: &str, new: &str, all: bool) -> Result<Option<Edited>, Missed> {
    let found = || find::occurrences(text.as_bytes(), old.as_bytes()).map(|at| at..at + old.len());
    let places = chosen(found, all, |at| at, text)?;
    if places.is_empty() {
        return Ok(None);
    }
    if old.contains('\r') && text.len() <= MAX_TEXT {
        return exactly_with_endings(text, old, new, places).map(Some);
    }
    if places.len().saturating_mul(new.len()) > MAX_RESULT {
        return Err(Missed::TooLarge);
    }
    let new = new.replace("\r\n", "\n");
    let lines = lines_at(text, places.iter().map(|place| place.start));
    let splices = places.into_iter().zip(&lines).map(|(place, line)| (place, new.replace('\n', line.ending)));
    finish(text, splices.collect(), &lines, Rung::Exact).map(Some)
}

/// An old text with line endings of its own, found as it is: those that stay must stay as they are.
fn exactly_with_endings(
    text: &str,
    old: &str,
    new: &str,
    places: Vec<Range<usize>>,
) -> Result<Edited, Missed> {
    let (file, folded) = (fold(text, Loose::default()), fold(old, Loose::default()));
    let core = folded.core();
    let first = folded.spans.get(core.start).map_or(0, |span| span.start());
    let at = |place: Range<usize>| file.spans.partition_point(|span| span.start() < place.start + first);
    let places = places.into_iter().map(at).collect();
    rewrite(text, &file, (&folded, core), places, &Plan::new(old, new, false), Rung::Exact)
}

fn climb(
    text: &str,
    old: &str,
    new: &str,
    whole_lines: bool,
    all: bool,
    ladder: &[(Rung, Loose)],
) -> Result<Option<Edited>, Missed> {
    for &(rung, loose) in ladder {
        let folded = fold(old, loose);
        let wanted = Wanted::new(old, &folded, whole_lines);
        if wanted.core.is_empty() {
            break;
        }
        let file = fold(text, loose);
        let found = || wanted.places(text, &file).map(|at| at..at + wanted.core.len());
        let places = chosen(found, all, |at| file.spans[at].start(), text)?;
        let Some(first) = places.first() else { continue };
        if loose.blank {
            return with_its_blank_lines(text, place_of(&file, first), (old, new), loose, all).map(Some);
        }
        let first = Place::new(text, (&file, first.start), (&folded, wanted.core.clone()), 0);
        let (old, new) = first.without_surplus(old, new);
        let folded = fold(old, loose);
        let places = places.into_iter().map(|place| place.start).collect();
        let plan = Plan::new(old, new, loose.wrap);
        return rewrite(text, &file, (&folded, folded.core()), places, &plan, rung).map(Some);
    }
    Ok(None)
}

/// Where a run of folded bytes came from.
fn place_of(file: &Folded, run: &Range<usize>) -> Range<usize> {
    file.spans[run.start].start()..file.spans[run.end - 1].end()
}

/// Once more, with the blank lines that the place has: then every line has its partner.
fn with_its_blank_lines(
    text: &str,
    place: Range<usize>,
    (old, new): (&str, &str),
    loose: Loose,
    all: bool,
) -> Result<Edited, Missed> {
    let not_found = || Missed::NotFound { nearest: nearest::nearest(text, old) };
    let (old, new) = blank::mended(&text[place], old, new).ok_or_else(not_found)?;
    let ladder = [(Rung::BlankLines, Loose { blank: false, ..loose })];
    climb(text, &old, &new, false, all, &ladder)?.ok_or_else(not_found)
}

/// The one place that was found, or all that do not overlap.
fn chosen<I: Iterator<Item = Range<usize>>>(
    found: impl Fn() -> I,
    all: bool,
    offset: impl Fn(usize) -> usize,
    text: &str,
) -> Result<Vec<Range<usize>>, Missed> {
    if !all && found().nth(1).is_some() {
        let starts = found().take(MAX_LINES_TOLD).map(|place| offset(place.start));
        let mut lines: Vec<_> = lines_at(text, starts).iter().map(|line| line.number).collect();
        lines.dedup();
        return Err(Missed::Ambiguous { lines, more: found().nth(MAX_LINES_TOLD).is_some() });
    }
    let mut end = 0;
    let apart = |place: &Range<usize>| {
        let apart = place.start >= end;
        end = if apart { place.end } else { end };
        apart
    };
    Ok(found().filter(apart).collect())
}

/// Brings the plan onto every place, each given by the folded byte at which the core of the old text begins.
fn rewrite(
    text: &str,
    file: &Folded,
    (old, core): (&Folded, Range<usize>),
    places: Vec<usize>,
    plan: &Plan,
    rung: Rung,
) -> Result<Edited, Missed> {
    let lines = lines_at(text, places.iter().map(|at| file.spans[*at].start()));
    let (mut splices, mut from, mut size) = (Vec::new(), 0, 0);
    for (at, line) in places.into_iter().zip(&lines) {
        let place = Place::new(text, (file, at), (old, core.clone()), from);
        let new = place.splices(plan, line.ending).map_err(|_| Missed::Indentation { line: line.number })?;
        from = place.end;
        size += new.iter().map(|(_, text)| text.len()).sum::<usize>();
        if size > MAX_RESULT {
            return Err(Missed::TooLarge);
        }
        splices.extend(new);
    }
    finish(text, splices, &lines, rung)
}

fn finish(text: &str, splices: Vec<Splice>, lines: &[LineAt], rung: Rung) -> Result<Edited, Missed> {
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in splices {
        // Two changes may meet in white space that was folded away, and each claim it.
        edited.push_str(text.get(done..range.start).unwrap_or_default());
        edited.push_str(&new);
        done = done.max(range.end);
    }
    edited.push_str(&text[done..]);
    if let Some(last) = lines.last()
        && text.ends_with('\n')
        && !edited.is_empty()
        && !edited.ends_with('\n')
    {
        edited.push_str(last.ending);
    }
    match lines.first() {
        Some(line) if edited == text => Err(Missed::AlreadySo { line: line.number }),
        _ => Ok(Edited { text: edited, places: lines.iter().map(|line| line.number).collect(), rung }),
    }
}

/// A line of the file, and how new lines beside it are to end.
struct LineAt {
    number: usize,
    ending: &'static str,
}

/// The lines in which some offsets are, which must be in order.
fn lines_at(text: &str, offsets: impl Iterator<Item = usize>) -> Vec<LineAt> {
    let mut lines = text.split_inclusive('\n');
    let (mut number, mut end, mut ending) = (0, 0, "\n");
    let mut found = Vec::new();
    for offset in offsets {
        while offset >= end || number == 0 {
            let Some(line) = lines.next() else { break };
            number += 1;
            end += line.len();
            // The last line may have no ending; then it is that of the line before.
            if line.ends_with('\n') {
                ending = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
            }
        }
        found.push(LineAt { number: number.max(1), ending });
    }
    found
}
