//! Corrects common misspellings.

use pages::{Words, misspellings};

use crate::AgentError;

use super::report::{Outcome, count};
use super::run::Run;

/// Corrects the chosen pages. Words in the code of any page are names and are left everywhere.
pub(super) fn fix(run: &mut Run<'_>, chosen: &[String], outcome: &mut Outcome) -> Result<(), AgentError> {
    let mut known = Words::default();
    for file in &run.pages {
        let (text, page) = run.open(file)?;
        known.learn(&page, &text);
    }
    for file in chosen {
        let (text, page) = run.open(file)?;
        let found = misspellings(&page, &text, &known);
        let message = format!("Corrected {} in {file}", count(found.len(), "misspelling", "misspellings"));
        let changes = found.into_iter().map(|wrong| (wrong.range, wrong.correction)).collect();
        run.change(file, &text, changes, vec![message], outcome)?;
    }
    Ok(())
}
