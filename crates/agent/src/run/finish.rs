//! The end of a run: what the model says it has done, after it was shown what is wrong with that.

use crate::model::Turn;
use crate::tools::verdict;
use crate::{AgentError, Objection, Report, StepKind};

use super::Run;

/// How often the model is shown what its change made worse, and what must not be published of it.
const ROUNDS: u32 = 2;
const MAX_TOLD: usize = 20;

impl Run<'_> {
    /// The end, unless something is wrong with the change that the model has not been shown often enough.
    pub(super) async fn finish(
        &mut self,
        title: String,
        summary: String,
        report: &mut Option<Report>,
    ) -> Result<(String, bool), AgentError> {
        let checks = self.bench.findings()?;
        self.progress.step(StepKind::Check, verdict(checks.len()));
        let made = Report { title, summary, notes: Vec::new(), checks };
        let objections = self.objections(&made).await?;
        let wrong = [
            told("Not yet: your change made this worse. Mend it and finish again.", &made.checks),
            told("Not allowed: undo this and finish again.", &objections),
        ];
        let wrong: Vec<_> = wrong.into_iter().flatten().collect();
        if !wrong.is_empty() && self.rounds < ROUNDS {
            self.rounds += 1;
            return Ok((wrong.join("\n\n"), true));
        }
        *report = Some(made);
        Ok(("finished".into(), false))
    }

    /// What would keep the change from being published, a sentence each. They name places, and never what
    /// was found there.
    async fn objections(&mut self, made: &Report) -> Result<Vec<String>, AgentError> {
        let edits = self.bench.files().edits();
        if edits.0.is_empty() {
            return Ok(Vec::new()); // nothing is published then
        }
        let objections = self.progress.objections(&edits, made).await?;
        let fatal = objections.iter().filter(|objection| objection.fatal).map(Objection::to_string);
        let fatal: Vec<_> = fatal.collect();
        if let Some(first) = fatal.first() {
            self.progress.step(StepKind::Check, format!("Not allowed: {first}"));
        }
        Ok(fatal)
    }

    /// A model that only talks is reminded once; then its words are taken for the summary.
    pub(super) async fn no_calls(&mut self, turn: &Turn) -> Result<Option<Report>, AgentError> {
        if turn == &Turn::default() {
            return Ok(None); // cut off, and told so
        }
        if !self.patience.talked() {
            self.nudge("Use the tools. When everything is done, call finish.").await?;
            return Ok(None);
        }
        if !self.talk.has_calls() {
            return Err(AgentError::Ended(
                "the model answered in words and used none of its tools; another model may do better".into(),
            ));
        }
        let checks = self.bench.findings()?;
        self.progress.step(StepKind::Check, verdict(checks.len()));
        Ok(Some(Report { title: String::new(), summary: turn.text.clone(), notes: Vec::new(), checks }))
    }

    /// The report, unless the model says that it is done and none of its changes was made.
    pub(super) fn worth(&self, report: Report) -> Result<Report, AgentError> {
        match self.bench.refused() {
            Some(why) if self.bench.files().changed().is_empty() => Err(AgentError::Ended(format!(
                "nothing was changed, since what the model wanted to change was refused: {why}"
            ))),
            _ => Ok(report),
        }
    }
}

/// Something to be mended, under what is to be done about it.
fn told(what: &str, lines: &[String]) -> Option<String> {
    let shown: Vec<_> = lines.iter().take(MAX_TOLD).map(String::as_str).collect();
    (!shown.is_empty()).then(|| format!("{what}\n{}", shown.join("\n")))
}

/// A title that fits one line of a list, whatever the model said.
pub(super) fn titled(mut report: Report, prompt: &str) -> Report {
    let line =
        |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    let wanted = Some(line(&report.title)).filter(|title| !title.is_empty()).unwrap_or_else(|| line(prompt));
    report.title = if wanted.chars().count() > 72 {
        wanted.chars().take(71).collect::<String>().trim_end().to_owned() + "…"
    } else {
        wanted
    };
    report
}
