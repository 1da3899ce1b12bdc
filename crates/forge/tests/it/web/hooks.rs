//! Word from a host, signed as it signs.

use forge::{Hook, HookError, HookEvent, HostKind, State, read_hook};
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

fn read(kind: HostKind, headers: &[(&'static str, String)], body: &str) -> Result<Hook, HookError> {
    let header =
        |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    read_hook(kind, &Secret::parse(SECRET).unwrap(), header, body.as_bytes())
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
fn events() {
    #[track_caller]
    fn check(kind: HostKind, name: &str, body: &str, expected: HookEvent) {
        let hook = read(kind, &headers(kind, name, body), body).unwrap();
        assert_eq!((hook.event, hook.repository.as_str()), (expected, "acme/docs"), "{kind}");
    }
    let changed = |state| HookEvent::PullChanged { number: 3, state, head: "topic".into() };
    let pushed = r#"{"ref":"refs/heads/a/b","repository":{"full_name":"acme/docs"},"project":{"path_with_namespace":"acme/docs"}}"#;
    let tagged = pushed.replace("heads", "tags");
    for kind in [HostKind::GitHub, HostKind::Gitea, HostKind::Forgejo] {
        check(kind, "pull_request", &pull("open", false, 1), changed(State::Open));
        check(kind, "pull_request", &pull("closed", true, 1), changed(State::Merged));
        check(kind, "pull_request", &pull("closed", false, 1), changed(State::Closed));
        check(kind, "pull_request", &pull("open", false, 2), HookEvent::Ignored);
        check(kind, "push", pushed, HookEvent::Pushed { branch: "a/b".into() });
        check(kind, "push", &tagged, HookEvent::Ignored);
        check(kind, "star", pushed, HookEvent::Ignored);
    }
    let gone =
        pull("closed", true, 1).replace(r#""ref":"topic""#, r#""ref":"refs/pull/3/head","label":"topic""#);
    check(HostKind::Gitea, "pull_request", &gone, changed(State::Merged));
    check(HostKind::GitHub, "ping", pushed, HookEvent::Ping);
    let kind = HostKind::GitLab;
    check(kind, "Merge Request Hook", &merge_request("opened", 1), changed(State::Open));
    check(kind, "Merge Request Hook", &merge_request("merged", 1), changed(State::Merged));
    check(kind, "Merge Request Hook", &merge_request("closed", 1), changed(State::Closed));
    check(kind, "Merge Request Hook", &merge_request("opened", 2), HookEvent::Ignored);
    check(kind, "Push Hook", pushed, HookEvent::Pushed { branch: "a/b".into() });
}

#[test]
fn who_did_not_sign_is_not_heard() {
    let body = pull("closed", true, 1);
    for kind in [HostKind::GitHub, HostKind::GitLab, HostKind::Gitea, HostKind::Forgejo] {
        let good = headers(kind, "pull_request", &body);
        let spoilt = |spoil: &dyn Fn(&str) -> String| {
            let mut all = good.clone();
            all[1].1 = spoil(&all[1].1);
            read(kind, &all, &body)
        };
        for bad in [
            spoilt(&|_| String::new()),
            spoilt(&|said| said[..said.len() - 2].to_owned()),
            spoilt(&|said| format!("{said}0")),
            spoilt(&|said| format!("{said}00")),
            spoilt(&|said| said.replace(|c: char| c.is_ascii_digit() || c == 'h', "x")),
            spoilt(&|_| "sha256=".to_owned()),
            read(kind, &good[..1], &body),
            read(kind, &[], &body),
        ] {
            assert_eq!(bad, Err(HookError::BadSignature), "{kind}");
        }
        // Of another body.
        if kind != HostKind::GitLab {
            assert_eq!(read(kind, &good, &pull("open", false, 1)), Err(HookError::BadSignature));
        }
    }
}

#[test]
fn what_is_signed_may_still_be_nonsense() {
    let kind = HostKind::GitHub;
    for (name, body, expected) in [
        ("pull_request", "payload=%7B%7D", HookError::NotJson),
        ("pull_request", "", HookError::NotJson),
        ("pull_request", "{}", HookError::BadShape),
        ("pull_request", "[1]", HookError::BadShape),
        ("push", r#"{"ref":7}"#, HookError::BadShape),
    ] {
        assert_eq!(read(kind, &headers(kind, name, body), body), Err(expected), "{body}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(read(kind, &headers(kind, "push", &deep), &deep), Err(HookError::NotJson));
    let unnamed = &headers(kind, "push", "{}")[1..];
    assert_eq!(read(kind, unnamed, "{}"), Err(HookError::BadShape));
}
