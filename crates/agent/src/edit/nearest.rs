//! Finds the lines that are most similar to a text that is not in the file. They are shown, never edited.

use std::collections::HashMap;

use super::error::NearMatch;
use super::lookalikes::lookalikes;

const MAX_MATCHES: usize = 3;
const MAX_LINES_SHOWN: usize = 6;
const MAX_LINE_CHARS: usize = 160;
/// The percentage of the words of both texts together that must be in both.
const MIN_SIMILARITY: usize = 40;

/// Returns at most three matches, best first, in one pass over the words of `text`.
pub(super) fn nearest(text: &str, old: &str) -> Vec<NearMatch> {
    let lines: Vec<&str> = text.lines().collect();
    let old: Vec<&str> = old.lines().skip_while(|line| line.trim().is_empty()).collect();
    let height = old.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    let old = &old[..height];
    if height == 0 || lines.is_empty() {
        return Vec::new();
    }
    let mut scores: Vec<_> = scores(&lines, old).into_iter().enumerate().collect();
    scores.retain(|(_, score)| *score >= MIN_SIMILARITY);
    scores.sort_by_key(|(at, score)| (usize::MAX - score, *at));
    let mut best: Vec<usize> = Vec::new();
    for (at, _) in scores {
        if best.len() == MAX_MATCHES {
            break;
        }
        if best.iter().all(|other| other.abs_diff(at) >= height) {
            best.push(at);
        }
    }
    best.into_iter().map(|at| near_match(&lines, old, at)).collect()
}

/// For each line, how similar the old text is to as many lines from there on, from 0 to 100.
fn scores(lines: &[&str], old: &[&str]) -> Vec<usize> {
    // How many more of each word the old text has than the lines in view.
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
            if let Some(count) = missing.get_mut(word) {
                common += usize::from(*count > 0);
                *count -= 1;
            }
        }
        let Some(start) = (end + 1).checked_sub(old.len()) else { continue };
        scores[start] = (200 * common).checked_div(total + in_view).unwrap_or(0);
        for word in words(lines[start]) {
            in_view -= 1;
            if let Some(count) = missing.get_mut(word) {
                *count += 1;
                common -= usize::from(*count > 0);
            }
        }
    }
    scores
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|ch: char| ch.is_whitespace() || !lookalikes(ch).is_empty() || ch.is_ascii_punctuation())
        .filter(|word| !word.is_empty())
}

fn near_match(lines: &[&str], old: &[&str], at: usize) -> NearMatch {
    let end = lines.len().min(at + old.len());
    let differs = (at..end).find(|line| lines[*line].trim() != old[line - at].trim());
    let difference = match differs {
        Some(line) => describe_difference(lines[line].trim(), old[line - at].trim(), line + 1),
        None => format!("at line {}, only white space differs", at + 1),
    };
    // If there are too many lines, the first different line is among those shown.
    let from = differs.map_or(at, |line| line.saturating_sub(MAX_LINES_SHOWN / 2).max(at));
    let shown = (from..end.min(from + MAX_LINES_SHOWN)).map(|line| numbered(line + 1, lines[line]));
    NearMatch { line: at + 1, text: shown.collect::<Vec<_>>().join("\n"), difference }
}

/// Describes the first difference between a line and the old text.
fn describe_difference(line: &str, old: &str, number: usize) -> String {
    let differs = line.char_indices().zip(old.chars()).find(|((_, file), old)| file != old);
    let at = differs.map_or(line.len().min(old.len()), |((at, _), _)| at);
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
