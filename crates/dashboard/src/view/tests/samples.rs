//! One filled-in page of every kind. `text` stands in every field that holds text of someone's
//! making; with [`ORDINARY`] each field has an example that looks like life instead.

use super::super::*;
use askama::Template;

pub(super) const ORDINARY: &str = "";
pub(super) const HOSTILE: &str =
    r#"<script>alert(1)</script>"><img src=x onerror=alert(1)>" onerror=alert(1) x='{{ 1 }}"#;

/// The pages by name, rendered.
pub(super) fn pages(text: &str) -> Vec<(&'static str, String)> {
    let mut all = super::accounts::pages(text);
    all.extend(vec![
        (
            "login",
            Login { shell: outside(text, "Sign in to Docwright"), token: say(text, "one-time") }
                .render()
                .unwrap(),
        ),
        (
            "login-needed",
            LoginNeeded {
                shell: outside(text, "Sign in"),
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
                owner: true,
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

pub(super) fn say(text: &str, ordinary: &str) -> String {
    if text == ORDINARY { ordinary.to_owned() } else { text.to_owned() }
}

pub(super) fn when(text: &str, ordinary: &str) -> When {
    When { iso: say(text, "2026-03-14T09:26:53.589Z"), text: say(text, ordinary) }
}

pub(super) fn outside(text: &str, title: &str) -> Shell {
    Shell {
        title: say(text, title),
        project: None,
        current: Section::Elsewhere,
        signed_in: false,
        csrf: String::new(),
    }
}

pub(super) fn shell(text: &str, title: &str, current: Section, inside: bool) -> Shell {
    let project = inside.then(|| project(text, "Kettle docs"));
    Shell { title: say(text, title), project, current, signed_in: true, csrf: say(text, "c5rf") }
}

fn project(text: &str, name: &str) -> ProjectNav {
    ProjectNav {
        id: say(text, "kettle-docs"),
        name: say(text, name),
        repository: say(text, "kettle/docs"),
        branch: Some(say(text, "main")),
    }
}

fn notice(text: &str) -> Notice {
    let action = Some(Link { href: say(text, "/"), label: say(text, "All projects") });
    let message = say(text, "There is no such page. It may have been removed, or the address is mistyped.");
    Notice { shell: shell(text, "Not found", Section::Elsewhere, false), status: 404, message, action }
}

fn home(text: &str) -> Home {
    let latest = job_rows(text).into_iter().next();
    let projects = vec![
        ProjectRow {
            project: project(text, "Kettle docs"),
            latest,
            spark: Some(Spark::new(&[(1, 2), (7, 3)])),
        },
        ProjectRow { project: project(text, "Handbook"), latest: None, spark: None },
    ];
    Home { shell: shell(text, "Projects", Section::Projects, false), projects, owner: true }
}

fn key(text: &str, name: &str, kind: ExpiryKind, expiry: &str, used: Option<&str>) -> KeyRow {
    KeyRow {
        id: say(text, "key_1"),
        name: say(text, name),
        masked: say(text, "dw_8Kd2…"),
        scope: say(text, "write"),
        projects: say(text, "this project"),
        allow: say(text, "203.0.113.0/24"),
        expiry: Expiry { text: say(text, expiry), kind },
        last_used: used.map(|used| when(text, used)),
        created: when(text, "12 March"),
        creator: Some(say(text, "ada@acme.dev")),
    }
}

fn keys(text: &str) -> Keys {
    let curl = "curl -X POST http://127.0.0.1:4747/v2/agent/kettle-docs/job \\\n  -H 'Authorization: Bearer dw_8Kd2vN0qfQh1xYz3Wb7RcT5uJmE9aLsPgKoD4iVtXn2B' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"prompt\":\"Fix broken links\"}'";
    Keys {
        shell: shell(text, "API keys", Section::Keys, true),
        project_id: say(text, "kettle-docs"),
        keys: vec![
            key(text, "CI", ExpiryKind::Soon, "expires in 5 days", Some("2 minutes ago")),
            key(text, "Warehouse export", ExpiryKind::Never, "never expires", Some("today, 06:00")),
            key(text, "Release script", ExpiryKind::Good, "expires in 80 days", None),
            key(text, "Old laptop", ExpiryKind::Expired, "expired", Some("3 months ago")),
            key(text, "Leaked", ExpiryKind::Revoked, "revoked", Some("last year")),
        ],
        others: vec![OtherProject { id: say(text, "handbook"), name: say(text, "Handbook"), chosen: true }],
        created: Some(NewKey {
            secret: say(text, "dw_8Kd2vN0qfQh1xYz3Wb7RcT5uJmE9aLsPgKoD4iVtXn2B"),
            curl: say(text, curl),
        }),
        error: Some(say(text, "0.0.0.0/0 allows every address; leave the list empty to say that.")),
        form: KeyForm {
            name: say(text, "CI"),
            scope: "read".into(),
            expires: "30d".into(),
            only_this_project: true,
            also: Vec::new(),
            until: String::new(),
            allow: say(text, "0.0.0.0/0"),
        },
    }
}

fn keys_empty(text: &str) -> Keys {
    let shell = shell(text, "API keys", Section::Keys, true);
    Keys {
        shell,
        project_id: say(text, "kettle-docs"),
        keys: Vec::new(),
        others: Vec::new(),
        created: None,
        error: None,
        form: KeyForm::default(),
    }
}

fn job_rows(text: &str) -> Vec<JobRow> {
    let row = |state, title: &str, pull: Option<PullState>, took: Option<&str>| JobRow {
        href: say(text, "/p/kettle-docs/jobs/0199"),
        state,
        title: say(text, title),
        branch: say(text, "docwright/0199e1c2"),
        pull: pull.map(|state| PullRef { href: say(text, "/p/kettle-docs/pulls/3"), number: 3, state }),
        added: 14,
        removed: 9,
        tokens: Some(say(text, "18,204")),
        when: when(text, "2 minutes ago"),
        duration: took.map(|took| say(text, took)),
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
    let older = (!rows.is_empty()).then(|| say(text, "?offset=20"));
    let error = (text != ORDINARY).then(|| text.to_owned());
    Jobs {
        offline: Some(Offline {
            has_models: true,
            beyond: true,
            instead: Some("Fix broken links and anchors."),
        }),
        shell: shell(text, "Jobs", Section::Jobs, true),
        jobs: rows,
        states: vec![
            (None, say(text, "/p/kettle-docs/jobs")),
            (Some(JobState::Review), say(text, "/p/kettle-docs/jobs?state=review")),
        ],
        state: None,
        words: if text == ORDINARY { String::new() } else { text.to_owned() },
        newer: None,
        older,
        error,
        once: say(text, "0nce"),
        prompt: text.to_owned(),
        quotations: vec![QuotationField {
            label: say(text, "Page views"),
            text: say(text, "Path: /guides/old\nLooked for 2 times by people and once by AI"),
            value: say(text, "label=Page+views&text=x&signature=00"),
        }],
    }
}

pub(super) fn job(text: &str, state: JobState) -> Job {
    let prompt = say(text, "Fix broken links and anchors.\nThen fix common misspellings.");
    let step = |number, kind: &str, what: &str| Step {
        number,
        kind: say(text, kind),
        text: say(text, what),
        when: when(text, "0.2 s"),
    };
    let completed = state == JobState::Review;
    Job {
        once: say(text, "0nce"),
        shell: shell(text, &headline(&prompt), Section::Jobs, true),
        id: say(text, "0199e1c2-7d4b-7c11-9a2f-3b5d8e6f0a12"),
        href: say(text, "/p/kettle-docs/jobs/0199"),
        state,
        branch: say(text, "docwright/0199e1c2"),
        base: Some(say(text, "main")),
        model: say(text, "offline"),
        creator: Some(say(text, "API key CI (dw_AbCd…)")),
        when: when(text, "2 minutes ago"),
        duration: completed.then(|| say(text, "1.2 s")),
        usage: Some(say(text, "18,204 tokens, $0.07")),
        prompt,
        quotations: vec![(say(text, "Page views"), say(text, "Path: /guides/old"))],
        waiting: false,
        whole: Some(say(text, "/p/kettle-docs/jobs/0199?all=1")),
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
        ended: (!state.active()).then(|| ended(text, completed)),
        pull: completed.then(|| PullRef {
            href: say(text, "/p/kettle-docs/pulls/3"),
            number: 3,
            state: PullState::Open,
        }),
    }
}

fn ended(text: &str, completed: bool) -> Ended {
    if !completed {
        let reason =
            "The offline editor cannot follow “Rewrite the quickstart for people who are in a hurry”.";
        return Ended {
            reason: say(text, reason),
            summary: Vec::new(),
            notes: Vec::new(),
            checks: Vec::new(),
        };
    }
    Ended {
        reason: say(text, "Mended 11 links in 8 pages."),
        summary: blocks(&say(
            text,
            "Links to pages that were moved or renamed lead to where those pages are now.",
        )),
        notes: vec![
            format!("`{}`: no page is like it.", say(text, "/guides/ldap")),
            say(text, "`concepts/environments.md:40`: no heading is like `#archiving-by-schedule`."),
        ],
        checks: vec![say(text, "Links and anchors: nothing is worse than before.")],
    }
}

fn files(text: &str) -> Vec<DiffFile> {
    let old = say(
        text,
        "The server will recieve updates within a second; see [Docker](/docker) for a set-up with a volume that survives an upgrade.",
    );
    let new = say(
        text,
        "The server will receive updates within a second; see [Docker](/guides/docker) for a set-up with a volume that survives an upgrade.",
    );
    // Long enough for what is added to it to be marked.
    let kept = "word ".repeat(40);
    let path = say(text, "docs/quickstart.md");
    diff_files(&format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -8,4 +8,5 @@ ## Install\n Start the server:\n \n-{old}\n+{new}\n+{new}\n Done.\n\
         @@ -118,2 +119,2 @@\n-{old} a\n+{new} b\n \tkettle serve\n\\ No newline at end of file\n\
         @@ -150 +151 @@\n-{kept}\n+{kept}{old}\n\
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
        href: say(text, "/p/kettle-docs/pulls/3"),
        number,
        title: say(text, title),
        state,
        head: say(text, "docwright/0199e1c2"),
        base: say(text, "main"),
        when: when(text, "2 minutes ago"),
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
        cut: true,
        host: Some(say(text, "https://git.example/acme/docs")),
    }
}

fn pull(text: &str, state: PullState, can_merge: bool) -> Pull {
    let hint = "main is checked out in the repository, so it is not moved under your feet. There, run:\n```\ngit merge docwright/0199e1c2\n```";
    Pull {
        shell: shell(text, "Fix 11 links in 8 pages", Section::Pulls, true),
        number: 12,
        state,
        head: say(text, "docwright/0199e1c2"),
        base: say(text, "main"),
        seen: say(text, "c0ffee"),
        when: when(text, "2 minutes ago"),
        job: Some(Link { href: say(text, "/p/kettle-docs/jobs/0199"), label: say(text, "a job") }),
        body: blocks(&format!(
            "{}\n\n## Pages\n- `docs/quickstart.md`: 2 links\n- `docs/faq.md`: 1 link\n\n## To try it\n```\n{}\n```\n",
            say(text, "Links to pages that were moved or renamed lead to where those pages are now."),
            say(text, "kettle version"),
        )),
        commits: vec![Commit {
            id: say(text, "3f2a91c"),
            subject: say(text, "Fix 11 links in 8 pages"),
            author: say(text, "Docwright"),
            when: when(text, "2 minutes ago"),
        }],
        files: files(text),
        whole: Some(say(text, "?all=1")),
        can_merge,
        merge_hint: (!can_merge && state.open()).then(|| say(text, hint)),
        error: (text != ORDINARY).then(|| text.to_owned()),
    }
}
