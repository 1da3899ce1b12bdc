//! Fills in the pages about members, settings and the first run, as `samples` does.

use super::super::*;
use super::samples::{shell, signed_out_shell, text_or, time};
use app::refused_files::RefusedFile;
use askama::Template;

pub(super) fn pages(text: &str) -> Vec<(&'static str, String)> {
    vec![
        ("settings", settings(text).render().unwrap()),
        ("members", members(text).render().unwrap()),
        (
            "members-empty",
            MembersPage { members: Vec::new(), link: None, me: None, ..members(text) }.render().unwrap(),
        ),
        ("join", join(text).render().unwrap()),
        ("audit", audit(text).render().unwrap()),
        ("welcome", welcome(text).render().unwrap()),
        ("welcome-repository", welcome_repository(text).render().unwrap()),
        ("welcome-model", welcome_model(text).render().unwrap()),
        ("welcome-done", welcome_done(text).render().unwrap()),
    ]
}

fn members(text: &str) -> MembersPage {
    let row = |name: &str, role, is_me| MemberRow {
        id: text_or(text, "per_1"),
        name: text_or(text, name),
        role,
        since: time(text, "12 March"),
        is_me,
        is_last_owner: is_me,
        keys: vec![text_or(text, "CI (dw_AbCd…)")],
    };
    let link = LinkSessionRow {
        id: text_or(text, "ses_1"),
        name: Some(text_or(text, "Ada's laptop")),
        member: Some(text_or(text, "ada@acme.dev")),
        since: time(text, "2 days ago"),
        until: time(text, "in 12 days"),
    };
    let invite = InviteRow {
        id: text_or(text, "inv_1"),
        role: "member",
        creator: Some(text_or(text, "ada@acme.dev")),
        until: time(text, "in 6 days"),
    };
    MembersPage {
        invites: vec![invite],
        link_sessions: vec![link],
        shell: shell(text, "Members", Section::Members, false),
        me: Some(SignedInMember { name: text_or(text, "ada@acme.dev"), role: "owner" }),
        is_owner: true,
        members: vec![row("ada@acme.dev", "owner", true), row("bob@acme.dev", "member", false)],
        link: Some(text_or(text, "https://dw.kettle.example/join?token=3xAmPlE")),
        message: Some(FormMessage::error(
            MemberForm::Password,
            text_or(text, "The current password is wrong."),
        )),
    }
}

fn join(text: &str) -> Join {
    Join {
        shell: signed_out_shell(text, "Join"),
        organization: text_or(text, "Kettle"),
        role: "member",
        token: text_or(text, "3xAmPlE"),
        name: text_or(text, "bob@acme.dev"),
        error: Some(text_or(text, "a password has at least 12 characters")),
    }
}

fn audit(text: &str) -> AuditPage {
    let row = |who: &str, what: &str, about: &str| AuditRow {
        when: time(text, "2 minutes ago"),
        who: text_or(text, who),
        what: text_or(text, what),
        about: text_or(text, about),
    };
    AuditPage {
        shell: shell(text, "Audit log", Section::Members, false),
        rows: vec![
            row("ada@acme.dev", "merged the pull request", "Kettle docs #12"),
            row("login link", "revoked the key", "Old laptop"),
            row("bob@acme.dev", "signed in", ""),
        ],
        newer: None,
        older: Some(text_or(text, "/audit?before=3")),
    }
}

fn welcome(text: &str) -> Welcome {
    let error = (text != super::samples::ORDINARY).then(|| text.to_owned());
    Welcome { shell: shell(text, "Welcome", Section::None, false), name: text.into(), error }
}

fn welcome_repository(text: &str) -> WelcomeRepository {
    WelcomeRepository {
        shell: shell(text, "Connect your docs", Section::None, false),
        form: NewProjectForm {
            name: text_or(text, "Kettle docs"),
            repository: text_or(text, "https://github.com/kettle/docs"),
            branch: text.into(),
            folder: text_or(text, "docs"),
        },
        is_operator: true,
        error: Some(text_or(text, "The token may not push to this repository.")),
    }
}

fn welcome_model(text: &str) -> WelcomeModel {
    let option = |name: &str, chosen| ModelOption { name: text_or(text, name), chosen };
    WelcomeModel {
        shell: shell(text, "Choose a model", Section::None, true),
        models: vec![option("offline", true), option("sonnet", false)],
        message: Some(FormMessage::success((), text_or(text, "sonnet: it answers, and calls tools"))),
    }
}

fn welcome_done(text: &str) -> WelcomeDone {
    let curl =
        "curl -X POST http://127.0.0.1:4747/v2/agent/kettle-docs/job -d '{\"prompt\":\"Fix broken links\"}'";
    WelcomeDone {
        shell: shell(text, "Your project is ready", Section::None, true),
        project_id: text_or(text, "kettle-docs"),
        key: NewKey {
            secret: text_or(text, "dw_8Kd2vN0qfQh1xYz3Wb7RcT5uJmE9aLsPgKoD4iVtXn2B"),
            curl: text_or(text, curl),
        },
        suggested_globs: vec![text_or(text, "examples/**")],
    }
}

fn settings(text: &str) -> Settings {
    let choice = |name: &str, is_default| ModelChoice {
        name: text_or(text, name),
        is_default,
        is_allowed: !is_default,
        is_missing: !is_default,
    };
    Settings {
        shell: shell(text, "Settings", Section::Settings, true),
        project_id: text_or(text, "kettle-docs"),
        name: text_or(text, "Kettle docs"),
        repository: RepositoryForm {
            name: text_or(text, "Kettle docs"),
            repository: text_or(text, "https://github.com/kettle/docs"),
            branch: text_or(text, "main"),
            folder: text_or(text, "docs"),
        },
        host: Some(text_or(text, "github")),
        has_token: true,
        jobs: JobsForm {
            models: vec![choice("offline", true), choice("sonnet", false)],
            allow_paths: text_or(text, ".github/workflows/*.yml"),
            suggested_globs: vec![text_or(text, "examples/**"), text_or(text, "docs/snippets/**")],
            refused: vec![RefusedFile {
                path: text_or(text, "docs/examples/run.js"),
                why: "it is no page",
                glob: text_or(text, "docs/examples/**"),
            }],
            budget: Some(50_000_000),
        },
        readers: ReadersForm {
            sites: text_or(text, "https://docs.kettle.example"),
            human_reads: "both".into(),
        },
        findings: FindingsForm {
            min_requests: text_or(text, "5"),
            window_days: text_or(text, "30"),
            stale_days: text_or(text, "365"),
            stale_tiers: text_or(text, "/guides/** 180"),
            stale_min_views: text_or(text, "50"),
            shipped_delay_days: text_or(text, "3"),
            judge_days: text_or(text, "14"),
            reopen_factor: text_or(text, "2"),
        },
        snippet: text_or(
            text,
            "<script defer src=\"https://dw.kettle.example/js/docwright.js\" data-project=\"kettle-docs\"></script>",
        ),
        views_received: ViewsReceived { total: 40_219, recent: 12, is_unavailable: false },
        is_owner: true,
        message: Some(FormMessage::error(SettingsForm::Repository, text_or(text, "The token can't push."))),
    }
}
