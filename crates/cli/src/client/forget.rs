//! Runs `docwright forget`: removes the views of junk paths.

use std::io::{BufRead, IsTerminal, stdin};

use anyhow::{Context, bail};
use serde_json::json;
use wire::{ForgetPaths, RemovalResult};

use super::{Client, encode_segment};
use crate::args::Forget;
use crate::output;
use crate::settings::Sources;

/// Without `--yes`, prints what would be removed, and asks.
pub(crate) async fn run(sources: &Sources, args: Forget) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    if !args.yes {
        let found = remove_in_pieces(&client, &args, true).await?;
        if found.views == 0 && found.pages == 0 {
            return print_result(&args, &found, false, "Nothing to remove: no views match.");
        }
        output::print_message(format!("This removes {} from all reports, for good.", format_counts(&found)));
        confirm()?;
    }
    let removed = remove_in_pieces(&client, &args, false).await?;
    print_result(&args, &removed, true, &format!("Removed {}.", format_counts(&removed)))
}

/// Each piece is complete when the server answers, so an interrupted command can be run again.
async fn remove_in_pieces(client: &Client, args: &Forget, dry_run: bool) -> anyhow::Result<RemovalResult> {
    let path = format!("/v1/analytics/{}/forget", encode_segment(&args.project));
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
        bail!("nothing was removed: add --yes to remove the views");
    }
    output::print_message("To remove them, type yes:");
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).context("the answer cannot be read")?;
    match answer.trim() {
        "yes" => Ok(()),
        _ => bail!("nothing was removed"),
    }
}

fn print_result(args: &Forget, done: &RemovalResult, removed: bool, sentence: &str) -> anyhow::Result<()> {
    match args.json {
        true => output::print_json(&json!({ "views": done.views, "pages": done.pages, "removed": removed })),
        false => output::print_line(sentence),
    }
}

fn format_counts(done: &RemovalResult) -> String {
    let plural = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    format!("{} and {}", plural(done.views, "view"), plural(done.pages, "page"))
}
