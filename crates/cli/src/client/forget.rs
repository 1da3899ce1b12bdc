//! `docwright forget`

use std::io::{BufRead, IsTerminal, stdin};

use anyhow::{Context, bail};
use serde_json::json;
use wire::{ForgetPaths, RemovalResult};

use super::{Client, segment};
use crate::args::Forget;
use crate::output;
use crate::settings::Sources;

/// Says what would be removed, and asks, unless `--yes` is given.
pub(crate) async fn run(sources: &Sources, args: Forget) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    if !args.yes {
        let found = pieces(&client, &args, true).await?;
        if found.views == 0 && found.pages == 0 {
            return finish(&args, &found, false, "Nothing to remove: no views match.");
        }
        output::say(format!("This removes {} from all reports, for good.", count(&found)));
        confirm()?;
    }
    let removed = pieces(&client, &args, false).await?;
    finish(&args, &removed, true, &format!("Removed {}.", count(&removed)))
}

/// In pieces, each of which is done when it is answered: cut off, it is run again.
async fn pieces(client: &Client, args: &Forget, dry_run: bool) -> anyhow::Result<RemovalResult> {
    let path = format!("/v1/analytics/{}/forget", segment(&args.project));
    let body = ForgetPaths { path: args.path.clone(), dry_run };
    let (mut done, mut url) = (RemovalResult { views: 0, pages: 0, next: None }, path.clone());
    loop {
        let piece: RemovalResult = client.post(&url, &body).await?;
        done = RemovalResult { views: done.views + piece.views, pages: done.pages + piece.pages, ..piece };
        match &done.next {
            Some(day) => url = format!("{path}?dateFrom={day}"),
            None => return Ok(done),
        }
    }
}

fn confirm() -> anyhow::Result<()> {
    if !stdin().is_terminal() {
        bail!("nothing was removed: say --yes to remove them");
    }
    output::say("Remove them? Type yes:");
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).context("the answer cannot be read")?;
    match answer.trim() {
        "yes" => Ok(()),
        _ => bail!("nothing was removed"),
    }
}

fn finish(args: &Forget, done: &RemovalResult, removed: bool, sentence: &str) -> anyhow::Result<()> {
    match args.json {
        true => output::json(&json!({ "views": done.views, "pages": done.pages, "removed": removed })),
        false => output::line(sentence),
    }
}

fn count(done: &RemovalResult) -> String {
    let plural = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    format!("{} and {}", plural(done.views, "view"), plural(done.pages, "page"))
}
