//! The pages about projects and people, filled in as those of `samples`.

use super::super::*;
use super::samples::{outside, say, shell, when};
use app::refused_files::RefusedFile;
use askama::Template;

pub(super) fn pages(text: &str) -> Vec<(&'static str, String)> {
    vec![
        ("settings", settings(text).render().unwrap()),
        ("people", people(text).render().unwrap()),
        (
            "people-empty",
            PeoplePage { people: Vec::new(), link: None, me: None, ..people(text) }.render().unwrap(),
        ),
        ("join", join(text).render().unwrap()),
        ("audit", audit(text).render().unwrap()),
        ("welcome", welcome(text).render().unwrap()),
        ("welcome-repository", welcome_repository(text).render().unwrap()),
        ("welcome-model", welcome_model(text).render().unwrap()),
        ("welcome-done", welcome_done(text).render().unwrap()),
    ]
}

fn people(text: &str) -> PeoplePage {
    let row = |name: &str, role, is_me| PersonRow {
        id: say(text, "per_1"),
        name: say(text, name),
        role,
        since: when(text, "12 March"),
        is_me,
        stays: is_me,
        keys: vec![say(text, "CI (dw_AbCd…)")],
    };
    let link = LinkSessionRow {
        id: say(text, "ses_1"),
        name: Some(say(text, "Ada's laptop")),
        member: Some(say(text, "ada@acme.dev")),
        since: when(text, "2 days ago"),
        until: when(text, "in 12 days"),
    };
    let invite = InviteRow {
        id: say(text, "inv_1"),
        role: "member",
        creator: Some(say(text, "ada@acme.dev")),
        until: when(text, "in 6 days"),
    };
    PeoplePage {
        invites: vec![invite],
        links: vec![link],
        shell: shell(text, "People", Section::People, false),
        me: Some(Me { name: say(text, "ada@acme.dev"), role: "owner" }),
        owner: true,
        people: vec![row("ada@acme.dev", "owner", true), row("bob@acme.dev", "member", false)],
        link: Some(say(text, "https://dw.kettle.example/join?token=3xAmPlE")),
        outcome: Some(Outcome { form: Form::Password, good: false, sentence: say(text, "That is not it.") }),
    }
}

fn join(text: &str) -> Join {
    Join {
        shell: outside(text, "Join"),
        organization: say(text, "Kettle"),
        role: "member",
        token: say(text, "3xAmPlE"),
        name: say(text, "bob@acme.dev"),
        error: Some(say(text, "a password has at least 12 characters")),
    }
}

fn audit(text: &str) -> Deeds {
    let row = |who: &str, what: &str, about: &str| DeedRow {
        when: when(text, "2 minutes ago"),
        who: say(text, who),
        what: say(text, what),
        about: say(text, about),
    };
    Deeds {
        shell: shell(text, "Audit log", Section::People, false),
        rows: vec![
            row("ada@acme.dev", "merged the pull request", "Kettle docs #12"),
            row("login link", "revoked the key", "Old laptop"),
            row("bob@acme.dev", "signed in", ""),
        ],
        newer: None,
        older: Some(say(text, "/audit?before=3")),
    }
}

fn welcome(text: &str) -> Welcome {
    let error = (text != super::samples::ORDINARY).then(|| text.to_owned());
    Welcome { shell: shell(text, "Welcome", Section::Elsewhere, false), name: text.into(), error }
}

fn welcome_repository(text: &str) -> WelcomeRepository {
    WelcomeRepository {
        shell: shell(text, "Your docs", Section::Elsewhere, false),
        form: NewProjectForm {
            name: say(text, "Kettle docs"),
            repository: say(text, "https://github.com/kettle/docs"),
            branch: text.into(),
            folder: say(text, "docs"),
        },
        operator: true,
        error: Some(say(text, "The token may not push to this repository.")),
    }
}

fn welcome_model(text: &str) -> WelcomeModel {
    let one = |name: &str, chosen| OneModel { name: say(text, name), chosen };
    WelcomeModel {
        shell: shell(text, "A model", Section::Elsewhere, true),
        models: vec![one("offline", true), one("sonnet", false)],
        said: Some(Said {
            card: Card::Jobs,
            good: true,
            sentence: say(text, "sonnet: it answers, and calls tools"),
        }),
    }
}

fn welcome_done(text: &str) -> WelcomeDone {
    let curl =
        "curl -X POST http://127.0.0.1:4747/v2/agent/kettle-docs/job -d '{\"prompt\":\"Fix broken links\"}'";
    WelcomeDone {
        shell: shell(text, "Ready", Section::Elsewhere, true),
        project_id: say(text, "kettle-docs"),
        key: NewKey {
            secret: say(text, "dw_8Kd2vN0qfQh1xYz3Wb7RcT5uJmE9aLsPgKoD4iVtXn2B"),
            curl: say(text, curl),
        },
        offers: vec![say(text, "examples/**")],
    }
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
            offers: vec![say(text, "examples/**"), say(text, "docs/snippets/**")],
            refused: vec![RefusedFile {
                path: say(text, "docs/examples/run.js"),
                why: "it is no page",
                glob: say(text, "docs/examples/**"),
            }],
            budget: Some(50_000_000),
        },
        readers: ReadersForm { sites: say(text, "https://docs.kettle.example"), human_reads: "both".into() },
        snippet: say(
            text,
            "<script defer src=\"https://dw.kettle.example/js/docwright.js\" data-project=\"kettle-docs\"></script>",
        ),
        arrived: Arrived { total: 40_219, lately: 12 },
        owner: true,
        said: Some(Said {
            card: Card::Repository,
            good: false,
            sentence: say(text, "The token may not push."),
        }),
    }
}
