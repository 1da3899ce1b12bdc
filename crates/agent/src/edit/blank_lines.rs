//! Gives the old text the blank lines of its match in the file, and also the new text where it keeps them.

use super::token_diff::diff_lines;

/// Returns the old and the new text with the blank lines of the match. `None` if the match and the old text differ in
/// the number of their other lines.
pub(super) fn align_blank_lines(matched: &str, old: &str, new: &str) -> Option<(String, String)> {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let gaps = gaps(&old_lines);
    let file = self::gaps(&matched.split_inclusive('\n').collect::<Vec<_>>());
    if gaps.len() != file.len() {
        return None;
    }
    let (kept_as, new_gaps) = (map_lines(&old_lines, &new_lines), self::gaps(&new_lines));
    let (mut aligned_old, mut aligned_new) = (Lines::new(&old_lines), Lines::new(&new_lines));
    for (gap, file) in gaps.iter().zip(&file).filter(|(gap, file)| gap.blank != file.blank) {
        aligned_old.set_blank_lines(gap.after, gap.blank, file.blank);
        // The new text keeps the gap if the line before or the line after still has as many blank lines.
        let after =
            kept_as[gap.after].and_then(|line| new_gaps.binary_search_by_key(&line, |new| new.after).ok());
        let before = kept_as[gap.end()].and_then(|line| new_gaps.binary_search_by_key(&line, Gap::end).ok());
        let candidates = [after, before].into_iter().flatten().map(|at| &new_gaps[at]);
        if let Some(new) = candidates.into_iter().find(|new| new.blank == gap.blank) {
            aligned_new.set_blank_lines(new.after, new.blank, file.blank);
        }
    }
    Some((aligned_old.text(), aligned_new.text()))
}

/// The blank lines between two other lines: the index of the line before them, and their number.
struct Gap {
    after: usize,
    blank: usize,
}

impl Gap {
    /// The index of the line after the blank lines.
    fn end(&self) -> usize {
        self.after + self.blank + 1
    }
}

fn gaps(lines: &[&str]) -> Vec<Gap> {
    let full: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].trim().is_empty()).collect();
    full.windows(2).map(|pair| Gap { after: pair[0], blank: pair[1] - pair[0] - 1 }).collect()
}

/// For each old line, its index in the new lines. `None` if the line changes.
fn map_lines(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let mut kept_as = Vec::with_capacity(old.len());
    let mut next = 0;
    for change in diff_lines(old, new) {
        while kept_as.len() < change.old.start {
            kept_as.push(Some(next));
            next += 1;
        }
        kept_as.resize(change.old.end, None);
        next = change.new.end;
    }
    while kept_as.len() < old.len() {
        kept_as.push(Some(next));
        next += 1;
    }
    kept_as
}

struct Lines<'a> {
    /// Each line, whether it stays, and the number of blank lines after it.
    lines: Vec<(&'a str, bool, usize)>,
}

impl<'a> Lines<'a> {
    fn new(lines: &[&'a str]) -> Self {
        Self { lines: lines.iter().map(|line| (*line, true, 0)).collect() }
    }

    /// Replaces `old` blank lines after a line with `new` ones.
    fn set_blank_lines(&mut self, after: usize, old: usize, new: usize) {
        self.lines[after].2 = new;
        self.lines[after + 1..=after + old].iter_mut().for_each(|(_, stays, _)| *stays = false);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (line, _, blank) in self.lines.iter().filter(|(_, stays, _)| *stays) {
            text.push_str(line);
            text.extend((0..*blank).map(|_| '\n'));
        }
        text
    }
}
