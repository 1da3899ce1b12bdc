//! The places that are most like a text that stands nowhere, to be shown and never to be edited.

use std::collections::HashMap;

use super::alike::alike;
use super::missed::Near;

const MAX_SHOWN: usize = 3;
const MAX_LINES_SHOWN: usize = 6;
const MAX_LINE_CHARS: usize = 160;
/// Of the words of a place and of the old text together, so many in a hundred must be in both.
const ALIKE_ENOUGH: usize = 40;

/// At most three places, best first. One pass over the words of `text`, whatever they are.
pub(super) fn nearest(text: &str, old: &str) -> Vec<Near> {
    let lines: Vec<&str> = text.lines().collect();
    let old: Vec<&str> = old.lines().skip_while(|line| line.trim().is_empty()).collect();
    let height = old.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    let old = &old[..height];
    if height == 0 || lines.is_empty() {
        return Vec::new();
    }
    let mut scores: Vec<_> = scores(&lines, old).into_iter().enumerate().collect();
    scores.retain(|(_, score)| *score >= ALIKE_ENOUGH);
    scores.sort_by_key(|(at, score)| (usize::MAX - score, *at));
    let mut best: Vec<usize> = Vec::new();
    for (at, _) in scores {
        if best.len() == MAX_SHOWN {
            break;
        }
        if best.iter().all(|other| other.abs_diff(at) >= height) {
            best.push(at);
        }
    }
    best.into_iter().map(|at| near(&lines, old, at)).collect()
}

/// For each line, how much the lines from there on, as many as the old text has, are like it; from 0 to 100.
fn scores(lines: &[&str], old: &[&str]) -> Vec<usize> {
    // How many of each word the old text has that the lines in view have not.
    let mut missing: HashMap<&str, isize> = HashMap::new();
    let mut total = 0;
    for word in old.iter().flat_map(|line| words(line)) {
        *missing.entry(word).or_default() += 1;
        total += 1;
    }
    let (mut common, mut in_view) = (0_usize, 0_usize);
    let mut scores = vec![0; lines.len()];
    for end in 0..lines.len() + old.len() - 1 {
        for word in lines.get(end).into_iter().flat_map(|line| words(line)) {
            in_view += 1;
            if let Some(left) = missing.get_mut(word) {
                common += usize::from(*left > 0);
                *left -= 1;
            }
        }
        let Some(start) = (end + 1).checked_sub(old.len()) else { continue };
        scores[start] = (200 * common).checked_div(total + in_view).unwrap_or(0);
        for word in words(lines[start]) {
            in_view -= 1;
            if let Some(left) = missing.get_mut(word) {
                *left += 1;
                common -= usize::from(*left > 0);
            }
        }
    }
    scores
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|ch: char| ch.is_whitespace() || !alike(ch).is_empty() || ch.is_ascii_punctuation())
        .filter(|word| !word.is_empty())
}

fn near(lines: &[&str], old: &[&str], at: usize) -> Near {
    let end = lines.len().min(at + old.len());
    let differs = (at..end).find(|line| lines[*line].trim() != old[line - at].trim());
    let why = match differs {
        Some(line) => why(lines[line].trim(), old[line - at].trim(), line + 1),
        None => format!("at line {} only white space differs", at + 1),
    };
    // When not all can be shown, what is shown holds the first line that differs.
    let from = differs.map_or(at, |line| line.saturating_sub(MAX_LINES_SHOWN / 2).max(at));
    let shown = (from..end.min(from + MAX_LINES_SHOWN)).map(|line| numbered(line + 1, lines[line]));
    Near { line: at + 1, text: shown.collect::<Vec<_>>().join("\n"), why }
}

/// The first words of a line in which it differs from the old text.
fn why(line: &str, old: &str, number: usize) -> String {
    let same = line.char_indices().zip(old.chars()).find(|((_, file), old)| file != old);
    let at = same.map_or(line.len().min(old.len()), |((at, _), _)| at);
    let at = line[..at].rfind(' ').map_or(0, |space| space + 1);
    let some = |text: &str| match text.get(at..).unwrap_or_default() {
        "" => "nothing more".to_owned(),
        rest => format!("“{}”", cut(rest, 40)),
    };
    format!("line {number} has {} where the old text has {}", some(line), some(old))
}

fn numbered(number: usize, line: &str) -> String {
    format!("{number:>6}\t{}", cut(line, MAX_LINE_CHARS))
}

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
