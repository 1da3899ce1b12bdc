//! `docwright views`

use wire::PageViews;

use super::{Client, segment};
use crate::args::Views;
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let query: Vec<(&str, String)> = [
        ("dateFrom", args.from),
        ("dateTo", args.to),
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("offset", args.offset.map(|offset| offset.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let path = format!("/v1/analytics/{}/views", segment(&args.project));
    let answer: PageViews = client.get(&path, &query).await?;
    if args.json {
        return output::json(&answer);
    }
    let row = |path: String, human: u64, ai: u64, total: u64| {
        [path, human.to_string(), ai.to_string(), total.to_string()]
    };
    let totals = &answer.totals;
    let next = args.offset.unwrap_or(0) + answer.views.len() as u64;
    let all = row("(all pages)".into(), totals.human, totals.ai, totals.total);
    let pages = answer.views.into_iter().map(|page| row(page.path, page.human, page.ai, page.total));
    output::table(["PAGE", "HUMAN", "AI", "TOTAL"], std::iter::once(all).chain(pages))?;
    if answer.has_more {
        output::say(format!("There are more pages: --offset {next}"));
    }
    Ok(())
}
