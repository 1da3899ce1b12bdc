//! Rewrites the matches of an old text in the file.

use super::alignment::{Plan, Splice};
use super::borders::{Borders, border_splices, deletion};
use super::error::EditError;
use super::fold::Tolerance;
use super::layout::{Layout, Position};
use super::lines::is_space;
use super::rebase::Rebase;
use super::{Edited, MAX_OLD_BYTES, MAX_RESULT_BYTES, MatchLevel};

/// The replacement of an old text with a new one.
pub(super) struct Replacement<'a> {
    pub text: &'a str,
    pub old: &'a str,
    /// Without carriage returns before line feeds.
    pub new: &'a str,
    /// How the old text was found.
    pub tolerance: Tolerance,
    pub level: MatchLevel,
}

impl Replacement<'_> {
    /// Rewrites all matches, which are in order. Each is the position of the old text if it is exact, otherwise of the
    /// old text without the blank lines around it.
    pub(super) fn apply(&self, matches: Vec<Position>) -> Result<Edited, EditError> {
        let (old, new) = (Borders::new(self.old), Borders::new(self.new));
        let lines = lines_at(self.text, matches.iter().map(Position::first));
        let is_literal = self.is_literal(&old);
        let (mut splices, mut size, mut plan) = (Vec::new(), 0, None);
        for (position, line) in matches.iter().zip(&lines) {
            let added = match *position {
                Position::Exact(at) if is_literal => {
                    vec![(at..at + self.old.len(), self.literal(line.ending))]
                }
                Position::Exact(at) => {
                    self.splices(&old, &new, &Position::Exact(at + old.start()), line, &mut plan)?
                }
                Position::Folded { .. } => self.splices(&old, &new, position, line, &mut plan)?,
            };
            size += added.iter().map(|(_, text)| text.len()).sum::<usize>();
            if size > MAX_RESULT_BYTES {
                return Err(EditError::TooLarge);
            }
            splices.extend(added);
        }
        apply_splices(self.text, splices, &lines, self.level)
    }

    /// Whether an exact match needs no merge of white space.
    fn is_literal(&self, old: &Borders) -> bool {
        let is_inline = |text: &str| !text.contains('\n') && text.trim_matches(is_space).len() == text.len();
        old.core.is_empty()
            || self.old.len().max(self.new.len()) > MAX_OLD_BYTES
            || (is_inline(self.old) && is_inline(self.new))
    }

    fn literal(&self, ending: &str) -> String {
        self.new.replace('\n', ending)
    }

    fn splices(
        &self,
        old: &Borders,
        new: &Borders,
        position: &Position,
        line: &LineAt,
        plan: &mut Option<(String, String, Plan)>,
    ) -> Result<Vec<Splice>, EditError> {
        let unclear = || EditError::Indentation { line: line.number };
        let layout = Layout::new(self.text, old.core, position).ok_or_else(unclear)?;
        if new.core.is_empty() {
            return Ok(vec![match layout.begins_line() && layout.ends_line() {
                true => deletion(self.text, &layout, old, self.new, line.ending),
                false => (position.range(old.core), self.literal(line.ending)),
            }]);
        }
        let (before, after) = border_splices(self.text, &layout, (old, new), line.ending);
        let rebase = Rebase::new(old.core, new.core, &layout);
        let (old, new) = (rebase.old_text(), rebase.new_text().map_err(|_| unclear())?);
        // Most matches have the same white space, so the last plan applies again.
        let is_planned =
            plan.as_ref().is_some_and(|(last_old, last_new, _)| *last_old == old && *last_new == new);
        if !is_planned {
            let new_plan = Plan::new(&old, &new, self.tolerance);
            *plan = Some((old, new, new_plan));
        }
        let core = plan.as_ref().and_then(|(_, _, plan)| plan.splices(self.text, &layout.range, line.ending));
        Ok([vec![before], core.ok_or_else(unclear)?, vec![after]].concat())
    }
}

fn apply_splices(
    text: &str,
    splices: Vec<Splice>,
    lines: &[LineAt],
    level: MatchLevel,
) -> Result<Edited, EditError> {
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in splices {
        // Two changes can overlap in white space that was folded away.
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
        Some(line) if edited == text => Err(EditError::AlreadyApplied { line: line.number }),
        _ => Ok(Edited { text: edited, lines: lines.iter().map(|line| line.number).collect(), level }),
    }
}

/// A line of the file, and the line ending for new lines next to it.
pub(super) struct LineAt {
    pub number: usize,
    ending: &'static str,
}

/// The lines of some offsets, which must be in order.
pub(super) fn lines_at(text: &str, offsets: impl Iterator<Item = usize>) -> Vec<LineAt> {
    let mut lines = text.split_inclusive('\n');
    let (mut number, mut end, mut ending) = (0, 0, "\n");
    let mut found = Vec::new();
    for offset in offsets {
        while offset >= end || number == 0 {
            let Some(line) = lines.next() else { break };
            number += 1;
            end += line.len();
            // If the last line has no ending, the ending of the previous line counts.
            if line.ends_with('\n') {
                ending = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
            }
        }
        found.push(LineAt { number: number.max(1), ending });
    }
    found
}
