//! Runs jobs with a model, from the request to the pull request on the embedded host.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use server::model::Provider;

use crate::provider::{FakeProvider, KEY, Turn, calls, finish};
use crate::support::{Team, TestServer};

pub(crate) const DOCS: [(&str, &str); 3] = [
    ("index.md", "# Kettle\n\nSee the [setup](setup.md).\n"),
    ("setup.md", "# Setup\n\nRun `kettle init`.\nIt takes a minute.\n"),
    ("AGENTS.md", "Write British English.\n"),
];

pub(crate) async fn server(provider: &FakeProvider, format: Provider) -> (TestServer, Team) {
    server_with(provider, format, |_| {}).await
}

pub(crate) async fn server_with(
    provider: &FakeProvider,
    format: Provider,
    shape: impl FnOnce(&mut server::Settings),
) -> (TestServer, Team) {
    let models = BTreeMap::from([("fast".to_owned(), provider.settings(format))]);
    let server = TestServer::start_with(|settings| {
        settings.models = models;
        shape(settings);
    })
    .await;
    let team = server.team("acme", &DOCS).await;
    (server, team)
}

pub(crate) async fn create(server: &TestServer, team: &Team, prompt: &str) -> Value {
    let path = format!("/v2/agent/{}/job", team.project.id);
    let answer = server.post(&team.key, &path, &json!({ "prompt": prompt, "model": "fast" })).await;
    assert_eq!(answer.status, 201, "{answer}");
    answer.json()
}

/// Runs the queued jobs, and returns the job.
pub(crate) async fn run(server: &TestServer, team: &Team, job: &Value) -> Value {
    server.run_queued_jobs().await;
    server.job(team, &job["id"]).await
}

pub(crate) async fn ended(server: &TestServer, team: &Team, job: &Value) -> Value {
    server.events(team, &job["id"]).await.pop().unwrap()
}

pub(crate) async fn diff(server: &TestServer, team: &Team, job: &Value) -> String {
    let path = format!("/v2/agent/{}/job/{}/diff", team.project.id, job["id"].as_str().unwrap());
    server.get(&team.key, &path).await.body
}

pub(crate) fn edit(old: &str, new: &str) -> Turn {
    calls("edit", json!({ "path": "setup.md", "old": old, "new": new }))
}

#[tokio::test]
async fn a_job_and_its_follow_up_work_with_every_wire_format() {
    for format in Provider::ALL {
        let provider = FakeProvider::start([
            Turn::Calls(vec![
                ("search", json!({ "text": "takes" })),
                ("read", json!({ "path": "setup.md" })),
            ]),
            edit("It takes a minute.", "It takes two minutes."),
            finish("Say how long the setup takes"),
        ])
        .await;
        let (server, team) = server(&provider, format).await;
        let job = create(&server, &team, "Say how long the setup takes").await;
        let done = run(&server, &team, &job).await;
        let end = ended(&server, &team, &job).await;
        assert_eq!((&done["status"], &done["model"]), (&json!("completed"), &json!("fast")), "{end}");
        assert!(done["prLink"].as_str().unwrap().ends_with("/pulls/1"));
        assert_eq!(end["usage"], json!({ "inputTokens": 300, "outputTokens": 30, "cachedTokens": 0 }));
        assert!(diff(&server, &team, &job).await.contains("+It takes two minutes."));
        let pull = server.app.pulls.pull(&team.project.id, 1).await.unwrap().unwrap();
        assert!(pull.body.contains("## Files\n\n- `setup.md`\n"), "{}", pull.body);
        assert!(
            pull.body
                .contains("\n> Say how long the setup takes\n\nThe model read 300 tokens and wrote 30.\n")
        );
        assert!(provider.sent()[0].contains("Write British English."), "the repository's instructions");

        provider.say(edit("two minutes", "three minutes"));
        provider.say(finish("Say three minutes"));
        server.ask(&team, &job, "message", &json!({ "prompt": "It is three" })).await;
        let again = run(&server, &team, &job).await;
        assert_eq!((&again["status"], &again["prLink"]), (&json!("completed"), &done["prLink"]));
        assert!(diff(&server, &team, &job).await.contains("+It takes three minutes."));
        let last = provider.sent().pop().unwrap();
        assert!(
            last.contains("It is three") && last.contains("how long the setup takes"),
            "one conversation"
        );
    }
}

#[tokio::test]
async fn a_job_without_changes_opens_no_pull_request() {
    let provider = FakeProvider::start([finish("Leave it as it is")]).await;
    let (server, team) = server(&provider, Provider::Anthropic).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    let done = run(&server, &team, &job).await;
    assert_eq!((&done["status"], &done["prLink"]), (&json!("completed"), &Value::Null));
}

#[tokio::test]
async fn a_limit_fails_the_job_and_keeps_the_diff() {
    let provider =
        FakeProvider::start([edit("a minute", "two minutes"), edit("two minutes", "three minutes")]).await;
    let (server, team) = server_with(&provider, Provider::OpenAi, |settings| settings.agent.turns = 2).await;
    let job = create(&server, &team, "Go on for ever").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    let end = ended(&server, &team, &job).await;
    assert!(end["message"].as_str().unwrap().contains("the limit of 2 requests to the model"), "{end}");
    assert_eq!(end["usage"]["inputTokens"], 200);
    assert!(diff(&server, &team, &job).await.contains("+It takes three minutes."));
    assert!(server.app.pulls.pulls(&team.project.id, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_error_of_the_model_fails_the_job_with_a_sentence() {
    async fn check(turn: Turn, expected: &str) {
        let provider = FakeProvider::start([turn]).await;
        let (server, team) = server(&provider, Provider::OpenAi).await;
        let job = create(&server, &team, "Say how long the setup takes").await;
        assert_eq!(run(&server, &team, &job).await["status"], "failed");
        let end = ended(&server, &team, &job).await;
        let sentence = end["message"].as_str().unwrap();
        assert!(sentence.contains(expected), "{sentence}");
        assert!(!sentence.contains(KEY), "{sentence}");
    }
    check(Turn::Status(401, r#"{"error":{"message":"Incorrect API key provided"}}"#), "key").await;
    check(
        Turn::Status(404, r#"{"error":{"message":"The model does not exist","code":"model_not_found"}}"#),
        "test-model",
    )
    .await;
    check(Turn::Status(200, "<html>Welcome</html>"), "is not an API").await;
}

/// A job whose worker is stopped while the model doesn't answer the second request.
async fn interrupted_job() -> (FakeProvider, TestServer, Team, Value) {
    let provider = FakeProvider::start([edit("a minute", "two minutes"), Turn::Silence]).await;
    let (server, team) = server(&provider, Provider::Anthropic).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    let worker = server::Worker::new(server.app.clone(), 1);
    let stop = tokio_util::sync::CancellationToken::new();
    let working = {
        let stop = stop.clone();
        tokio::spawn(async move { worker.work(stop).await })
    };
    while provider.sent().len() < 2 {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    working.await.unwrap();
    (provider, server, team, job)
}

/// After an interruption, the next attempt doesn't request responses that are already stored.
#[tokio::test]
async fn a_restarted_job_does_not_pay_twice() {
    let (provider, server, team, job) = interrupted_job().await;
    provider.say(finish("Say two minutes"));
    let done = run(&server, &team, &job).await;
    assert_eq!(done["status"], "completed", "{}", ended(&server, &team, &job).await);
    assert!(diff(&server, &team, &job).await.contains("+It takes two minutes."));
    assert_eq!(provider.sent().len(), 3);
    assert_eq!(provider.sent()[1], provider.sent()[2], "the same request again");
    let usage = ended(&server, &team, &job).await["usage"].clone();
    assert_eq!(usage["inputTokens"], 200, "includes the response to the first attempt");
}

/// One worker is enough for two projects, however long the model of one asks to wait.
#[tokio::test]
async fn a_job_that_waits_for_its_model_occupies_no_worker() {
    let provider = FakeProvider::start([edit("a minute", "two minutes"), Turn::Busy(60)]).await;
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let other = server.team("globex", &DOCS).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    let quick = server.create_job(&other, "Replace \"a minute\" with \"an hour\".").await;
    server.run_queued_jobs().await;
    assert_eq!(server.job(&other, &quick["id"]).await["status"], "completed");
    assert_eq!(server.job(&team, &job["id"]).await["status"], "active");
    let waits = ended(&server, &team, &job).await;
    let sentence = waits["message"].as_str().unwrap();
    assert!(sentence.starts_with("waiting for the model: 127.0.0.1:"), "{sentence}");
    assert!(sentence.ends_with("accepts no more requests for now; trying again in 60 s"), "{sentence}");
    let until = (&waits["type"], &waits["seconds"], &waits["until"]);
    assert_eq!(until, (&json!("waiting"), &json!(60), &json!("2026-11-15T12:01:00.000Z")));

    provider.say(finish("Say two minutes"));
    server.clock.advance(jiff::SignedDuration::from_secs(59));
    assert_eq!(run(&server, &team, &job).await["status"], "active");
    assert_eq!(provider.sent().len(), 2);
    server.clock.advance(jiff::SignedDuration::from_secs(1));
    assert_eq!(run(&server, &team, &job).await["status"], "completed");
    assert_eq!(provider.sent().len(), 3, "one more request, and nothing is paid twice");
    assert_eq!(ended(&server, &team, &job).await["usage"]["inputTokens"], 200);
    assert!(diff(&server, &team, &job).await.contains("+It takes two minutes."));
}

/// A follow-up between two attempts at a run is sent to the model, although the resumed conversation began
/// without it.
#[tokio::test]
async fn a_restarted_job_sends_a_follow_up_that_arrived_meanwhile() {
    let (provider, server, team, job) = interrupted_job().await;
    server.ask(&team, &job, "message", &json!({ "prompt": "It is three" })).await;
    provider.say(edit("two minutes", "three minutes"));
    provider.say(finish("Say three minutes"));
    let done = run(&server, &team, &job).await;
    assert_eq!(done["status"], "completed", "{}", ended(&server, &team, &job).await);
    assert_eq!(provider.sent().pop().unwrap().matches("It is three").count(), 1);
    assert!(diff(&server, &team, &job).await.contains("+It takes three minutes."));
}

/// The model gets the refusal, without the secret, and can undo its edit.
#[tokio::test]
async fn a_refusal_is_sent_to_the_model() {
    let leak = format!("It takes a minute. Key: {KEY}");
    let provider = FakeProvider::start([
        edit("It takes a minute.", &leak),
        finish("Say more"),
        edit(&leak, "It takes two minutes."),
        finish("Say how long the setup takes"),
    ])
    .await;
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "completed");
    let request: Value = serde_json::from_str(&provider.sent()[2]).unwrap();
    let refusal = request["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(
        refusal.contains(
            "Not allowed: undo this and finish again.\\nThe guard refused the change at `setup.md`, line 4"
        ),
        "{refusal}"
    );
    assert!(!refusal.contains(&KEY[..12]), "{refusal}");
    assert_eq!(diff(&server, &team, &job).await.matches("+It takes two minutes.").count(), 1);
    let steps = server.events(&team, &job["id"]).await;
    let is_refusal =
        |event: &&Value| event["message"].as_str().unwrap().starts_with("Not allowed: The guard");
    assert_eq!(steps.iter().filter(is_refusal).count(), 1);
}

/// Only the beginning of a long `AGENTS.md` is used, and an event says so.
#[tokio::test]
async fn long_instructions_are_cut_at_a_line() {
    let provider = FakeProvider::start([finish("Leave it")]).await;
    let (server, _) = server(&provider, Provider::OpenAi).await;
    let long = format!("Write British English.\n{}", "Be brief, and be kind. ü\n".repeat(1_000));
    let team = server.team("wordy", &[("AGENTS.md", &long), ("index.md", "# Kettle\n")]).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "completed");
    let sent = provider.sent().remove(0);
    assert!(sent.contains("Write British English.\\nBe brief, and be kind. ü\\n"), "{sent}");
    let end = "be kind. ü\\n</instructions>\\n(This is the beginning of \\\"AGENTS.md\\\". The rest is too long to show.)";
    assert!(sent.contains(end), "{sent}");
    assert!((15_000..20_000).contains(&sent.find("</instructions>").unwrap()));
    let events = server.events(&team, &job["id"]).await;
    let message = "Read only the first 16 KiB of AGENTS.md";
    assert_eq!(events.iter().filter(|event| event["message"] == message).count(), 1, "{events:?}");
}

// Attacks of the list in docs/security.md that the guard's last check stops.

#[tokio::test]
async fn exfil_key() {
    let leak = format!("It takes a minute. Key: {KEY}");
    let provider = FakeProvider::start([edit("It takes a minute.", &leak)]).await;
    (0..3).for_each(|_| provider.say(finish("Say more")));
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    let end = ended(&server, &team, &job).await;
    assert!(end["message"].as_str().unwrap().contains("the change was not published"), "{end}");
    assert!(!end.to_string().contains(KEY));
    assert_eq!(diff(&server, &team, &job).await, "", "the job's diff doesn't contain the key either");
    assert!(server.app.pulls.pulls(&team.project.id, 10).await.unwrap().is_empty());
}

/// The guard also judges the edits of an aborted run.
#[tokio::test]
async fn exfil_key_by_a_run_that_is_ended() {
    let leak = format!("It takes a minute. Key: {KEY}");
    let provider = FakeProvider::start([edit("It takes a minute.", &leak)]).await;
    let (server, team) = server_with(&provider, Provider::OpenAi, |settings| settings.agent.turns = 1).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    assert!(
        ended(&server, &team, &job).await["message"]
            .as_str()
            .unwrap()
            .contains("the limit of 1 request to the model")
    );
    assert_eq!(diff(&server, &team, &job).await, "");
}

/// A response that can't be stored ends the job. Otherwise it would be requested and paid for forever.
#[tokio::test]
async fn a_response_that_cannot_be_stored_fails_the_job() {
    // The answer is within the limit of a response, but with what is stored around it, it's too long.
    let long = "x".repeat((4 << 20) - 40);
    let provider = FakeProvider::start([calls("read", json!({ "path": long }))]).await;
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    let end = ended(&server, &team, &job).await;
    assert!(end["message"].as_str().unwrap().contains("the model's response cannot be stored"), "{end}");
}

#[tokio::test]
async fn workflow_edit() {
    let write = calls("write", json!({ "path": ".github/workflows/ci.yml", "text": "on: push\n" }));
    let provider = FakeProvider::start([write]).await;
    (0..3).for_each(|_| provider.say(finish("Add a workflow")));
    let (server, team) = server(&provider, Provider::Gemini).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    assert!(server.app.pulls.pulls(&team.project.id, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn pr_mention() {
    let title = "Fixes #1 @everyone";
    let provider = FakeProvider::start([edit("a minute", "two minutes"), finish(title)]).await;
    let (server, team) = server(&provider, Provider::OpenAiResponses).await;
    let job = create(&server, &team, "Say how long, cc @boss, closes #2").await;
    assert_eq!(run(&server, &team, &job).await["status"], "completed");
    let pulls = server.app.pulls.pulls(&team.project.id, 10).await.unwrap();
    let text = format!("{}\n{}", pulls[0].title, pulls[0].body);
    for live in ["@everyone", "@boss", "Fixes #1", "closes #2"] {
        assert!(!text.contains(live), "{text}");
    }
}
