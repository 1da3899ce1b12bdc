//! Runs `docwright model`: lists and tests the models in the settings, and stores their keys.

pub(crate) mod key;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::json;
use server::model::{self, Prices, Probe, Reply, probe};

use crate::args::{ListModels, ModelCommand, TestModel};
use crate::output;
use crate::settings::{ModelTable, Sources};

const OFFLINE: &str = "offline";

pub(crate) async fn run(sources: &Sources, command: ModelCommand) -> anyhow::Result<ExitCode> {
    match command {
        ModelCommand::List(args) => list(sources, args).await?,
        ModelCommand::Test(args) => return test(sources, args).await,
        ModelCommand::Key(args) => key::run(sources, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(sources: &Sources, args: ListModels) -> anyhow::Result<()> {
    let stored = key::stored_keys(sources, &args.data).await?;
    let mut rows = vec![[OFFLINE, "none", "", OFFLINE, "none"].map(String::from)];
    for (name, table) in sources.model_tables()? {
        let key = key::key_source(stored.as_deref(), &name, &table).await?.to_owned();
        rows.push([name, table.provider()?.name().to_owned(), table.url()?.to_owned(), table.model, key]);
    }
    if args.json {
        let to_json = |[name, provider, url, model, key]: &[String; 5]| json!({ "name": name, "provider": provider, "url": url, "model": model, "key": key });
        return output::print_json(&rows.iter().map(to_json).collect::<Vec<_>>());
    }
    output::print_table(["NAME", "PROVIDER", "URL", "MODEL", "KEY"], rows)
}

fn find_table(sources: &Sources, name: &str) -> anyhow::Result<ModelTable> {
    let found = sources.model_tables()?.remove(name);
    found.ok_or_else(|| anyhow!("there is no model `{name}` in the settings; see `docwright model list`"))
}

struct TestResult {
    ok: bool,
    sentence: String,
    duration: Duration,
    reply: Option<Reply>,
}

async fn test(sources: &Sources, args: TestModel) -> anyhow::Result<ExitCode> {
    if args.name == OFFLINE {
        let sentence = "it needs no network and always works".to_owned();
        return print_result(
            &args,
            &TestResult { ok: true, sentence, duration: Duration::ZERO, reply: None },
            None,
        );
    }
    let settings = find_table(sources, &args.name)?.settings();
    let mut settings = settings.map_err(|error| error.context(format!("models.{}", args.name)))?;
    if settings.api_key.is_none() {
        settings.api_key =
            key::find_stored(key::stored_keys(sources, &args.data).await?.as_deref(), &args.name).await?;
    }
    let model = model::open(&settings).map_err(|error| anyhow!("models.{}: {error}", args.name))?;
    print_result(&args, &run_test(&*model).await, settings.prices)
}

async fn run_test(model: &dyn model::Model) -> TestResult {
    let start = Instant::now();
    let Probe { ok, sentence, reply } = probe(model).await;
    TestResult { ok, sentence, duration: start.elapsed(), reply }
}

fn print_result(args: &TestModel, result: &TestResult, prices: Option<Prices>) -> anyhow::Result<ExitCode> {
    let usage = result.reply.as_ref().map(|reply| reply.usage);
    let cost = usage.zip(prices).map(|(usage, prices)| prices.cost(usage));
    let code = if result.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json {
        output::print_json(&json!({
            "ok": result.ok, "name": args.name, "sentence": output::sanitize(&result.sentence),
            "milliseconds": result.duration.as_millis() as u64, "usage": usage, "cost": cost,
        }))?;
        return Ok(code);
    }
    if !result.ok {
        output::print_message(format!("error: {}: {}", args.name, result.sentence));
        return Ok(code);
    }
    output::print_line(format!("{}: {}{}", args.name, result.sentence, format_usage(result, cost)))?;
    Ok(code)
}

fn format_usage(result: &TestResult, cost: Option<f64>) -> String {
    let Some(reply) = &result.reply else { return String::new() };
    let cost = cost.map(|cost| format!(", cost {cost:.6}")).unwrap_or_default();
    let (usage, ms) = (reply.usage, result.duration.as_millis());
    format!(" ({ms} ms, {} tokens in, {} out{cost})", usage.input, usage.output)
}
