//! Runs `docwright model`: lists and tests the models in the settings, and stores their keys.

pub(crate) mod key;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::{Value, json};
use server::model::{self, Findings, Prices, Probe, Usage, probe};

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

pub(crate) fn find_table(sources: &Sources, name: &str) -> anyhow::Result<ModelTable> {
    let found = sources.model_tables()?.remove(name);
    found.ok_or_else(|| anyhow!("there is no model `{name}` in the settings; see `docwright model list`"))
}

struct TestResult {
    probe: Probe,
    duration: Duration,
}

async fn test(sources: &Sources, args: TestModel) -> anyhow::Result<ExitCode> {
    if args.name == OFFLINE {
        let sentence = "it needs no network and always works".to_owned();
        let probe = Probe { ok: true, sentence, findings: None, usage: Usage::default() };
        return print_result(&args, &TestResult { probe, duration: Duration::ZERO }, None);
    }
    let settings = find_table(sources, &args.name)?.settings();
    let mut settings = settings.map_err(|error| error.context(format!("models.{}", args.name)))?;
    if settings.api_key.is_none() {
        settings.api_key =
            key::find_stored(key::stored_keys(sources, &args.data).await?.as_deref(), &args.name).await?;
    }
    let model = model::open(&settings).map_err(|error| anyhow!("models.{}: {error}", args.name))?;
    let start = Instant::now();
    let probe = probe(&*model, settings.profile).await;
    print_result(&args, &TestResult { probe, duration: start.elapsed() }, settings.prices)
}

fn print_result(args: &TestModel, result: &TestResult, prices: Option<Prices>) -> anyhow::Result<ExitCode> {
    let Probe { ok, sentence, findings, usage } = &result.probe;
    let usage = findings.map(|_| *usage);
    let cost = usage.zip(prices).map(|(usage, prices)| prices.cost(usage));
    let code = if *ok { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json {
        output::print_json(&json!({
            "ok": ok, "name": args.name, "sentence": output::sanitize(sentence),
            "milliseconds": result.duration.as_millis() as u64, "usage": usage, "cost": cost,
            "findings": findings.map(findings_json),
        }))?;
        return Ok(code);
    }
    if !ok {
        output::print_message(format!("error: {}: {sentence}", args.name));
        return Ok(code);
    }
    output::print_line(format!("{}: {sentence}{}", args.name, format_usage(result, usage, cost)))?;
    for line in findings.iter().flat_map(finding_lines) {
        output::print_line(format!("  {line}"))?;
    }
    Ok(code)
}

fn format_usage(result: &TestResult, usage: Option<Usage>, cost: Option<f64>) -> String {
    let Some(usage) = usage else { return String::new() };
    let cost = cost.map(|cost| format!(", cost {cost:.6}")).unwrap_or_default();
    let ms = result.duration.as_millis();
    format!(" ({ms} ms, {} tokens in, {} out{cost})", usage.input, usage.output)
}

fn findings_json(findings: Findings) -> Value {
    json!({
        "toolCalls": findings.tool_calls, "parallelCalls": findings.parallel_calls,
        "callsAsText": findings.calls_as_text, "contextTokens": findings.context,
        "maxOutputTokens": findings.max_output,
        "betterProfile": findings.better_profile.map(|_| "small"),
    })
}

fn finding_lines(findings: &Findings) -> [String; 5] {
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    let context = findings
        .context
        .map_or("unknown; set context_tokens if you know it".to_owned(), |tokens| format!("{tokens} tokens"));
    [
        format!("tool calls: {}", yes_no(findings.tool_calls)),
        format!("several calls in one answer: {}", yes_no(findings.parallel_calls)),
        format!("calls written as text: {}", yes_no(findings.calls_as_text)),
        format!("context: {context}"),
        format!("longest answer: {} tokens", findings.max_output),
    ]
}
