//! Tests errors of providers: one sentence each, of the right kind, without the API key.

use std::time::Duration;

use agent::model::{Message, ModelError, ModelRequest, Provider, Settings};
use serde_json::json;
use tokio::time::Instant;

use super::fake::{Answer, Fake};
use super::{KEY, ask, conversation, events, open, settings, try_once};

/// The kind of the error and its sentence, without the port: `P`ermanent, `T`emporary with its delay, too `L`ong, or
/// `M`achine.
async fn error_for(answer: Answer, provider: Provider) -> String {
    let fake = Fake::answering([answer]).await;
    let error = try_once(&fake, provider).await.unwrap_err();
    let sentence = error.to_string().replace(fake.url.trim_start_matches("http://"), "HOST");
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    assert!(!sentence.contains(char::is_control) && sentence.chars().count() < 450, "{sentence}");
    match error {
        ModelError::Permanent(_) => format!("P {sentence}"),
        ModelError::Temporary { retry_after, .. } => {
            format!("T{:?} {sentence}", retry_after.map(|delay| delay.as_secs()))
        }
        ModelError::TooLarge { .. } => format!("L {sentence}"),
        ModelError::Unfinished(_) => format!("U {sentence}"),
        ModelError::Machine(_) => format!("M {sentence}"),
    }
}

fn anthropic_error(kind: &str, message: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string()
}

fn openai_error(code: &str, message: &str) -> String {
    json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } })
        .to_string()
}

#[tokio::test]
async fn error_responses() {
    use Provider::{Anthropic, Compatible, Gemini, OpenAi};
    let gemini = |code: u16, status: &str, message: &str| {
        json!({ "error": { "code": code, "message": message, "status": status, "details": [
            { "@type": "RetryInfo", "retryDelay": "34.5s" },
        ] } })
        .to_string()
    };
    let bad_key = "P HOST rejects the API key: check the key that api_key_env or api_key_file names, or store another one with `docwright model key`";
    let no_model = "P HOST has no model `test-model`: check `model` in the settings";
    let no_money = "P the account at HOST has no credit or quota left";
    let too_long = "L the conversation is too long for the model `test-model`";
    let table = [
        (Anthropic, 401, anthropic_error("authentication_error", &format!("invalid x-api-key {KEY}")), bad_key.into()),
        (OpenAi, 401, openai_error("invalid_api_key", "Incorrect API key provided: sk-te***789"), bad_key.into()),
        (Gemini, 400, gemini(400, "INVALID_ARGUMENT", "API key not valid."), bad_key.into()),
        (Compatible, 401, "Unauthorized".into(), bad_key.into()),
        (
            Anthropic,
            403,
            anthropic_error("permission_error", &format!("the key {KEY} may not")),
            "P the API key can't use the model `test-model` at HOST: the key [key] may not".into(),
        ),
        (Anthropic, 404, anthropic_error("not_found_error", "model: test-model"), format!("{no_model}: model: test-model")),
        (OpenAi, 404, openai_error("model_not_found", "It is not there"), format!("{no_model}: It is not there")),
        (OpenAi, 400, openai_error("", "invalid model ID"), format!("{no_model}: invalid model ID")),
        (Compatible, 404, r#"{"error":"model 'x' not found"}"#.into(), format!("{no_model}: model 'x' not found")),
        (Gemini, 404, gemini(404, "NOT_FOUND", "models/x is not found"), format!("{no_model}: models/x is not found")),
        (OpenAi, 429, openai_error("insufficient_quota", "Pay."), format!("{no_money}: Pay.")),
        (Anthropic, 400, anthropic_error("invalid_request_error", "Your credit balance is too low"),
            format!("{no_money}: Your credit balance is too low")),
        (Compatible, 402, r#"{"message":"Insufficient Balance"}"#.into(), format!("{no_money}: Insufficient Balance")),
        (Anthropic, 400, anthropic_error("invalid_request_error", "prompt is too long: 9 > 8"),
            format!("{too_long}: prompt is too long: 9 > 8")),
        (OpenAi, 400, openai_error("context_length_exceeded", "No."), format!("{too_long}: No.")),
        (Gemini, 400, gemini(400, "INVALID_ARGUMENT", "The input token count (9) exceeds"),
            format!("{too_long}: The input token count (9) exceeds")),
        (Anthropic, 413, "<html>".into(), "P http://HOST/ is not an API of the kind `anthropic`: it answered 413; check base_url".into()),
        (Anthropic, 413, anthropic_error("request_too_large", "Big."), format!("{too_long}: Big.")),
        (OpenAi, 400, openai_error("content_policy_violation", "Bad."),
            "P HOST refuses the content of the request: Bad.".into()),
        (OpenAi, 400, openai_error("", "Unknown parameter"),
            "P HOST refuses the request with the status 400: Unknown parameter".into()),
        (Gemini, 429, gemini(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, check billing."),
            "TSome(34) HOST accepts no more requests for now: You exceeded your current quota, check billing.".into()),
        (Anthropic, 529, anthropic_error("overloaded_error", "Overloaded"),
            "TNone HOST failed with the status 529: Overloaded".into()),
        (OpenAi, 503, "<html>down</html>".into(), "TNone HOST failed with the status 503".into()),
        (Compatible, 404, r#"{"detail":"Not Found"}"#.into(),
            "P http://HOST/ is not an API of the kind `compatible`: it answered 404: Not Found; check base_url".into()),
        (Compatible, 404, "404 page not found".into(),
            "P http://HOST/ is not an API of the kind `compatible`: it answered 404; check base_url".into()),
        (Compatible, 200, r#"{"name":"something else"}"#.into(),
            "P http://HOST/ is not an API of the kind `compatible`: it didn't answer with an event stream; check base_url".into()),
        (Compatible, 200, openai_error("rate_limit_exceeded", "Slow."), "TNone HOST accepts no more requests for now: Slow.".into()),
    ];
    for (provider, status, body, expected) in table {
        assert_eq!(error_for(Answer::status(status, &body), provider).await, expected, "{status} {body}");
    }
}

#[tokio::test]
async fn messages_of_providers_are_sanitized_and_shortened() {
    let long = format!("\u{1b}[31m\u{202e}{KEY}\r\n{}", "é".repeat(1000));
    let sentence = error_for(Answer::status(400, &openai_error("", &long)), Provider::OpenAi).await;
    assert_eq!(
        sentence,
        format!("P HOST refuses the request with the status 400: [31m[key] {}", "é".repeat(290))
    );
    // A key that would be cut in two is found first.
    let edge = format!("{}{KEY}", "x".repeat(295));
    let sentence = error_for(Answer::status(400, &openai_error("", &edge)), Provider::OpenAi).await;
    assert!(sentence.ends_with("x[key]") && !sentence.contains("sk-"), "{sentence}");
}

#[tokio::test]
async fn retry_delays() {
    let body = anthropic_error("rate_limit_error", "Slow down");
    for (headers, wait) in [
        ("retry-after: 7\r\n", "Some(7)"),
        ("retry-after-ms: 2500\r\n", "Some(2)"),
        ("date: Sun, 15 Nov 2026 12:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026 12:01:30 GMT\r\n", "Some(90)"),
        ("date: Sun, 15 Nov 2026 12:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026 11:00:00 GMT\r\n", "Some(0)"),
        ("retry-after: 99999999\r\n", "Some(3600)"),
        ("retry-after: -1\r\n", "None"),
        ("retry-after: soon\r\n", "None"),
        ("", "None"),
    ] {
        let sentence = error_for(Answer::with(429, headers, &body), Provider::Anthropic).await;
        assert_eq!(
            sentence,
            format!("T{wait} HOST accepts no more requests for now: Slow down"),
            "{headers}"
        );
    }
}

#[tokio::test]
async fn pages_and_redirects_are_permanent_errors() {
    let page = Answer::with(200, "content-type: text/html; charset=utf-8\r\n", "<html>Welcome</html>");
    assert_eq!(
        error_for(page, Provider::OpenAi).await,
        "P http://HOST/ is not an API of the kind `openai`: it answered with an HTML page; check base_url"
    );
    let silent = Answer::with(200, "", "");
    assert_eq!(
        error_for(silent, Provider::OpenAi).await,
        "P http://HOST/ is not an API of the kind `openai`: it didn't answer with an event stream; check base_url"
    );
    // A proxy opens the stream before the model behind it answers, or dies.
    for body in ["", ": PROCESSING\n\n"] {
        let started = Answer::with(200, "content-type: text/event-stream\r\n", body);
        assert_eq!(error_for(started, Provider::OpenAi).await, "TNone HOST cut off its response", "{body}");
    }
    // The fake has one answer, so a client that followed would fail differently.
    let elsewhere = Answer::with(307, "location: http://169.254.169.254/\r\n", "");
    assert_eq!(
        error_for(elsewhere, Provider::OpenAi).await,
        "P http://HOST/ redirects requests, and redirects are not followed: set base_url to the address that answers"
    );
}

fn text(text: &str) -> String {
    events(&[json!({ "choices": [{ "delta": { "content": text } }] })])
}

#[tokio::test]
async fn an_interrupted_stream_is_a_temporary_error() {
    let cut = "TNone HOST cut off its response";
    assert_eq!(error_for(Answer::stream(&text("Hel")), Provider::OpenAi).await, cut);
    let half = format!("{}data: {{\"choi", text("Hel"));
    assert_eq!(error_for(Answer::stream(&half), Provider::OpenAi).await, cut);
    let broken = error_for(Answer::stream(&text("Hel")).then_cut(), Provider::OpenAi).await;
    assert!(broken.starts_with("TNone HOST closed the connection: "), "{broken}");
    let garbled = format!("{}data: {{nonsense\n\n", text("Hel"));
    assert_eq!(
        error_for(Answer::stream(&garbled), Provider::OpenAi).await,
        "TNone HOST sent an event that is not JSON"
    );
}

#[tokio::test]
async fn errors_within_a_stream() {
    let overloaded = format!("data: {}\n\n", anthropic_error("overloaded_error", "Overloaded"));
    assert_eq!(
        error_for(Answer::stream(&overloaded), Provider::Anthropic).await,
        "TNone HOST failed with the status 529: Overloaded"
    );
    let failed = json!({ "type": "response.failed", "response": { "error": { "code": "server_error", "message": "Oh" } } });
    assert_eq!(
        error_for(Answer::stream(&events(&[failed])), Provider::OpenAiResponses).await,
        "TNone HOST failed with the status 500: Oh"
    );
    let error = json!({ "type": "error", "code": "context_length_exceeded", "message": "Long" });
    assert_eq!(
        error_for(Answer::stream(&events(&[error])), Provider::OpenAiResponses).await,
        "L the conversation is too long for the model `test-model`: Long"
    );
    let quota = format!("data: {}\n\n", openai_error("insufficient_quota", "Pay"));
    assert_eq!(
        error_for(Answer::stream(&quota), Provider::OpenAi).await,
        "P the account at HOST has no credit or quota left: Pay"
    );
}

/// The clock is paused from the first text on, so it jumps to the next timeout.
#[tokio::test]
async fn stream_stall() {
    let fake = Fake::answering([Answer::stream(&text("Hel")).then_hang()]).await;
    let model = open(&settings(&fake, Provider::OpenAi));
    let message = Message::User("Go.".into());
    let request =
        ModelRequest { system: "", messages: &[&message], tools: &[], max_output: 10, temperature: None };
    let mut since = None;
    let mut stop_the_clock = |_: &str| {
        tokio::time::pause();
        since = Some(Instant::now());
    };
    let error = model.reply(&request, &mut stop_the_clock).await.unwrap_err();
    assert!(matches!(&error, ModelError::Temporary { retry_after: None, .. }));
    assert!(error.to_string().contains(" sent nothing for 60 s; "), "{error}");
    let waited = since.unwrap().elapsed().as_secs();
    assert!((59..=61).contains(&waited), "{waited}");
}

#[tokio::test]
async fn an_endless_response_times_out() {
    let fake = Fake::answering([Answer::stream(&text("Hel")).then_hang()]).await;
    let mut settings = settings(&fake, Provider::OpenAi);
    settings.limits.idle_timeout = Duration::from_secs(10_000);
    let message = Message::User("Go.".into());
    let request =
        ModelRequest { system: "", messages: &[&message], tools: &[], max_output: 10, temperature: None };
    let model = open(&settings);
    let error = model.reply(&request, &mut |_: &str| tokio::time::pause()).await.unwrap_err();
    assert!(matches!(error, ModelError::Unfinished(_)));
    assert!(error.to_string().ends_with(" did not finish its answer within 10 minutes"), "{error}");
}

#[tokio::test]
async fn token_flood() {
    let cut = "P a response of the model `test-model` exceeds the size limit and was cut off";
    let flood = text(&"word ".repeat(2_000)).repeat(1_000);
    assert!(flood.len() > 10_000_000);
    assert_eq!(error_for(Answer::pieces(&flood, 60_000), Provider::OpenAi).await, cut);
    // One endless event, and endless comments.
    for filler in ["data: word word word", ": waiting\n"] {
        let flood = filler.repeat((33 << 20) / filler.len());
        assert_eq!(error_for(Answer::pieces(&flood, 60_000), Provider::OpenAi).await, cut);
    }
    // The body of an error is not read to its end either.
    let failure = "x".repeat(10_000_000);
    let sentence = error_for(Answer::with(500, "", &failure).then_hang(), Provider::OpenAi).await;
    assert_eq!(sentence, "TNone HOST failed with the status 500");
}

#[tokio::test]
async fn tool_flood() {
    let call = |n: usize| {
        let call =
            json!({ "index": n, "id": format!("c{n}"), "function": { "name": "read", "arguments": "{}" } });
        json!({ "choices": [{ "delta": { "tool_calls": [call] } }] })
    };
    let flood = events(&(0..1_000).map(call).collect::<Vec<_>>());
    for end in ["", "data: {\"choices\":[{\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"] {
        assert_eq!(
            error_for(Answer::stream(&format!("{flood}{end}")), Provider::OpenAi).await,
            "P the model `test-model` makes more than 128 calls in one response"
        );
    }
}

#[tokio::test]
async fn an_unreachable_provider_is_a_temporary_error() {
    let fake = Fake::answering([]).await;
    let mut settings = settings(&fake, Provider::OpenAi);
    settings.base_url = Some("http://127.0.0.1:1".into());
    let error = ask(&*open(&settings), &conversation()).await.0.unwrap_err();
    assert!(matches!(error, ModelError::Temporary { .. }));
    assert!(error.to_string().starts_with("127.0.0.1:1 cannot be reached: Connection refused"), "{error}");
    settings.base_url = Some("https://no-such-host.invalid".into());
    let error = ask(&*open(&settings), &conversation()).await.0.unwrap_err();
    assert!(matches!(error, ModelError::Temporary { .. }));
    assert!(error.to_string().starts_with("no-such-host.invalid cannot be reached: "), "{error}");
}

/// The address is checked at each connection, because the owner of a name can change where it leads.
#[tokio::test]
async fn a_name_of_a_private_address_is_not_called() {
    let fake = Fake::answering([Answer::stream(&text("Hel"))]).await;
    let port = fake.url.rsplit(':').next().unwrap();
    let base_url = Some(format!("https://localhost:{port}"));
    let settings = Settings { base_url, allow_private: false, ..settings(&fake, Provider::OpenAi) };
    let error = ask(&*open(&settings), &conversation()).await.0.unwrap_err();
    assert_eq!(
        error,
        ModelError::Permanent(format!(
            "localhost:{port} is not called: it is on this machine or in a private network. To allow this, set allow_private"
        ))
    );
}

#[test]
fn invalid_settings_are_refused() {
    let refused = |settings: &Settings| agent::model::open(settings).err().unwrap();
    let mut settings = Settings::new(Provider::Anthropic, "m");
    assert_eq!(
        refused(&settings),
        "anthropic needs an API key: set api_key_env or api_key_file, or store one with `docwright model key`"
    );
    settings.provider = Provider::Compatible;
    assert_eq!(refused(&settings), "base_url is missing: the provider `compatible` has no default address");
    settings.base_url = Some("https://example.com".into());
    for name in ["", "a b", "../../files", "a?b", "a\r\nb"] {
        settings.model = name.into();
        assert_eq!(refused(&settings), "model must be a name of a model at the provider");
    }
}
