//! Tests the agent loop with a scripted model: what the model gets, what it can do, and how a run ends.

use std::time::Duration;

use ::agent::model::{ModelError, Reply, SizeRefusal, StopReason, Turn, Usage};
use ::agent::{AgentError, Limits};
use serde_json::json;

use crate::script::{
    DOCS, Recorder, Script, call, calls, finish, minute, reply, run, run_with, says, text_of,
};

#[tokio::test]
async fn a_prompt_becomes_a_change() {
    let model = Script::of([
        calls(&[("plan", json!({ "steps": ["find it", "say it"] })), ("search", json!({ "text": "TAKES" }))]),
        call("read", json!({ "path": "docs/setup.md" })),
        call("edit", minute("It takes two minutes.")),
        finish("Say how long the setup takes"),
    ]);
    let ran = run(&model, Limits::default()).await;
    assert_eq!(ran.report().title, "Say how long the setup takes");
    assert_eq!(ran.report().checks, Vec::<String>::new());
    assert!(ran.diff.contains("-It takes a minute.\n+It takes two minutes.\n"), "{}", ran.diff);
    let opening = model.last_sent(1);
    assert!(opening.starts_with("<task>\nSay how long the setup takes\n</task>\n"), "{opening}");
    assert!(opening.contains("<map>\n3 files:\ndocs/ 3\nperhaps: docs/setup.md\n</map>"), "{opening}");
    assert_eq!(model.last_sent(2), "noted\n--\ndocs/setup.md:6: It takes a minute.");
    assert!(model.last_sent(3).contains("5\tRun `kettle init`.\n6\tIt takes a minute.\n"));
    assert_eq!(model.last_sent(4), "changed docs/setup.md at line 6");
    let kinds: Vec<_> = ran.recorder.steps.iter().map(|step| step.split(':').next().unwrap()).collect();
    assert_eq!(kinds, ["model", "plan", "read", "model", "read", "model", "edit", "model", "check"]);
}

/// Each limit alone ends a run that would never end.
#[tokio::test(start_paused = true)]
async fn every_limit_ends_an_endless_run() {
    async fn check(shape: fn(&mut Limits), expected: &str) {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let model = Script::always(|| {
            let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            call("write", json!({ "path": format!("docs/new{n}.md"), "text": "# More\n".repeat(50) }))
        });
        let mut limits = Limits { files: 10_000, turns: 10_000, ..Limits::default() };
        limits.bytes = usize::MAX;
        limits.output = u64::MAX;
        limits.input = u64::MAX;
        shape(&mut limits);
        let ran = run(&model, limits).await;
        let sentence = ran.sentence();
        assert!(matches!(ran.outcome, Err(AgentError::Ended(_))), "{sentence}");
        assert!(sentence.contains(expected), "{sentence}");
        assert!(ran.diff.contains("+# More"), "the diff shows the edits so far");
    }
    check(|limits| limits.turns = 5, "the limit of 5 requests to the model").await;
    check(|limits| limits.input = 500, "the limit of 500 tokens sent").await;
    check(|limits| limits.output = 50, "the limit of 50 tokens written").await;
    check(|limits| limits.files = 4, "the limit of 4 changed files").await;
    check(|limits| limits.bytes = 1_000, "the limit of 1000 bytes written").await;
    check(|limits| limits.month = Some(700), "has used its 700 tokens for this month").await;
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_ends_a_silent_model() {
    let model = Script::of([call("edit", minute("It takes two minutes."))]);
    let ran = run(&model, Limits { time: Duration::from_secs(600), ..Limits::default() }).await;
    assert!(ran.sentence().contains("the limit of 10 minutes"), "{}", ran.sentence());
    assert!(ran.diff.contains("+It takes two minutes."));
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_a_turn_to_call_the_model_is_not_part_of_the_time_limit() {
    let limits = Limits { time: Duration::from_secs(600), ..Limits::default() };
    let recorder = || Recorder { call_wait: Duration::from_secs(3600), ..Recorder::default() };
    let model = Script::of([call("edit", minute("It takes two minutes.")), finish("Say two minutes")]);
    let ran = run_with(&model, limits, &DOCS, recorder(), |_| {}).await;
    assert!(ran.outcome.is_ok(), "{}", ran.sentence());

    // The time of the call itself counts.
    let (silent, began) = (Script::of([]), tokio::time::Instant::now());
    let ran = run_with(&silent, limits, &DOCS, recorder(), |_| {}).await;
    assert!(ran.sentence().contains("the limit of 10 minutes"), "{}", ran.sentence());
    assert_eq!(began.elapsed().as_secs(), 3600 + 600 + 3600);
}

#[tokio::test(start_paused = true)]
async fn temporary_errors_are_retried_with_backoff() {
    let again = |after: Option<u64>| {
        Err(ModelError::Temporary {
            sentence: "the provider is busy".into(),
            retry_after: after.map(Duration::from_secs),
        })
    };
    let model = Script::of([again(Some(20)), again(None), finish("Leave it")]);
    let began = tokio::time::Instant::now();
    let ran = run(&model, Limits::default()).await;
    assert!(ran.outcome.is_ok());
    assert_eq!(began.elapsed().as_secs(), 20 + 2);
    assert!(ran.recorder.steps[0].contains("Trying again: the provider is busy"));

    let down = Script::always(|| {
        Err(ModelError::Temporary { sentence: "nobody answers at 127.0.0.1".into(), retry_after: None })
    });
    let ran = run(&down, Limits::default()).await;
    assert_eq!(ran.sentence(), "nobody answers at 127.0.0.1; all 6 tries failed");
    assert_eq!(down.request_count(), 6);

    let wrong = Script::of([Err(ModelError::Permanent("the API key is not known".into()))]);
    assert_eq!(run(&wrong, Limits::default()).await.sentence(), "the API key is not known");
    assert_eq!(wrong.request_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_long_delay_ends_the_attempt() {
    async fn check(retry_after: Option<u64>, requests: usize) {
        let retry_after = retry_after.map(Duration::from_secs);
        let again = || Err(ModelError::Temporary { sentence: "the provider is busy".into(), retry_after });
        let busy = Script::of((0..10).map(|_| again()));
        let recorder = Recorder { max_wait: Some(Duration::from_secs(5)), ..Recorder::default() };
        let ran = run_with(&busy, Limits::default(), &DOCS, recorder, |_| {}).await;
        let Err(AgentError::Temporary { sentence, retry_after: delay }) = ran.outcome else {
            panic!("{:?}", ran.outcome)
        };
        assert_eq!((sentence.as_str(), delay), ("the provider is busy", retry_after));
        assert_eq!(busy.request_count(), requests);
        assert_eq!(ran.recorder.messages.len(), 1, "the first message is stored");
    }
    check(Some(6), 1).await;
    // After delays of one, two and four seconds, the next would be eight.
    check(None, 4).await;
}

#[tokio::test]
async fn a_conversation_that_grows_too_long_drops_old_results() {
    let long = "word ".repeat(20_000);
    let files = [("docs/a.md", long.as_str()), ("docs/b.md", long.as_str())];
    let read = |path: &str| call("read", json!({ "path": path }));
    let lines: Vec<_> = (0..12).map(|n| read(if n % 2 == 0 { "docs/a.md" } else { "docs/b.md" })).collect();
    let edits =
        (0..12).map(|n| call("write", json!({ "path": format!("docs/{n}.md"), "text": "# Small\n" })));
    let mixed = lines.into_iter().zip(edits).flat_map(|(read, edit)| [read, edit]);
    let model = Script::of(mixed.chain([finish("Done")]));
    let limits = Limits { context: 12_000, ..Limits::default() };
    let ran = run_with(&model, limits, &files, Recorder::default(), |_| {}).await;
    assert!(ran.outcome.is_ok());
    let last = model.sent.lock().unwrap().last().unwrap().clone();
    let size: usize = last.iter().map(|message| text_of(message).len()).sum();
    assert!(size < 14_000, "{size}");
    assert!(text_of(&last[0]).contains("<task>"), "the task stays");
    assert!(last.iter().any(|message| text_of(message).contains("dropped to save space")));

    let model = Script::always(|| {
        let refusal = SizeRefusal::default();
        Err(ModelError::TooLarge { sentence: "too much for the model".into(), refusal })
    });
    assert_eq!(run(&model, Limits::default()).await.sentence(), "too much for the model");
    assert_eq!(model.request_count(), 4, "each with half of the output of the one before");
}

#[tokio::test]
async fn problems_are_shown_to_the_model_and_then_to_people() {
    let break_link =
        || call("edit", json!({ "path": "docs/index.md", "old": "setup.md", "new": "start.md" }));
    let model = Script::of([break_link(), finish("A"), finish("B"), finish("C")]);
    let ran = run(&model, Limits::default()).await;
    assert_eq!(ran.report().title, "C");
    assert_eq!(ran.report().checks.len(), 1, "{:?}", ran.report().checks);
    let shown = model.last_sent(3);
    assert!(shown.starts_with("FAILED Not yet: your change causes these problems"), "{shown}");
    assert!(shown.contains("docs/index.md:3:") && shown.contains("start.md"), "{shown}");

    let mended = call("edit", json!({ "path": "docs/index.md", "old": "start.md", "new": "setup.md" }));
    let model = Script::of([break_link(), finish("A"), mended, finish("B")]);
    let ran = run(&model, Limits::default()).await;
    assert_eq!((ran.report().title.as_str(), ran.report().checks.len(), ran.diff.as_str()), ("B", 0, ""));
}

/// The model gets refusals as often as problems.
#[tokio::test]
async fn refusals_are_shown_to_the_model() {
    let ci = || call("write", json!({ "path": ".github/workflows/ci.yml", "text": "on: push\n" }));
    let undo = call("delete", json!({ "path": ".github/workflows/ci.yml" }));
    let model = Script::of([ci(), finish("A"), undo, finish("B")]);
    let ran = run(&model, Limits::default()).await;
    let sent = model.last_sent(3);
    assert!(
        sent.starts_with(
            "FAILED Not allowed: undo this and finish again.\nThe guard refused the change at `.github/"
        ),
        "{sent}"
    );
    assert_eq!(ran.diff, "");
    let sentence = ran.sentence();
    assert!(
        sentence
            .starts_with("nothing was changed, because the model's change is not allowed: The guard refused"),
        "{sentence}"
    );

    let model = Script::of([ci(), finish("A"), finish("B"), finish("C")]);
    let ran = run(&model, Limits::default()).await;
    assert_eq!((ran.report().title.as_str(), ran.fatal_rules()), ("C", vec!["path".to_owned()]));
}

#[tokio::test]
async fn a_follow_up_is_read_before_the_next_request() {
    let model = Script::of([call("edit", minute("It takes two minutes.")), finish("Say two")]);
    let recorder = Recorder { follow_ups: vec![(3, "Say three minutes")], ..Recorder::default() };
    let ran = run_with(&model, Limits::default(), &DOCS, recorder, |_| {}).await;
    assert!(ran.outcome.is_ok());
    assert_eq!(model.last_sent(2), "<task>\nSay three minutes\n</task>\n");
}

/// Interrupted after any message, the next attempt repeats no request, and makes the same edits.
#[tokio::test]
async fn a_model_that_calls_no_tools_is_reminded_twice() {
    let model = Script::of([
        call("read", json!({ "path": "docs/setup.md" })),
        says("I would say two minutes."),
        says("It should say two minutes."),
        says("Two minutes, I said."),
    ]);
    let ran = run(&model, Limits::default()).await;
    assert_eq!(
        model.last_sent(3),
        "Use the tools. When everything is done, call finish. A call looks like this: {\"name\": \"edit\", \"arguments\": \
         {\"path\": string, \"old\": string, \"new\": string, \"all\": boolean (optional)}}"
    );
    assert_eq!(ran.report().summary, "Two minutes, I said.");
    assert_eq!((ran.report().title.as_str(), ran.diff.as_str()), ("Say how long the setup takes", ""));
}

#[tokio::test]
async fn a_model_that_never_calls_tools_ends_the_run() {
    let model = Script::always(|| says("I would say two minutes."));
    assert_eq!(
        run(&model, Limits::default()).await.sentence(),
        "the model answers with text and does not use its tools, 3 times in a row: try another model"
    );
    assert_eq!(model.request_count(), 3);
}

#[tokio::test]
async fn a_run_whose_edits_all_failed_is_no_success() {
    let failed = || call("write", json!({ "path": "../etc/passwd", "text": "x" }));
    let ran = run(&Script::of([failed(), finish("Done")]), Limits::default()).await;
    assert!(ran.sentence().starts_with("nothing was changed, because"), "{}", ran.sentence());
    assert!(
        ran.recorder.steps.iter().any(|step| step.starts_with("note: write failed: ")),
        "{:?}",
        ran.recorder.steps
    );
    // A later edit that succeeds counts.
    let ran =
        run(&Script::of([failed(), call("edit", minute("two")), finish("Done")]), Limits::default()).await;
    assert!(ran.outcome.is_ok() && !ran.diff.is_empty());
    // An edit that is already applied is no failure.
    let same = json!({ "path": "docs/setup.md", "old": "It  takes a minute.", "new": "It takes a minute." });
    let ran = run(&Script::of([call("edit", same), finish("Done")]), Limits::default()).await;
    assert!(ran.outcome.is_ok() && ran.diff.is_empty(), "{:?}", ran.outcome);
}

#[tokio::test]
async fn a_cut_off_or_refused_answer() {
    let cut = reply(Turn { text: "It ta".into(), ..Turn::default() }, StopReason::TooLong);
    let model = Script::of([cut, finish("Done")]);
    assert!(run(&model, Limits::default()).await.outcome.is_ok());
    assert_eq!(
        model.last_sent(2),
        "Your answer was cut off, because it was too long. Continue in smaller steps."
    );
    let model = Script::of([reply(Turn::default(), StopReason::Refused)]);
    assert!(run(&model, Limits::default()).await.sentence().contains("the model refuses this task"));
}

/// A provider that reports more tokens than possible would use up the project's month.
#[tokio::test]
async fn impossible_token_counts_are_capped() {
    let usage = Usage { input: u64::MAX, output: u64::MAX, cached: u64::MAX };
    let turn = Turn { text: "Let me see.".into(), ..Turn::default() };
    let model = Script::of([Ok(Reply { turn, usage, stop: StopReason::Done }), finish("Done")]);
    let ran = run(&model, Limits { month: Some(1_000_000), ..Limits::default() }).await;
    assert!(ran.outcome.is_ok(), "{}", ran.sentence());
    assert!(ran.recorder.month < 100_000, "{}", ran.recorder.month);
}

#[tokio::test]
async fn an_exhausted_month_says_what_to_do() {
    let recorder = Recorder { month: 1_000, ..Recorder::default() };
    let limits = Limits { month: Some(1_000), ..Limits::default() };
    let ran = run_with(&Script::of([]), limits, &DOCS, recorder, |_| {}).await;
    assert!(
        ran.sentence().contains("raise tokens_a_month, or wait for the next month"),
        "{}",
        ran.sentence()
    );
}

#[tokio::test]
async fn a_title_fits_a_line() {
    let ran =
        run(&Script::of([finish(&format!("\n {}\nmore", "very ".repeat(30)))]), Limits::default()).await;
    assert_eq!(ran.report().title.chars().count(), 72);
    assert!(ran.report().title.ends_with('…'));
}

// Attacks of docs/security.md on the loop, by name.
