//! Finds the words that differ between a line and the line that replaces it.

use std::ops::Range;

/// If more comparisons are needed, all words between the common beginning and end count as changed.
const MAX_COMPARISONS: usize = 40_000;

/// The byte ranges of whole words in which the lines differ. Both are empty if less than half of the words are the
/// same, because then marks don't help.
pub(super) fn changed_ranges(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (olds, news) = (split_words(old), split_words(new));
    let common = common_words(&olds, &news);
    let common_count = common.iter().filter(|(old, _)| is_word(olds[*old])).count();
    let longest = count_words(&olds).max(count_words(&news));
    if common_count * 2 < longest {
        return (Vec::new(), Vec::new());
    }
    let old_common: Vec<usize> = common.iter().map(|(old, _)| *old).collect();
    let new_common: Vec<usize> = common.iter().map(|(_, new)| *new).collect();
    (ranges_without(&olds, &old_common), ranges_without(&news, &new_common))
}

/// Splits a text into runs of letters and digits, and single other characters.
fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(run.max(first.len_utf8()));
        words.push(word);
        rest = after;
    }
    words
}

fn is_word(word: &str) -> bool {
    word.starts_with(char::is_alphanumeric)
}

fn count_words(words: &[&str]) -> usize {
    words.iter().filter(|word| is_word(word)).count()
}

/// The pairs of indexes of the words that both lines have, in order.
fn common_words(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let same = |(old, new): &(&&str, &&str)| old == new;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);

    let mut pairs: Vec<_> = (0..head).map(|at| (at, at)).collect();
    let middle = longest_common_subsequence(&old[head..old_end], &new[head..new_end]);
    pairs.extend(middle.into_iter().map(|(old, new)| (head + old, head + new)));
    pairs.extend((0..tail).map(|at| (old_end + at, new_end + at)));
    pairs
}

/// The longest common subsequence, by dynamic programming.
fn longest_common_subsequence(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.len() * new.len() > MAX_COMPARISONS {
        return Vec::new();
    }
    let width = new.len() + 1;
    let mut longest = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if old[i] == new[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// The byte ranges of the words that aren't common. Ranges with a single character between them are merged, because
/// one long mark is easier to read than many short ones.
fn ranges_without(words: &[&str], common: &[usize]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for (index, word) in words.iter().enumerate() {
        let end = start + word.len();
        if common.binary_search(&index).is_err() {
            match ranges.last_mut() {
                Some(last) if start <= last.end + 1 => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        start = end;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracketed(text: &str, ranges: &[Range<usize>]) -> String {
        let mut marked = text.to_owned();
        for range in ranges.iter().rev() {
            marked.insert(range.end, ']');
            marked.insert(range.start, '[');
        }
        marked
    }

    #[test]
    fn changed_words_are_marked() {
        #[track_caller]
        fn check(old: &str, new: &str, expected: [&str; 2]) {
            let (olds, news) = changed_ranges(old, new);
            assert_eq!([bracketed(old, &olds), bracketed(new, &news)], expected);
        }
        check("You recieve it.", "You receive it.", ["You [recieve] it.", "You [receive] it."]);
        check(
            "teh cat saw teh dog",
            "the cat saw the dog",
            ["[teh] cat saw [teh] dog", "[the] cat saw [the] dog"],
        );
        check("[x](docker.md)", "[x](guides/docker.md)", ["[x](docker.md)", "[x]([guides/]docker.md)"]);
        check(
            "version 1.4.2 is out",
            "version 1.5.0 is out",
            ["version 1.[4.2] is out", "version 1.[5.0] is out"],
        );
        check("a b", "a a b", ["a b", "a [a ]b"]);
        check("same", "same", ["same", "same"]);
        check("ä ö ü", "ä ß ü", ["ä [ö] ü", "ä [ß] ü"]);
        check("nothing in common", "quite another line", ["nothing in common", "quite another line"]);
        check("", "", ["", ""]);
        check("", "x", ["", "x"]);
    }

    #[test]
    fn long_lines_are_compared_at_a_bounded_cost() {
        let old = format!("{} old {}", "a ".repeat(500), "z ".repeat(500));
        let new = format!("{} new {}", "a ".repeat(500), "z ".repeat(500));
        let (olds, _) = changed_ranges(&old, &new);
        assert_eq!(olds.iter().map(|range| &old[range.clone()]).collect::<Vec<_>>(), ["old"]);
        let other: String = (0..600).map(|n| format!("{n} ")).collect();
        assert_eq!(changed_ranges(&old, &other), (Vec::new(), Vec::new()));
    }
}
