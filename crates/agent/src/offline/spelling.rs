//! Corrects common misspellings.

use std::ops::Range;

use pages::{KnownWords, Spelling, misspellings};

use crate::editor::AgentError;

use super::report::{Outcome, count};
use super::run::{Run, exclude_linked_headings};

/// Corrects the selected pages. Names in code or addresses of any page are never changed.
pub(super) fn fix(run: &mut Run<'_>, selected: &[String], outcome: &mut Outcome) -> Result<(), AgentError> {
    let mut known = KnownWords::default();
    for file in &run.pages {
        let (text, page) = run.open(file)?;
        known.add_page(&page, &text);
    }
    let fragments = run.fragments()?;
    for file in selected {
        let (text, page) = run.open(file)?;
        let Spelling { misspellings: mut found, is_english } = misspellings(&page, &text, &known);
        if !is_english {
            outcome.not_english.extend((!found.is_empty()).then(|| file.clone()));
            continue;
        }
        let mut ranges: Vec<Range<usize>> = found.iter().map(|wrong| wrong.range.clone()).collect();
        exclude_linked_headings(&page, &fragments, &mut ranges, outcome);
        found.retain(|wrong| ranges.binary_search_by_key(&wrong.range.start, |range| range.start).is_ok());
        let message = format!("Corrected {} in {file}", count(found.len(), "misspelling", "misspellings"));
        let changes = found.into_iter().map(|wrong| (wrong.range, wrong.correction)).collect();
        run.change(file, &text, changes, vec![message], outcome)?;
    }
    Ok(())
}
