//! The pages about projects and people, filled in as those of `samples`.

use super::super::*;
use super::samples::{say, shell};
use askama::Template;

pub(super) fn pages(text: &str) -> Vec<(&'static str, String)> {
    vec![("settings", settings(text).render().unwrap())]
}

fn settings(text: &str) -> Settings {
    let choice =
        |name: &str, usual| ModelChoice { name: say(text, name), usual, allowed: !usual, gone: !usual };
    Settings {
        shell: shell(text, "Settings", Section::Settings, true),
        project_id: say(text, "kettle-docs"),
        name: say(text, "Kettle docs"),
        repository: RepositoryForm {
            name: say(text, "Kettle docs"),
            repository: say(text, "https://github.com/kettle/docs"),
            branch: say(text, "main"),
            folder: say(text, "docs"),
        },
        host: Some(say(text, "github")),
        has_token: true,
        jobs: JobsForm {
            models: vec![choice("offline", true), choice("sonnet", false)],
            allow_paths: say(text, ".github/workflows/*.yml"),
        },
        readers: ReadersForm { sites: say(text, "https://docs.kettle.example"), human_reads: "both".into() },
        snippet: say(
            text,
            "<script defer src=\"https://dw.kettle.example/js/docwright.js\" data-project=\"kettle-docs\"></script>",
        ),
        arrived: Arrived { total: 40_219, lately: 12 },
        said: Some(Said {
            card: Card::Repository,
            good: false,
            sentence: say(text, "The token may not push."),
        }),
    }
}
