//! `docwright model …`: which models there are, whether they answer, and the keys that are kept for them.

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
    let kept = key::kept(sources, &args.data).await?;
    let mut rows = vec![[OFFLINE, "none", "", OFFLINE, "none"].map(String::from)];
    for (name, table) in sources.model_tables()? {
        let key = key::place(kept.as_deref(), &name, &table).await?.to_owned();
        rows.push([name, table.provider()?.name().to_owned(), table.url()?.to_owned(), table.model, key]);
    }
    if args.json {
        let shown = |[name, provider, url, model, key]: &[String; 5]| json!({ "name": name, "provider": provider, "url": url, "model": model, "key": key });
        return output::json(&rows.iter().map(shown).collect::<Vec<_>>());
    }
    output::table(["NAME", "PROVIDER", "URL", "MODEL", "KEY"], rows)
}

fn table(sources: &Sources, name: &str) -> anyhow::Result<ModelTable> {
    let found = sources.model_tables()?.remove(name);
    found.ok_or_else(|| anyhow!("the settings name no model `{name}`; see `docwright model list`"))
}

/// What came of a test.
struct Tried {
    ok: bool,
    sentence: String,
    took: Duration,
    reply: Option<Reply>,
}

async fn test(sources: &Sources, args: TestModel) -> anyhow::Result<ExitCode> {
    if args.name == OFFLINE {
        let sentence = "offline needs no model and no network: it always works".to_owned();
        return told(&args, &Tried { ok: true, sentence, took: Duration::ZERO, reply: None }, None);
    }
    let settings = table(sources, &args.name)?.settings();
    let mut settings = settings.map_err(|why| why.context(format!("models.{}", args.name)))?;
    if settings.api_key.is_none() {
        settings.api_key = key::of(key::kept(sources, &args.data).await?.as_deref(), &args.name).await?;
    }
    let model = model::open(&settings).map_err(|why| anyhow!("models.{}: {why}", args.name))?;
    told(&args, &ask(&*model).await, settings.prices)
}

async fn ask(model: &dyn model::Model) -> Tried {
    let start = Instant::now();
    let Probe { ok, sentence, reply } = probe(model).await;
    Tried { ok, sentence, took: start.elapsed(), reply }
}

fn told(args: &TestModel, tried: &Tried, prices: Option<Prices>) -> anyhow::Result<ExitCode> {
    let usage = tried.reply.as_ref().map(|reply| reply.usage);
    let cost = usage.zip(prices).map(|(usage, prices)| prices.cost(usage));
    let code = if tried.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json {
        output::json(&json!({
            "ok": tried.ok, "name": args.name, "sentence": output::plain(&tried.sentence),
            "milliseconds": tried.took.as_millis() as u64, "usage": usage, "cost": cost,
        }))?;
        return Ok(code);
    }
    if !tried.ok {
        output::say(format!("error: {}: {}", args.name, tried.sentence));
        return Ok(code);
    }
    output::line(format!("{}: {}{}", args.name, tried.sentence, figures(tried, cost)))?;
    Ok(code)
}

fn figures(tried: &Tried, cost: Option<f64>) -> String {
    let Some(reply) = &tried.reply else { return String::new() };
    let cost = cost.map(|cost| format!(", cost {cost:.6}")).unwrap_or_default();
    let (usage, ms) = (reply.usage, tried.took.as_millis());
    format!(" ({ms} ms, {} tokens in, {} out{cost})", usage.input, usage.output)
}
