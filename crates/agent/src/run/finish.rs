//! Ends a run: shows the model the problems and refusals of its change, then builds the report.

use crate::editor::{AgentError, Report, StepKind};
use crate::guard::Refusal;
use crate::model::Turn;
use crate::tools::check_summary;

use super::Run;

/// How often the model gets the problems and refusals of its change before the run ends with them.
const MAX_REJECTED_FINISHES: u32 = 2;
const MAX_LINES_SHOWN: usize = 20;

impl Run<'_> {
    /// Ends the run, unless the change has problems or refusals that the model can still fix.
    pub(super) async fn finish(
        &mut self,
        title: String,
        summary: String,
        report: &mut Option<Report>,
    ) -> Result<(String, bool), AgentError> {
        let checks = self.bench.problems()?;
        self.progress.step(StepKind::Check, check_summary(checks.len()));
        let draft = Report { title, summary, notes: Vec::new(), checks };
        let refusals = self.fatal_refusals(&draft).await?;
        let to_fix = [
            list_under(
                "Not yet: your change causes these problems. Fix them and finish again.",
                &draft.checks,
            ),
            list_under("Not allowed: undo this and finish again.", &refusals),
        ];
        let to_fix: Vec<_> = to_fix.into_iter().flatten().collect();
        if !to_fix.is_empty() && self.rejected_finishes < MAX_REJECTED_FINISHES {
            self.rejected_finishes += 1;
            return Ok((to_fix.join("\n\n"), true));
        }
        *report = Some(draft);
        Ok(("finished".into(), false))
    }

    /// Returns the refusals that prevent publishing, one sentence each. A sentence names the position, and never
    /// contains the refused text.
    async fn fatal_refusals(&mut self, draft: &Report) -> Result<Vec<String>, AgentError> {
        let edits = self.bench.files().edits();
        if edits.0.is_empty() {
            return Ok(Vec::new()); // Nothing will be published.
        }
        let refusals = self.progress.refusals(&edits, draft).await?;
        let fatal = refusals.iter().filter(|refusal| refusal.fatal).map(Refusal::to_string);
        let fatal: Vec<_> = fatal.collect();
        if let Some(first) = fatal.first() {
            self.progress.step(StepKind::Check, format!("Not allowed: {first}"));
        }
        Ok(fatal)
    }

    /// Reminds a model that calls no tools, once. The second time, its text becomes the summary.
    pub(super) async fn handle_text_only(&mut self, turn: &Turn) -> Result<Option<Report>, AgentError> {
        if turn == &Turn::default() {
            return Ok(None); // The response was cut off, and the model has its reminder.
        }
        if !self.stall.record_text_only() {
            self.remind("Use the tools. When everything is done, call finish.").await?;
            return Ok(None);
        }
        if !self.conversation.has_calls() {
            return Err(AgentError::Ended(
                "the model answered with text and used none of its tools: try another model".into(),
            ));
        }
        let checks = self.bench.problems()?;
        self.progress.step(StepKind::Check, check_summary(checks.len()));
        Ok(Some(Report { title: String::new(), summary: turn.text.clone(), notes: Vec::new(), checks }))
    }

    /// Fails if the model finished although all of its edits failed.
    pub(super) fn check_effect(&self, report: Report) -> Result<Report, AgentError> {
        match self.bench.failed_edit() {
            Some(why) if self.bench.files().changed().is_empty() => Err(AgentError::Ended(format!(
                "nothing was changed, because the model's edits failed: {why}"
            ))),
            _ => Ok(report),
        }
    }
}

/// Lists what the model must fix below a line that says what to do. `None` without lines.
fn list_under(heading: &str, lines: &[String]) -> Option<String> {
    let shown: Vec<_> = lines.iter().take(MAX_LINES_SHOWN).map(String::as_str).collect();
    (!shown.is_empty()).then(|| format!("{heading}\n{}", shown.join("\n")))
}

/// Makes the title one line of at most 72 characters. Without a title, the prompt's first line becomes it.
pub(super) fn with_valid_title(mut report: Report, prompt: &str) -> Report {
    let line =
        |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    let title = Some(line(&report.title)).filter(|title| !title.is_empty()).unwrap_or_else(|| line(prompt));
    report.title = if title.chars().count() > 72 {
        title.chars().take(71).collect::<String>().trim_end().to_owned() + "…"
    } else {
        title
    };
    report
}
