//! Says what the move will do, what it did, and what to do next.

use std::time::Duration;

use serde_json::json;
use store::{CopiedTable, TransferState};
use traffic::ViewsToMove;

use super::page_views::MovedViews;
use super::preparation::Preparation;
use crate::args::quote;
use crate::output;

/// Tables whose numbers of rows a person knows.
const KNOWN_TABLES: [(&str, &str); 4] =
    [("projects", "project"), ("jobs", "job"), ("keys", "API key"), ("people", "member")];

/// "5,000 jobs".
pub(super) fn count(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {noun}{}", if number == 1 { "" } else { "s" })
}

pub(super) fn print_plan(
    preparation: &Preparation,
    tables: &[CopiedTable],
    views: Option<ViewsToMove>,
    state: TransferState,
) {
    let Preparation { dir, url, .. } = preparation;
    let verb = if state == TransferState::Interrupted { "Continues to move" } else { "Moves" };
    output::print_message(format!("{verb} {} to PostgreSQL ({url}).", dir.path().display()));
    let known = KNOWN_TABLES.iter().filter_map(|(name, noun)| {
        let table = tables.iter().find(|table| table.name == *name)?;
        Some(count(table.rows, noun))
    });
    let total = tables.iter().map(|table| table.rows).sum();
    let mut parts: Vec<String> = known.collect();
    parts.push(format!("{} in all", count(total, "row")));
    output::print_message(format!("  To copy: {}.", parts.join(", ")));
    output::print_message(match (&preparation.views_url, views, &preparation.views) {
        (Some(url), Some(views), _) => format!(
            "  Page views: {} of {} go to ClickHouse ({url}).",
            count(views.events, "raw view"),
            count(views.projects, "project")
        ),
        (None, _, Some(_)) => format!("  Page views stay in {}.", dir.views().display()),
        _ => "  There are no page views.".into(),
    });
    output::print_message(
        "  No server can use this installation until the move is complete. You can interrupt it, and run the same command again.",
    );
}

/// The move was completed earlier.
pub(super) fn print_complete(preparation: &Preparation, is_json: bool) -> anyhow::Result<()> {
    let url = &preparation.url;
    output::print_message(format!("This installation was already moved to PostgreSQL ({url})."));
    print_next_steps(preparation);
    match is_json {
        true => output::print_json(&json!({ "to": url.to_string(), "wasComplete": true })),
        false => Ok(()),
    }
}

/// What a move did.
pub(super) struct Summary {
    pub(super) tables: Vec<CopiedTable>,
    pub(super) views: MovedViews,
    pub(super) took: Duration,
    pub(super) is_resumed: bool,
}

impl Summary {
    pub(super) fn print(&self, preparation: &Preparation, is_json: bool) -> anyhow::Result<()> {
        let rows: u64 = self.tables.iter().map(|table| table.rows).sum();
        let mut moved = count(rows, "row");
        let mut compared = "Both sides have the same rows".to_owned();
        if self.views.questions > 0 {
            moved.push_str(&format!(" and {}", count(self.views.events, "page view")));
            let questions = count(self.views.questions.into(), "question");
            compared.push_str(&format!(", and gave the same answers to {questions} about page views"));
        }
        let took = format_time(self.took);
        let since = if self.is_resumed { " since it was continued" } else { "" };
        output::print_message(format!("Moved {moved}. That took {took}{since}. {compared}."));
        print_next_steps(preparation);
        match is_json {
            true => output::print_json(&self.json(preparation, rows)),
            false => Ok(()),
        }
    }

    fn json(&self, preparation: &Preparation, rows: u64) -> serde_json::Value {
        let tables = self.tables.iter().map(|table| (table.name.to_owned(), table.rows.into()));
        json!({
            "to": preparation.url.to_string(),
            "views": preparation.views_url.as_ref().map(ToString::to_string),
            "rows": rows,
            "tables": tables.collect::<serde_json::Map<_, _>>(),
            "events": self.views.events,
            "questions": self.views.questions,
            "seconds": self.took.as_secs_f64(),
            "masterKey": preparation.key_file.to_string_lossy(),
            "wasComplete": false,
        })
    }
}

fn print_next_steps(preparation: &Preparation) {
    let Preparation { dir, key_file, .. } = preparation;
    let (data, key) = (quote(&dir.path().to_string_lossy()), quote(&key_file.to_string_lossy()));
    output::print_message(format!(
        "Next: set DOCWRIGHT_DATABASE_URL for every server. The secrets are encrypted with the master key in {key}: copy that file to every server, readable only by its user, and name it with DOCWRIGHT_MASTER_KEY_FILE."
    ));
    match (&preparation.views_url, &preparation.views) {
        (Some(_), _) => output::print_message("Also set DOCWRIGHT_VIEWS_URL for every server."),
        (None, Some(_)) => output::print_message(format!(
            "The page views stay in this directory: start the server that keeps them with --data {data}."
        )),
        (None, None) => {}
    }
    output::print_message(format!(
        "The old data stays in {data}. A server doesn't start on it with SQLite, unless you delete the file `moved` there."
    ));
}

fn format_time(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds / 60 {
        0 if seconds == 0 => format!("{} ms", took.as_millis()),
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times() {
        assert_eq!(count(1, "job"), "1 job");
        assert_eq!(count(999, "job"), "999 jobs");
        assert_eq!(count(20_000_000, "page view"), "20,000,000 page views");
        let times = [(7, "7 ms"), (9_400, "9 s"), (123_000, "2 min 3 s")];
        for (milliseconds, text) in times {
            assert_eq!(format_time(Duration::from_millis(milliseconds)), text);
        }
    }
}
