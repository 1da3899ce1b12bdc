//! Runs `docwright eval`: lets models do tasks without publishing anything, and compares them.

mod history;
mod results;
mod tasks;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use eval::{EvalTask, Summary, TaskResult};
use serde_json::json;
use server::model::{self, Prices};
use server::{Agent, Editor, OFFLINE, Offline};

use crate::args::Eval;
use crate::model::{find_table, key};
use crate::output;
use crate::settings::Sources;
use results::Results;
use tasks::TaskSource;

struct Candidate {
    name: String,
    editor: Arc<dyn Editor>,
    prices: Option<Prices>,
}

pub(crate) async fn run(sources: &Sources, args: Eval) -> anyhow::Result<ExitCode> {
    let candidates = open_models(sources, &args).await?;
    let tasks = TaskSource::open(&args).await?;
    let (mut results, mut current) = (Results::open(&args.out)?, Vec::new());
    for number in 0..tasks.len() {
        let task = tasks.prepare(number).await?;
        for candidate in &candidates {
            if results.find(&candidate.name, &task).is_none() {
                run_task(candidate, &task, number, tasks.len(), &mut results).await?;
            }
            // The folder can have results of other tasks.
            current.extend(results.find(&candidate.name, &task).cloned());
        }
    }
    print(&args, &candidates, &current)?;
    Ok(ExitCode::SUCCESS)
}

async fn open_models(sources: &Sources, args: &Eval) -> anyhow::Result<Vec<Candidate>> {
    let mut limits = sources.agent_limits()?;
    limits.turns = args.max_calls.unwrap_or(limits.turns);
    // Neither a job nor a project pays for this.
    limits.month = None;
    let mut candidates = Vec::new();
    for name in &args.models {
        if name == OFFLINE {
            candidates.push(Candidate { name: name.clone(), editor: Arc::new(Offline), prices: None });
            continue;
        }
        let settings = find_table(sources, name)?.settings();
        let mut settings = settings.with_context(|| format!("models.{name}"))?;
        if settings.api_key.is_none() {
            let stored = key::stored_keys(sources, &args.data).await?;
            settings.api_key = key::find_stored(stored.as_deref(), name).await?;
        }
        let model = model::open(&settings).map_err(|error| anyhow!("models.{name}: {error}"))?;
        let agent = Agent::new(model, limits).with_profile(settings.profile);
        candidates.push(Candidate { name: name.clone(), editor: Arc::new(agent), prices: settings.prices });
    }
    Ok(candidates)
}

async fn run_task(
    candidate: &Candidate,
    task: &EvalTask,
    number: usize,
    count: usize,
    results: &mut Results,
) -> anyhow::Result<()> {
    let Candidate { name, editor, prices } = candidate;
    output::print_message(format!("{name}: task {} of {count}, {}", number + 1, task.name));
    let (result, patch) = eval::run(name, &**editor, *prices, task)
        .await
        .with_context(|| format!("the files of the task {} cannot be read", task.name))?;
    results.add(result, &patch)
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
