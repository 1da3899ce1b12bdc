//! Fills in one page of every kind. Every field that people can write gets `text`, or with [`ORDINARY`] a realistic
//! example.

use super::super::*;
use askama::Template;

pub(super) const ORDINARY: &str = "";
pub(super) const HOSTILE: &str =
    r#"<script>alert(1)</script>"><img src=x onerror=alert(1)>" onerror=alert(1) x='{{ 1 }}"#;

/// The names and the HTML of all pages.
pub(super) fn pages(text: &str) -> Vec<(&'static str, String)> {
    let mut all = super::accounts::pages(text);
    all.extend(super::findings::pages(text));
    all.extend(vec![
        (
            "login",
            Login { shell: signed_out_shell(text, "Sign in to Docwright"), token: text_or(text, "one-time") }
                .render()
                .unwrap(),
        ),
        (
            "login-needed",
            LoginRequired {
                shell: signed_out_shell(text, "Sign in"),
                name: text.into(),
                error: None,
                next: Some(text.into()),
            }
            .render()
            .unwrap(),
        ),
        ("notice", notice(text).render().unwrap()),
        (
            "home-empty",
            Home {
                shell: shell(text, "Projects", Section::Projects, false),
                projects: Vec::new(),
                is_owner: true,
            }
            .render()
            .unwrap(),
        ),
        ("home", home(text).render().unwrap()),
        ("keys-empty", keys_empty(text).render().unwrap()),
        ("keys", keys(text).render().unwrap()),
        ("jobs-empty", jobs(text, Vec::new()).render().unwrap()),
        ("jobs", jobs(text, job_rows(text)).render().unwrap()),
        ("job-running", job(text, JobState::Running).render().unwrap()),
        ("job", job(text, JobState::Review).render().unwrap()),
        ("job-failed", job(text, JobState::Failed).render().unwrap()),
        ("pulls", pulls(text).render().unwrap()),
        ("pull", pull(text, PullState::Open, true).render().unwrap()),
        ("pull-by-hand", pull(text, PullState::Open, false).render().unwrap()),
        ("pull-merged", pull(text, PullState::Merged, false).render().unwrap()),
    ]);
    all
}

pub(super) fn text_or(text: &str, ordinary: &str) -> String {
    if text == ORDINARY { ordinary.to_owned() } else { text.to_owned() }
}

pub(super) fn time(text: &str, ordinary: &str) -> DisplayTime {
    DisplayTime { iso: text_or(text, "2026-03-14T09:26:53.589Z"), text: text_or(text, ordinary) }
}

pub(super) fn signed_out_shell(text: &str, title: &str) -> Shell {
    Shell {
        title: text_or(text, title),
        project: None,
        current: Section::None,
        signed_in: false,
        csrf: String::new(),
    }
}

pub(super) fn shell(text: &str, title: &str, current: Section, inside: bool) -> Shell {
    let project = inside.then(|| project(text, "Kettle docs"));
    Shell { title: text_or(text, title), project, current, signed_in: true, csrf: text_or(text, "c5rf") }
}

fn project(text: &str, name: &str) -> ProjectNav {
    ProjectNav {
        id: text_or(text, "kettle-docs"),
        name: text_or(text, name),
        repository: text_or(text, "kettle/docs"),
        branch: Some(text_or(text, "main")),
    }
}

fn notice(text: &str) -> Notice {
    let action = Some(Link { href: text_or(text, "/"), label: text_or(text, "Go to projects") });
    let message = text_or(text, "There is no page at this address.");
    Notice { shell: shell(text, "Page not found", Section::None, false), status: 404, message, action }
}

fn home(text: &str) -> Home {
    let latest = job_rows(text).into_iter().next();
    let projects = vec![
        ProjectRow {
            project: project(text, "Kettle docs"),
            latest,
            sparkline: Some(Sparkline::new(&[(1, 2), (7, 3)])),
        },
        ProjectRow { project: project(text, "Handbook"), latest: None, sparkline: None },
    ];
    Home { shell: shell(text, "Projects", Section::Projects, false), projects, is_owner: true }
}

fn key(text: &str, name: &str, kind: ExpiryKind, expiry: &str, used: Option<&str>) -> KeyRow {
    KeyRow {
        id: text_or(text, "key_1"),
        name: text_or(text, name),
        masked: text_or(text, "dw_8Kd2…"),
        scope: text_or(text, "write"),
        projects: text_or(text, "this project"),
        allow: text_or(text, "203.0.113.0/24"),
        expiry: Expiry { text: text_or(text, expiry), kind },
        last_used: used.map(|used| time(text, used)),
        created: time(text, "12 March"),
        creator: Some(text_or(text, "ada@acme.dev")),
    }
}

fn keys(text: &str) -> Keys {
    let curl = "curl -X POST http://127.0.0.1:4747/v2/agent/kettle-docs/job \\\n  -H 'Authorization: Bearer dw_8Kd2vN0qfQh1xYz3Wb7RcT5uJmE9aLsPgKoD4iVtXn2B' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"prompt\":\"Fix broken links\"}'";
    Keys {
        shell: shell(text, "API keys", Section::Keys, true),
        project_id: text_or(text, "kettle-docs"),
        keys: vec![
            key(text, "CI", ExpiryKind::Soon, "expires in 5 days", Some("2 minutes ago")),
            key(text, "Warehouse export", ExpiryKind::Never, "never expires", Some("today, 06:00")),
            key(text, "Release script", ExpiryKind::Good, "expires in 80 days", None),
            key(text, "Old laptop", ExpiryKind::Expired, "expired", Some("3 months ago")),
            key(text, "Leaked", ExpiryKind::Revoked, "revoked", Some("last year")),
        ],
        others: vec![OtherProject {
            id: text_or(text, "handbook"),
            name: text_or(text, "Handbook"),
            chosen: true,
        }],
        created: Some(NewKey {
            secret: text_or(text, "dw_8Kd2vN0qfQh1xYz3Wb7RcT5uJmE9aLsPgKoD4iVtXn2B"),
            curl: text_or(text, curl),
        }),
        error: Some(text_or(
            text,
            "0.0.0.0/0 contains every address. To allow every address, leave the list empty.",
        )),
        form: KeyForm {
            name: text_or(text, "CI"),
            scope: "read".into(),
            expires: "30d".into(),
            only_this_project: true,
            also: Vec::new(),
            until: String::new(),
            allow: text_or(text, "0.0.0.0/0"),
        },
    }
}

fn keys_empty(text: &str) -> Keys {
    let shell = shell(text, "API keys", Section::Keys, true);
    Keys {
        shell,
        project_id: text_or(text, "kettle-docs"),
        keys: Vec::new(),
        others: Vec::new(),
        created: None,
        error: None,
        form: KeyForm::default(),
    }
}

fn job_rows(text: &str) -> Vec<JobRow> {
    let row = |state, title: &str, pull: Option<PullState>, took: Option<&str>| JobRow {
        href: text_or(text, "/p/kettle-docs/jobs/0199"),
        state,
        title: text_or(text, title),
        branch: text_or(text, "docwright/0199e1c2"),
        pull: pull.map(|state| PullRef { href: text_or(text, "/p/kettle-docs/pulls/3"), number: 3, state }),
        added: 14,
        removed: 9,
        tokens: Some(text_or(text, "18,204")),
        when: time(text, "2 minutes ago"),
        duration: took.map(|took| text_or(text, took)),
    };
    vec![
        row(JobState::Running, "Fix common misspellings.", None, None),
        row(JobState::Review, "Fix broken links and anchors.", Some(PullState::Open), Some("1.2 s")),
        row(
            JobState::Merged,
            "Bump the version from 1.4.2 to 1.5.0.",
            Some(PullState::Merged),
            Some("0.8 s"),
        ),
        row(
            JobState::NoChange,
            "Replace \"whitelist\" with \"allowlist\" everywhere, in prose and in the reference pages too",
            None,
            Some("0.4 s"),
        ),
        row(JobState::Failed, "Rewrite the quickstart for people who are in a hurry", None, Some("0.1 s")),
        row(JobState::Archived, "Fix typos", None, Some("0.9 s")),
    ]
}

fn jobs(text: &str, rows: Vec<JobRow>) -> Jobs {
    let older = (!rows.is_empty()).then(|| text_or(text, "?offset=20"));
    let error = (text != ORDINARY).then(|| text.to_owned());
    Jobs {
        offline: Some(OfflineHint {
            has_models: true,
            needs_model: true,
            alternative: Some("Fix broken links and anchors."),
        }),
        shell: shell(text, "Jobs", Section::Jobs, true),
        jobs: rows,
        states: vec![
            (None, text_or(text, "/p/kettle-docs/jobs")),
            (Some(JobState::Review), text_or(text, "/p/kettle-docs/jobs?state=review")),
        ],
        state: None,
        words: if text == ORDINARY { String::new() } else { text.to_owned() },
        newer: None,
        older,
        error,
        once: text_or(text, "0nce"),
        prompt: text.to_owned(),
        quotations: vec![QuotationField {
            label: text_or(text, "Page views"),
            text: text_or(text, "Path: /guides/old\nRequests: 2 human, 1 AI"),
            value: text_or(text, "label=Page+views&text=x&signature=00"),
        }],
    }
}

pub(super) fn job(text: &str, state: JobState) -> Job {
    let prompt = text_or(text, "Fix broken links and anchors.\nThen fix common misspellings.");
    let step = |number, kind: &str, what: &str| Step {
        number,
        kind: text_or(text, kind),
        text: text_or(text, what),
        when: time(text, "0.2 s"),
    };
    let completed = state == JobState::Review;
    Job {
        once: text_or(text, "0nce"),
        shell: shell(text, &headline(&prompt), Section::Jobs, true),
        id: text_or(text, "0199e1c2-7d4b-7c11-9a2f-3b5d8e6f0a12"),
        href: text_or(text, "/p/kettle-docs/jobs/0199"),
        state,
        branch: text_or(text, "docwright/0199e1c2"),
        names_other_pull: false,
        base: Some(text_or(text, "main")),
        model: text_or(text, "offline"),
        creator: Some(text_or(text, "API key CI (dw_AbCd…)")),
        when: time(text, "2 minutes ago"),
        duration: completed.then(|| text_or(text, "1.2 s")),
        usage: Some(text_or(text, "18,204 tokens, $0.07")),
        prompt,
        quotations: vec![(
            text_or(text, "Page views"),
            Quotation::new(&format!("{}{text}", "Path: /guides/old\n".repeat(11))),
        )],
        is_waiting: false,
        full_diff: Some(text_or(text, "/p/kettle-docs/jobs/0199?all=1")),
        error: (text != ORDINARY).then(|| text.to_owned()),
        follow_up: text.to_owned(),
        steps: vec![
            step(1, "read", "Read 23 pages"),
            step(2, "edit", "`quickstart.md:12`: `/docker` → `/guides/docker`"),
            step(
                3,
                "edit",
                "`guides/kill-switches.md:31`: `concepts/evaluation.md` → `../concepts/evaluation.md`",
            ),
            step(4, "check", "Checked links and anchors: 2 are left for a person"),
        ],
        diff: if completed { files(text) } else { Vec::new() },
        result: (!state.is_active()).then(|| result(text, completed)),
        fixes: super::findings::fixes(text),
        pull: completed.then(|| PullRef {
            href: text_or(text, "/p/kettle-docs/pulls/3"),
            number: 3,
            state: PullState::Open,
        }),
    }
}

fn result(text: &str, completed: bool) -> JobResult {
    if !completed {
        let reason =
            "The offline editor cannot follow “Rewrite the quickstart for people who are in a hurry”.";
        return JobResult {
            reason: text_or(text, reason),
            summary: Vec::new(),
            notes: Vec::new(),
            checks: Vec::new(),
        };
    }
    JobResult {
        reason: text_or(text, "Fixed 11 links in 8 pages."),
        summary: blocks(&text_or(
            text,
            "Links to pages that were moved or renamed lead to where those pages are now.",
        )),
        notes: vec![
            format!("`{}`: no page is like it.", text_or(text, "/guides/ldap")),
            text_or(text, "`concepts/environments.md:40`: no heading is like `#archiving-by-schedule`."),
        ],
        checks: vec![text_or(text, "Links and anchors: nothing is worse than before.")],
    }
}

fn files(text: &str) -> Vec<DiffFile> {
    let old = text_or(
        text,
        "The server will recieve updates within a second; see [Docker](/docker) for a set-up with a volume that survives an upgrade.",
    );
    let new = text_or(
        text,
        "The server will receive updates within a second; see [Docker](/guides/docker) for a set-up with a volume that survives an upgrade.",
    );
    // Long enough that the words added to it are marked.
    let unchanged = "word ".repeat(40);
    let path = text_or(text, "docs/quickstart.md");
    diff_files(&format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -8,4 +8,5 @@ ## Install\n Start the server:\n \n-{old}\n+{new}\n+{new}\n Done.\n\
         @@ -118,2 +119,2 @@\n-{old} a\n+{new} b\n \tkettle serve\n\\ No newline at end of file\n\
         @@ -150 +151 @@\n-{unchanged}\n+{unchanged}{old}\n\
         diff --git a/x b/x\nsimilarity index 100%\nrename from {path}\nrename to {path}\n\
         diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,450 @@\n{}",
        "+one line\n".repeat(450),
    ))
    .into_iter()
    .map(|mut file| {
        file.lines.truncate(40);
        file
    })
    .collect()
}

fn pulls(text: &str) -> Pulls {
    let row = |number, title: &str, state| PullRow {
        href: text_or(text, "/p/kettle-docs/pulls/3"),
        number,
        title: text_or(text, title),
        state,
        head: text_or(text, "docwright/0199e1c2"),
        base: text_or(text, "main"),
        when: time(text, "2 minutes ago"),
    };
    let rows = vec![
        row(12, "Fix 11 links in 8 pages", PullState::Open),
        row(3, "Bump the version to 1.5.0 in 7 pages", PullState::Merged),
        row(2, "Replace \"kettlectl\" with \"kettle\" in 4 pages", PullState::Closed),
    ];
    Pulls {
        shell: shell(text, "Pull requests", Section::Pulls, true),
        rows,
        state: Some(PullState::Open),
        is_truncated: true,
        host: Some(text_or(text, "https://git.example/acme/docs")),
    }
}

fn pull(text: &str, state: PullState, can_merge: bool) -> Pull {
    let hint = "main is checked out in the repository, so it is not moved under your feet. There, run:\n```\ngit merge docwright/0199e1c2\n```";
    Pull {
        shell: shell(text, "Fix 11 links in 8 pages", Section::Pulls, true),
        number: 12,
        state,
        head: text_or(text, "docwright/0199e1c2"),
        base: text_or(text, "main"),
        head_commit: text_or(text, "c0ffee"),
        when: time(text, "2 minutes ago"),
        job: Some(Link { href: text_or(text, "/p/kettle-docs/jobs/0199"), label: text_or(text, "a job") }),
        fixes: super::findings::fixes(text),
        body: blocks(&format!(
            "{}\n\n## Pages\n- `docs/quickstart.md`: 2 links\n- `docs/faq.md`: 1 link\n\n## To try it\n```\n{}\n```\n",
            text_or(text, "Links to pages that were moved or renamed lead to where those pages are now."),
            text_or(text, "kettle version"),
        )),
        commits: vec![Commit {
            id: text_or(text, "3f2a91c"),
            subject: text_or(text, "Fix 11 links in 8 pages"),
            author: text_or(text, "Docwright"),
            when: time(text, "2 minutes ago"),
        }],
        files: files(text),
        full_diff: Some(text_or(text, "?all=1")),
        can_merge,
        merge_hint: (!can_merge && state.is_open()).then(|| text_or(text, hint)),
        error: (text != ORDINARY).then(|| text.to_owned()),
    }
}
