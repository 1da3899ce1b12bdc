//! Runs `docwright eval`: lets models do tasks without publishing anything, and compares them.

mod history;
mod results;
mod tasks;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use eval::{Candidate, Ended, Outcome, Summary, TaskResult};
use serde_json::json;
use server::OFFLINE;

use crate::args::Eval;
use crate::model::{find_table, key};
use crate::output;
use crate::settings::Sources;
use results::Results;
use tasks::TaskSource;

pub(crate) async fn run(sources: &Sources, args: Eval) -> anyhow::Result<ExitCode> {
    let candidates = open_models(sources, &args).await?;
    let tasks = TaskSource::open(&args).await?;
    let results = Results::open(&args.out)?;
    let mut evaluation = Evaluation { candidates, tasks, results, stopped: BTreeSet::new() };
    for number in 0..evaluation.tasks.len() {
        evaluation.run_task(number).await?;
    }
    print(&args, &evaluation.candidates, &evaluation.current_results())?;
    Ok(if evaluation.stopped.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn open_models(sources: &Sources, args: &Eval) -> anyhow::Result<Vec<Candidate>> {
    let mut limits = sources.agent_limits()?;
    limits.turns = args.max_calls.unwrap_or(limits.turns);
    // Neither a job nor a project pays for this.
    limits.month = None;
    let (mut candidates, mut names) = (Vec::new(), BTreeSet::new());
    for name in args.models.iter().filter(|name| names.insert(*name)) {
        if name == OFFLINE {
            candidates.push(Candidate::offline(name));
            continue;
        }
        let settings = find_table(sources, name)?.settings();
        let mut settings = settings.with_context(|| format!("models.{name}"))?;
        if settings.api_key.is_none() {
            let stored = key::stored_keys(sources, &args.data).await?;
            settings.api_key = key::find_stored(stored.as_deref(), name).await?;
        }
        let candidate = Candidate::with_model(name, &settings, limits);
        candidates.push(candidate.map_err(|error| anyhow!("models.{name}: {error}"))?);
    }
    Ok(candidates)
}

struct Evaluation {
    candidates: Vec<Candidate>,
    tasks: TaskSource,
    results: Results,
    /// Models whose provider failed.
    stopped: BTreeSet<String>,
}

impl Evaluation {
    /// Runs a task with each model that has no result of it.
    async fn run_task(&mut self, number: usize) -> anyhow::Result<()> {
        let id = self.tasks.id(number);
        let needs_run = |Candidate { name, .. }: &&Candidate| {
            !self.stopped.contains(name) && self.results.find(name, &id).is_none()
        };
        let candidates: Vec<_> = self.candidates.iter().filter(needs_run).collect();
        if candidates.is_empty() {
            return Ok(());
        }
        let task = self.tasks.prepare(number).await?;
        for candidate in candidates {
            let name = &candidate.name;
            let title = format!("{name}: task {} of {}, {}", number + 1, self.tasks.len(), task.name);
            output::print_message(&title);
            let ended = eval::run(candidate, &task)
                .await
                .with_context(|| format!("the files of the task {} cannot be read", task.name))?;
            match ended {
                Ended::Done { result, patch } => {
                    print_outcome(&title, &outcome_sentence(&result));
                    self.results.add(*result, &patch)?;
                }
                Ended::Outage(why) => {
                    print_outcome(&title, &format!("no result, because {why}"));
                    output::print_message(format!(
                        "{name} gets no more tasks, because its provider fails. Run the same command again to continue."
                    ));
                    self.stopped.insert(name.clone());
                }
            }
        }
        Ok(())
    }

    /// The results of these tasks and models. The folder can have others.
    fn current_results(&self) -> Vec<TaskResult> {
        let ids: Vec<_> = (0..self.tasks.len()).map(|number| self.tasks.id(number)).collect();
        let pairs = ids.iter().flat_map(|id| self.candidates.iter().map(move |candidate| (id, candidate)));
        pairs.filter_map(|(id, candidate)| self.results.find(&candidate.name, id)).cloned().collect()
    }
}

/// Text of a model or a provider can have several lines.
fn print_outcome(title: &str, sentence: &str) {
    output::print_message(format!("{title}: {}", sentence.split_whitespace().collect::<Vec<_>>().join(" ")));
}

fn outcome_sentence(result: &TaskResult) -> String {
    let refused = result.refusal_reasons.join(" ");
    match result.outcome {
        Outcome::Right if result.refusals > 0 => format!("the right change, but refused: {refused}"),
        Outcome::Right => "the right change".to_owned(),
        Outcome::Different => "another change".to_owned(),
        Outcome::Unchanged => "no change".to_owned(),
        Outcome::Refused => format!("refused: {refused}"),
        Outcome::Failed => format!("failed: {}", result.sentence),
    }
}

const COLUMNS: [&str; 12] = [
    "MODEL", "TASKS", "RIGHT", "OTHER", "NONE", "REFUSED", "FAILED", "FILES", "HUNKS", "PROBLEMS", "TOKENS",
    "SECONDS",
];

fn print(args: &Eval, candidates: &[Candidate], results: &[TaskResult]) -> anyhow::Result<()> {
    let of_model = |name: &str| results.iter().filter(move |result| result.model == name).collect::<Vec<_>>();
    let summaries: Vec<_> = candidates
        .iter()
        .map(|candidate| (candidate.name.clone(), Summary::of(of_model(&candidate.name))))
        .collect();
    if args.json {
        let models: serde_json::Map<_, _> =
            summaries.into_iter().map(|(name, summary)| (name, json!(summary))).collect();
        return output::print_json(&json!({ "models": models, "results": results }));
    }
    let rows = summaries.into_iter().map(|(name, summary)| row(name, &summary));
    output::print_table(COLUMNS, rows)?;
    output::print_message(format!("The diffs and all figures are in {}.", args.out.display()));
    Ok(())
}

fn row(name: String, sum: &Summary) -> [String; 12] {
    let cost =
        sum.cost.filter(|cost| *cost > 0.0).map(|cost| format!(" (cost {cost:.4})")).unwrap_or_default();
    [
        name,
        sum.tasks.to_string(),
        sum.right.to_string(),
        sum.different.to_string(),
        sum.unchanged.to_string(),
        sum.refused.to_string(),
        sum.failed.to_string(),
        format!("{}/{}", sum.files.matched, sum.files.expected),
        format!("{}/{}", sum.hunks.matched, sum.hunks.expected),
        sum.problems.to_string(),
        format!("{}{cost}", sum.input_tokens + sum.output_tokens),
        format!("{:.0}", sum.seconds),
    ]
}
