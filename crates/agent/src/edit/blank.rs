//! Gives an old text the blank lines that its place has, and the new text too where it left them alone.

use super::change::differences;

/// `None` when the lines of the place, blank ones aside, are not as many as those of the old text.
pub(super) fn mended(place: &str, old: &str, new: &str) -> Option<(String, String)> {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let gaps = gaps(&old_lines);
    let file = self::gaps(&place.split_inclusive('\n').collect::<Vec<_>>());
    if gaps.len() != file.len() {
        return None;
    }
    let (stays, new_gaps) = (staying(&old_lines, &new_lines), self::gaps(&new_lines));
    let (mut mended_old, mut mended_new) = (Lines::of(&old_lines), Lines::of(&new_lines));
    for (gap, file) in gaps.iter().zip(&file).filter(|(gap, file)| gap.blank != file.blank) {
        mended_old.set(gap.after, gap.blank, file.blank);
        // As many blank lines still follow the line before, or still come before the line after: left alone.
        let after =
            stays[gap.after].and_then(|line| new_gaps.binary_search_by_key(&line, |new| new.after).ok());
        let before = stays[gap.end()].and_then(|line| new_gaps.binary_search_by_key(&line, Gap::end).ok());
        let beside = [after, before].into_iter().flatten().map(|at| &new_gaps[at]);
        if let Some(new) = beside.into_iter().find(|new| new.blank == gap.blank) {
            mended_new.set(new.after, new.blank, file.blank);
        }
    }
    Some((mended_old.text(), mended_new.text()))
}

/// Between two lines that are not blank: the first of them, and how many blank ones follow it.
struct Gap {
    after: usize,
    blank: usize,
}

impl Gap {
    /// The line after the blank ones.
    fn end(&self) -> usize {
        self.after + self.blank + 1
    }
}

fn gaps(lines: &[&str]) -> Vec<Gap> {
    let full: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].trim().is_empty()).collect();
    full.windows(2).map(|pair| Gap { after: pair[0], blank: pair[1] - pair[0] - 1 }).collect()
}

/// For each old line, which of the new ones it is.
fn staying(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let mut stays = Vec::with_capacity(old.len());
    let mut next = 0;
    for change in differences(old, new) {
        while stays.len() < change.old.start {
            stays.push(Some(next));
            next += 1;
        }
        stays.resize(change.old.end, None);
        next = change.new.end;
    }
    while stays.len() < old.len() {
        stays.push(Some(next));
        next += 1;
    }
    stays
}

/// Lines, each of which may be left out or be followed by blank ones.
struct Lines<'a> {
    lines: Vec<(&'a str, bool, usize)>,
}

impl<'a> Lines<'a> {
    fn of(lines: &[&'a str]) -> Self {
        Self { lines: lines.iter().map(|line| (*line, true, 0)).collect() }
    }

    /// After a line, so many blank ones instead of as many.
    fn set(&mut self, after: usize, old: usize, new: usize) {
        self.lines[after].2 = new;
        self.lines[after + 1..=after + old].iter_mut().for_each(|(_, kept, _)| *kept = false);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (line, _, blank) in self.lines.iter().filter(|(_, kept, _)| *kept) {
            text.push_str(line);
            text.extend((0..*blank).map(|_| '\n'));
        }
        text
    }
}
