//! Tests webhooks with each host's signature.

use forge::{HostKind, State, Webhook, WebhookError, WebhookEvent, read_webhook};
use net::Secret;
use ring::hmac;

const SECRET: &str = "hook-secret";

fn signature(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::sign(&key, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn headers(kind: HostKind, event: &str, body: &str) -> Vec<(&'static str, String)> {
    let (event, signed) = (event.to_owned(), signature(body));
    match kind {
        HostKind::GitHub => {
            vec![("x-github-event", event), ("x-hub-signature-256", format!("sha256={signed}"))]
        }
        HostKind::GitLab => vec![("x-gitlab-event", event), ("x-gitlab-token", SECRET.to_owned())],
        HostKind::Gitea => vec![("x-gitea-event", event), ("x-gitea-signature", signed)],
        HostKind::Forgejo => vec![("x-forgejo-event", event), ("x-forgejo-signature", signed)],
    }
}

fn read(kind: HostKind, headers: &[(&'static str, String)], body: &str) -> Result<Webhook, WebhookError> {
    let header =
        |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    read_webhook(kind, &Secret::parse(SECRET).unwrap(), header, body.as_bytes())
}

fn pull(state: &str, merged: bool, fork: u64) -> String {
    format!(
        r#"{{"pull_request":{{"number":3,"state":"{state}","merged":{merged},"head":{{"ref":"topic","repo":{{"id":{fork}}}}},"base":{{"ref":"main","repo":{{"id":1}}}}}},"repository":{{"full_name":"acme/docs"}}}}"#
    )
}

fn merge_request(state: &str, fork: u64) -> String {
    format!(
        r#"{{"object_attributes":{{"iid":3,"state":"{state}","source_branch":"topic","source_project_id":{fork},"target_project_id":1}},"project":{{"path_with_namespace":"acme/docs"}}}}"#
    )
}

#[test]
fn events_are_parsed() {
    #[track_caller]
    fn check(kind: HostKind, name: &str, body: &str, expected: WebhookEvent) {
        let hook = read(kind, &headers(kind, name, body), body).unwrap();
        assert_eq!((hook.event, hook.repository.as_str()), (expected, "acme/docs"), "{kind}");
    }
    let changed = |state| WebhookEvent::PullChanged { number: 3, state, head: "topic".into() };
    let pushed = r#"{"ref":"refs/heads/a/b","repository":{"full_name":"acme/docs"},"project":{"path_with_namespace":"acme/docs"}}"#;
    let tagged = pushed.replace("heads", "tags");
    for kind in [HostKind::GitHub, HostKind::Gitea, HostKind::Forgejo] {
        check(kind, "pull_request", &pull("open", false, 1), changed(State::Open));
        check(kind, "pull_request", &pull("closed", true, 1), changed(State::Merged));
        check(kind, "pull_request", &pull("closed", false, 1), changed(State::Closed));
        check(kind, "pull_request", &pull("open", false, 2), WebhookEvent::Ignored);
        check(kind, "push", pushed, WebhookEvent::Pushed { branch: "a/b".into() });
        check(kind, "push", &tagged, WebhookEvent::Ignored);
        check(kind, "star", pushed, WebhookEvent::Ignored);
    }
    let deleted =
        pull("closed", true, 1).replace(r#""ref":"topic""#, r#""ref":"refs/pull/3/head","label":"topic""#);
    check(HostKind::Gitea, "pull_request", &deleted, changed(State::Merged));
    check(HostKind::GitHub, "ping", pushed, WebhookEvent::Ping);
    let kind = HostKind::GitLab;
    check(kind, "Merge Request Hook", &merge_request("opened", 1), changed(State::Open));
    check(kind, "Merge Request Hook", &merge_request("merged", 1), changed(State::Merged));
    check(kind, "Merge Request Hook", &merge_request("closed", 1), changed(State::Closed));
    check(kind, "Merge Request Hook", &merge_request("opened", 2), WebhookEvent::Ignored);
    check(kind, "Push Hook", pushed, WebhookEvent::Pushed { branch: "a/b".into() });
}

#[test]
fn a_webhook_without_a_valid_signature_is_refused() {
    let body = pull("closed", true, 1);
    for kind in [HostKind::GitHub, HostKind::GitLab, HostKind::Gitea, HostKind::Forgejo] {
        let good = headers(kind, "pull_request", &body);
        let with_signature = |change: &dyn Fn(&str) -> String| {
            let mut all = good.clone();
            all[1].1 = change(&all[1].1);
            read(kind, &all, &body)
        };
        for bad in [
            with_signature(&|_| String::new()),
            with_signature(&|value| value[..value.len() - 2].to_owned()),
            with_signature(&|value| format!("{value}0")),
            with_signature(&|value| format!("{value}00")),
            with_signature(&|value| value.replace(|c: char| c.is_ascii_digit() || c == 'h', "x")),
            with_signature(&|_| "sha256=".to_owned()),
            read(kind, &good[..1], &body),
            read(kind, &[], &body),
        ] {
            assert_eq!(bad, Err(WebhookError::BadSignature), "{kind}");
        }
        // A signature of another body.
        if kind != HostKind::GitLab {
            assert_eq!(read(kind, &good, &pull("open", false, 1)), Err(WebhookError::BadSignature));
        }
    }
}

#[test]
fn a_signed_webhook_with_a_bad_format_is_refused() {
    let kind = HostKind::GitHub;
    for (name, body, expected) in [
        ("pull_request", "payload=%7B%7D", WebhookError::NotJson),
        ("pull_request", "", WebhookError::NotJson),
        ("pull_request", "{}", WebhookError::BadShape),
        ("pull_request", "[1]", WebhookError::BadShape),
        ("push", r#"{"ref":7}"#, WebhookError::BadShape),
    ] {
        assert_eq!(read(kind, &headers(kind, name, body), body), Err(expected), "{body}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(read(kind, &headers(kind, "push", &deep), &deep), Err(WebhookError::NotJson));
    let unnamed = &headers(kind, "push", "{}")[1..];
    assert_eq!(read(kind, unnamed, "{}"), Err(WebhookError::BadShape));
}
