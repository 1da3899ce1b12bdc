//! Tests of runs that continue a stored conversation: after a restart, and for a follow-up.

use ::agent::model::ModelError;
use ::agent::{AgentError, Limits, PastMessage, Prompt};
use serde_json::json;

use crate::script::{DOCS, Recorder, Script, call, finish, minute, run, run_with, text_of};

#[tokio::test]
async fn a_restarted_run_does_not_pay_twice() {
    let script = || {
        vec![
            call("read", json!({ "path": "docs/setup.md" })),
            call("edit", minute("It takes two minutes.")),
            call("edit", minute("never there")),
            finish("Say two"),
        ]
    };
    let whole = run(&Script::of(script()), Limits::default()).await;
    for dies_after in 1..whole.recorder.messages.len() {
        let first = Script::of(script());
        let recorder = Recorder { dies_after: Some(dies_after), ..Recorder::default() };
        let cut = run_with(&first, Limits::default(), &DOCS, recorder, |_| {}).await;
        assert!(matches!(cut.outcome, Err(AgentError::Cancelled)), "{dies_after}");
        let rest = Script::of(script().into_iter().skip(first.request_count()));
        let recorder = Recorder { messages: cut.recorder.messages, ..Recorder::default() };
        let second = run_with(&rest, Limits::default(), &DOCS, recorder, |_| {}).await;
        assert_eq!(second.report(), whole.report(), "{dies_after}");
        assert_eq!(second.diff, whole.diff, "{dies_after}");
        assert_eq!(first.request_count() + rest.request_count(), 4, "{dies_after}");
        let texts = |recorder: &Recorder| {
            recorder.messages.iter().map(|past| text_of(&past.message)).collect::<Vec<_>>()
        };
        assert_eq!(texts(&second.recorder), texts(&whole.recorder), "{dies_after}");
    }
}

/// Limits that the next attempt knows don't change what the earlier one did.
#[tokio::test]
async fn a_replay_repeats_what_succeeded_and_skips_what_failed() {
    let long = "A line of a page.\n".repeat(3_000);
    let files = [("docs/a.md", long.as_str()), ("docs/b.md", "# B\n")];
    let write = |path: &str| call("write", json!({ "path": path, "text": "# New\n" }));
    let script = [
        write("docs/a.md"),
        call("read", json!({ "path": "docs/b.md" })),
        write("docs/b.md"),
        call("read", json!({ "path": "docs/b.md" })),
    ];
    let recorder = Recorder { dies_after: Some(9), ..Recorder::default() };
    let cut = run_with(&Script::of(script), Limits::default(), &files, recorder, |_| {}).await;
    assert!(matches!(cut.outcome, Err(AgentError::Cancelled)));
    let recorder = Recorder { messages: cut.recorder.messages, ..Recorder::default() };
    // With this context, a read shows too little to allow a rewrite.
    let limits = Limits { context: 2_000, ..Limits::default() };
    let second = run_with(&Script::of([finish("Done")]), limits, &files, recorder, |_| {}).await;
    assert!(second.outcome.is_ok(), "{}", second.sentence());
    assert_eq!(second.edits.0.keys().collect::<Vec<_>>(), ["docs/b.md"]);
}

/// Each of these answers is paid for, in whichever attempt.
#[tokio::test]
async fn answers_that_take_too_long_count_after_a_restart() {
    let slow = || Err(ModelError::Unfinished("it did not finish its answer within 10 minutes".into()));
    let mut messages = Vec::new();
    for attempt in 1..=2 {
        let recorder = Recorder { dies_after: Some(attempt + 1), messages, ..Recorder::default() };
        let cut = run_with(&Script::of([slow()]), Limits::default(), &DOCS, recorder, |_| {}).await;
        assert!(matches!(cut.outcome, Err(AgentError::Cancelled)), "{attempt}");
        messages = cut.recorder.messages;
    }
    let recorder = Recorder { messages, ..Recorder::default() };
    let ended = run_with(&Script::of([slow()]), Limits::default(), &DOCS, recorder, |_| {}).await;
    assert!(ended.sentence().contains("raise call_seconds"), "{}", ended.sentence());
}

/// A provider refuses a conversation with calls that have no results.
#[tokio::test]
async fn calls_of_a_run_that_ended_get_results() {
    let write = call("write", json!({ "path": "docs/new.md", "text": "x".repeat(100) }));
    let limits = Limits { bytes: 10, ..Limits::default() };
    let ended = run_with(&Script::of([write]), limits, &DOCS, Recorder::default(), |_| {}).await;
    assert!(ended.sentence().contains("the limit of 10 bytes written"));
    let before: Vec<_> =
        ended.recorder.messages.into_iter().map(|past| PastMessage { this_run: false, ..past }).collect();
    let model = Script::of([finish("Leave it")]);
    let ran = run_with(&model, Limits::default(), &DOCS, Recorder::default(), |task| {
        task.conversation = Box::leak(before.into_boxed_slice());
    })
    .await;
    assert!(ran.outcome.is_ok());
    let sent = model.sent.lock().unwrap();
    assert_eq!(text_of(&sent[0][sent[0].len() - 2]), "FAILED not run, because the run ended");
}

#[tokio::test]
async fn a_follow_up_continues_the_conversation() {
    let first = run(
        &Script::of([call("edit", minute("It takes two minutes.")), finish("Say two")]),
        Limits::default(),
    )
    .await;
    let before: Vec<_> =
        first.recorder.messages.into_iter().map(|past| PastMessage { this_run: false, ..past }).collect();
    let model = Script::of([finish("Leave it")]);
    let ran = run_with(&model, Limits::default(), &DOCS, Recorder::default(), |task| {
        task.prompt = Prompt::instruction("Is that so?");
        task.conversation = Box::leak(before.clone().into_boxed_slice());
    })
    .await;
    assert!(ran.outcome.is_ok());
    assert_eq!(ran.diff, "", "the edits of an earlier run are on the branch already");
    let sent = model.sent.lock().unwrap();
    assert_eq!(sent[0].len(), before.len() + 1);
    assert_eq!(text_of(sent[0].last().unwrap()), "<task>\nIs that so?\n</task>\n");
}
