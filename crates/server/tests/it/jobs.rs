//! Tests jobs of the offline editor, from the request to the pull request.

use serde_json::Value;

use crate::support::{TestServer, git};

#[tokio::test]
async fn a_job_opens_a_pull_request() {
    let server = TestServer::start().await;
    let team =
        server.team("acme", &[("install.md", "# Install\n\nRun npm here.\n"), ("other.md", "Fine.\n")]).await;
    let created = server.create_job(&team, "Replace \"npm\" with \"pnpm\".").await;
    assert_eq!(created["status"], "active");
    assert_eq!(created["prLink"], Value::Null);
    let id = created["id"].as_str().unwrap();
    assert_eq!(created["source"]["ref"], format!("docwright/{id}"));
    let mut fields: Vec<_> = created.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["archivedAt", "createdAt", "createdBy", "id", "model", "prLink", "source", "status"]);

    server.run_queued_jobs().await;
    let job = server.job(&team, &created["id"]).await;
    assert_eq!(job["status"], "completed");
    assert_eq!(job["prLink"], format!("{}/p/{}/pulls/1", server.url, team.project.id));
    let path = format!("/v2/agent/{}/job/{id}/diff", team.project.id);
    let diff = server.get(&team.key, &path).await;
    assert!(diff.header("content-type").starts_with("text/x-diff"));
    insta::assert_snapshot!(diff.body, @"
    diff --git a/install.md b/install.md
    index 9b8b099..cbb8588 100644
    --- a/install.md
    +++ b/install.md
    @@ -1,3 +1,3 @@
     # Install
     
    -Run npm here.
    +Run pnpm here.
    ");
    let pushed = git(&team.repository, &["show", &format!("docwright/{id}:install.md")]);
    assert_eq!(pushed, "# Install\n\nRun pnpm here.");
    assert!(git(&team.repository, &["log", "-1", "--format=%B", &format!("docwright/{id}")]).contains(id));
    git(&team.repository, &["fsck", "--strict"]);
}

#[tokio::test]
async fn a_job_that_changes_nothing_leaves_no_branch_and_no_pull_request() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("index.md", "Hello.\n")]).await;
    let created = server.create_job(&team, "Replace \"npm\" with \"pnpm\".").await;
    server.run_queued_jobs().await;
    let job = server.job(&team, &created["id"]).await;
    assert_eq!((&job["status"], &job["prLink"]), (&"completed".into(), &Value::Null));
    assert_eq!(git(&team.repository, &["branch", "--format=%(refname:short)"]), "main");
    let last = server.events(&team, &created["id"]).await.pop().unwrap();
    let why = "`npm` was found nowhere that could be changed";
    assert_eq!(last["message"], format!("Nothing was changed, so there is no pull request: {why}"));
}

/// Its summary lists lines for web servers. The message is one line all the same.
#[tokio::test]
async fn redirects_that_a_person_must_add_are_not_in_the_message() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("guides/install-the-agent.md", "# Install the agent\n")]).await;
    let created = server.create_job(&team, "Add redirects for `/guides/install_the_agent`.").await;
    server.run_queued_jobs().await;
    let last = server.events(&team, &created["id"]).await.pop().unwrap();
    assert!(
        last["report"]["summary"].as_str().unwrap().contains("redir /guides/install_the_agent"),
        "{last}"
    );
    let why = "the offline editor can't write the redirects of this site, so add the lines below yourself";
    assert_eq!(last["message"], format!("Nothing was changed, so there is no pull request: {why}"));
}

#[tokio::test]
async fn a_job_sees_files_that_were_added_and_removed_since_the_last_one() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "npm\n"), ("b.md", "npm\n")]).await;
    let changed = async |prompt: &str| {
        let job = server.create_job(&team, prompt).await;
        server.run_queued_jobs().await;
        let branch = format!("docwright/{}", job["id"].as_str().unwrap());
        git(&team.repository, &["diff", "--name-only", "main", &branch])
    };
    assert_eq!(changed("Replace \"npm\" with \"pnpm\".").await, "a.md\nb.md");
    let work = tempfile::tempdir().unwrap();
    git(work.path(), &["clone", "-q", team.repository.to_str().unwrap(), "."]);
    git(work.path(), &["mv", "b.md", "c.md"]);
    git(work.path(), &["commit", "-q", "-m", "Move"]);
    git(work.path(), &["push", "-q", "origin", "main"]);
    assert_eq!(changed("Replace \"npm\" with \"yarn\".").await, "a.md\nc.md");
}

#[tokio::test]
async fn a_prompt_that_is_not_understood_fails_the_job_with_a_reason() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("index.md", "npm\n")]).await;
    let created = server.create_job(&team, "Replace \"npm\" with \"pnpm\". Write a poem about tea.").await;
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &created["id"]).await["status"], "failed");
    let last = server.events(&team, &created["id"]).await.pop().unwrap();
    assert_eq!((last["type"].as_str(), last["reason"].as_str()), (Some("ended"), Some("failed")));
    let sentence = last["message"].as_str().unwrap();
    assert!(sentence.contains("Write a poem about tea"), "{sentence}");
    assert_eq!(git(&team.repository, &["branch", "--format=%(refname:short)"]), "main");
}

#[tokio::test]
async fn a_missing_repository_fails_the_job_with_a_reason() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("index.md", "npm\n")]).await;
    std::fs::remove_dir_all(&team.repository).unwrap();
    let created = server.create_job(&team, "Fix broken links").await;
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &created["id"]).await["status"], "failed");
    let last = server.events(&team, &created["id"]).await.pop().unwrap();
    assert!(last["message"].as_str().unwrap().len() > 10, "{last}");
}

#[tokio::test]
async fn a_missing_docs_folder_fails_the_job_with_a_reason() {
    let server = TestServer::start().await;
    let mut team = server.team("acme", &[("docs/index.md", "one\n"), ("other.md", "one\n")]).await;
    for (folder, status) in [("nowhere", "failed"), ("docs", "completed")] {
        team.project = server.project(&team, |new| new.docs_path = Some(folder.into())).await;
        let created = server.create_job(&team, "Replace \"one\" with \"two\".").await;
        server.run_queued_jobs().await;
        assert_eq!(server.job(&team, &created["id"]).await["status"], status);
        let last = server.events(&team, &created["id"]).await.pop().unwrap();
        let names_cause =
            last["message"].as_str().unwrap().contains("there is no such folder in the repository");
        assert_eq!(names_cause, status == "failed", "{last}");
    }
    let branch = git(&team.repository, &["for-each-ref", "--format=%(refname)", "refs/heads/docwright"]);
    assert_eq!(git(&team.repository, &["diff", "--name-only", "main", &branch]), "docs/index.md");
}

#[tokio::test]
async fn the_events_of_a_run_are_in_order() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "Teh end. We recieve it.\n")]).await;
    let created = server.create_job(&team, "Fix common misspellings").await;
    server.run_queued_jobs().await;
    let events = server.events(&team, &created["id"]).await;
    let numbered: Vec<_> = events
        .iter()
        .map(|event| (event["number"].as_u64().unwrap(), event["type"].as_str().unwrap()))
        .collect();
    let kinds = ["created", "started", "fetched", "read", "edit", "pushing", "opening", "ended"];
    assert_eq!(numbered, (1..).zip(kinds).collect::<Vec<_>>());
    let last = events.last().unwrap();
    assert_eq!(last["usage"]["inputTokens"], 0);
    assert!(last["report"]["title"].is_string() && last["checks"].is_array(), "{last}");
}

#[tokio::test]
async fn a_second_job_starts_from_the_merged_change() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one two\n")]).await;
    server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    server.run_queued_jobs().await;
    let host_branch = git(&team.repository, &["branch", "--list", "docwright/*", "--format=%(refname)"]);
    git(&team.repository, &["update-ref", "refs/heads/main", &host_branch]);
    let second = server.create_job(&team, "Replace \"two\" with \"zwei\".").await;
    server.run_queued_jobs().await;
    let branch = server.job(&team, &second["id"]).await["source"]["ref"].as_str().unwrap().to_owned();
    assert_eq!(git(&team.repository, &["show", &format!("{branch}:a.md")]), "eins zwei");
}
