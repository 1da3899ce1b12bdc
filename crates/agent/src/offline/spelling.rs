//! Corrects common misspellings.

use std::ops::Range;

use pages::{Spelling, Words, misspellings};

use crate::AgentError;

use super::report::{Outcome, count};
use super::run::{Run, keep_linked_headings};

/// Corrects the chosen pages. Words in the code and the addresses of any page are names and are left everywhere.
pub(super) fn fix(run: &mut Run<'_>, chosen: &[String], outcome: &mut Outcome) -> Result<(), AgentError> {
    let mut known = Words::default();
    for file in &run.pages {
        let (text, page) = run.open(file)?;
        known.learn(&page, &text);
    }
    let fragments = run.fragments()?;
    for file in chosen {
        let (text, page) = run.open(file)?;
        let Spelling { wrong: mut found, is_english } = misspellings(&page, &text, &known);
        if !is_english {
            outcome.foreign.extend((!found.is_empty()).then(|| file.clone()));
            continue;
        }
        let mut places: Vec<Range<usize>> = found.iter().map(|wrong| wrong.range.clone()).collect();
        keep_linked_headings(&page, &fragments, &mut places, outcome);
        found.retain(|wrong| places.binary_search_by_key(&wrong.range.start, |place| place.start).is_ok());
        let message = format!("Corrected {} in {file}", count(found.len(), "misspelling", "misspellings"));
        let changes = found.into_iter().map(|wrong| (wrong.range, wrong.correction)).collect();
        run.change(file, &text, changes, vec![message], outcome)?;
    }
    Ok(())
}
