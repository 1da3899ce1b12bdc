//! Ends a run: shows the model the problems and refusals of its change, then builds the report.

use crate::call_reader::{find_tool, shape};
use crate::editor::{AgentError, Report, StepKind};
use crate::guard::Refusal;
use crate::model::{Message, Profile, ToolResult, Usage};
use crate::tools::check_summary;

use super::Run;
use super::patience::{Stalled, Unusable};

/// How often the model gets the problems and refusals of its change before the run ends with them.
const MAX_REJECTED_FINISHES: u32 = 2;
const MAX_LINES_SHOWN: usize = 20;
const NOT_ALLOWED: &str = "Not allowed: undo this and finish again.";
const FINISH_AGAIN: &str = "finish again.";

impl Run<'_> {
    /// Ends the run, unless the change has problems or refusals that the model can still fix.
    pub(super) async fn finish(
        &mut self,
        title: String,
        summary: String,
        report: &mut Option<Report>,
    ) -> Result<(String, bool), AgentError> {
        if let Some(why) = self.missing_edit()
            && self.rejected_finishes < MAX_REJECTED_FINISHES
        {
            self.rejected_finishes += 1;
            return Ok((format!("Not yet: {why}, then {FINISH_AGAIN}"), true));
        }
        let checks = self.checked_problems()?;
        let draft = Report { title, summary, notes: Vec::new(), checks };
        let refusals = self.fatal_refusals(&draft).await?;
        let to_fix = [
            list_under(NOT_ALLOWED, &refusals),
            list_under(
                "Not yet: your change causes these problems. Fix them and finish again.",
                &draft.checks,
            ),
        ];
        let to_fix: Vec<_> = to_fix.into_iter().flatten().collect();
        if !to_fix.is_empty() && self.rejected_finishes < MAX_REJECTED_FINISHES {
            self.rejected_finishes += 1;
            return Ok((to_fix.join("\n\n"), true));
        }
        *report = Some(Report { notes: self.failure_note(), ..draft });
        Ok(("finished".into(), false))
    }

    /// Says that the change may lack an edit, for the reviewer.
    fn failure_note(&self) -> Vec<String> {
        if !self.failed_in_answer && self.bench.failed_edit().is_none() {
            return Vec::new();
        }
        vec!["An edit of the model failed. Review whether the change is complete.".to_owned()]
    }

    /// What the model must do about an edit that failed, if it seems not to have noticed.
    fn missing_edit(&self) -> Option<String> {
        if self.failed_in_answer {
            return Some("an edit of this answer failed. Look at its result".into());
        }
        // A small model often gives up after its first edit.
        let gives_up = self.agent.profile == Profile::Small && self.bench.files().changed().is_empty();
        let failed = self.bench.failed_edit().filter(|_| gives_up)?;
        Some(format!("nothing is changed, because your edit failed: {failed}. Call edit again"))
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
            self.refusal = Some(first.clone());
        }
        Ok(fatal)
    }

    /// Restores the number of rejected finishes and the guard's refusal from the results of an interrupted attempt.
    pub(super) fn replay_finish(&mut self, results: &[ToolResult]) {
        let is_finish = |name: &str| find_tool(&self.tools, name).is_some_and(|tool| tool.name == "finish");
        let rejected = |result: &&ToolResult| result.failed && is_finish(&result.name);
        for result in results.iter().filter(rejected) {
            self.rejected_finishes += 1;
            let mut lines = result.content.lines().skip_while(|line| *line != NOT_ALLOWED);
            self.refusal = lines.nth(1).map(str::to_owned).or(self.refusal.take());
        }
    }

    /// Tells the model why its answer can't be used. After too many such answers, the run ends.
    pub(super) async fn handle_unusable(
        &mut self,
        why: Unusable,
        text: String,
    ) -> Result<Option<Report>, AgentError> {
        match self.patience.count_unusable(why) {
            Ok(reminder) => {
                if why == Unusable::TooSlow {
                    self.progress.step(StepKind::Note, format!("Asking for smaller steps: {text}"));
                }
                let reminder = match why {
                    // A model that doesn't use its tools may not know how.
                    Unusable::OnlyText | Unusable::Empty => format!("{reminder} {}", self.example_call()),
                    Unusable::CutOff | Unusable::TooSlow => reminder.to_owned(),
                };
                self.add_message(Message::User(reminder), Usage::default()).await?;
                Ok(None)
            }
            // The model worked, and describes the result instead of calling `finish`.
            Err(_) if why == Unusable::OnlyText && self.has_calls && !self.bench.has_missing_edit() => {
                let (checks, notes) = (self.checked_problems()?, self.failure_note());
                Ok(Some(Report { summary: text, checks, notes, ..Report::default() }))
            }
            Err(stalled) if why == Unusable::TooSlow => {
                let sentence = format!("{}: {text}; raise call_seconds, or choose a faster model", stalled.0);
                self.end_stalled(Stalled(sentence)).map(Some)
            }
            Err(stalled) => self.end_stalled(stalled).map(Some),
        }
    }

    fn example_call(&self) -> String {
        let edit = self.tools.iter().find(|tool| tool.name == "edit").map(shape).unwrap_or_default();
        format!("A call looks like this: {{\"name\": \"edit\", \"arguments\": {edit}}}")
    }

    /// Ends a run whose model makes no progress. Edits that the model made and did not fail to complete are published
    /// with a note, because a person can judge them.
    pub(super) fn end_stalled(&mut self, Stalled(why): Stalled) -> Result<Report, AgentError> {
        if self.bench.files().changed().is_empty() || self.bench.has_missing_edit() {
            return Err(AgentError::Ended(format!("{why}: try another model")));
        }
        let checks = self.checked_problems()?;
        self.progress.step(StepKind::Note, format!("The model did not finish: {why}"));
        let note =
            format!("The model did not say that it is done: {why}. Review whether the change is complete.");
        Ok(Report { notes: vec![note], checks, ..Report::default() })
    }

    fn checked_problems(&mut self) -> Result<Vec<String>, AgentError> {
        let problems = self.bench.problems()?;
        self.progress.step(StepKind::Check, check_summary(problems.len()));
        Ok(problems)
    }

    /// Fails if the model finished without a change, although it tried to make one.
    pub(super) fn check_effect(&self, report: Report) -> Result<Report, AgentError> {
        if !self.bench.files().changed().is_empty() {
            return Ok(report);
        }
        let failed = self.bench.failed_edit().map(|why| format!("the model's edits failed: {why}"));
        let refused =
            || self.refusal.as_ref().map(|refusal| format!("the model's change is not allowed: {refusal}"));
        match failed.or_else(refused) {
            Some(why) => Err(AgentError::Ended(format!("nothing was changed, because {why}"))),
            None => Ok(report),
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
