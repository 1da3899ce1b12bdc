//! Tests `docwright forget`, and that commands do not print the responses of services in a private network.

use std::process::{Output, Stdio};

use serde_json::Value;

use crate::models::{provider_with_headers, write_settings};
use crate::support::{Client, Serving, docwright, home};

const LOG: &str = concat!(
    "192.0.2.1 - - [14/Nov/2026:10:00:00 +0000] \"GET /junk/a HTTP/1.1\" 200 9 \"-\" \"Mozilla/5.0 Chrome/120.0\"\n",
    "192.0.2.1 - - [14/Nov/2026:10:00:01 +0000] \"GET /junk/b HTTP/1.1\" 404 9 \"-\" \"Mozilla/5.0 Chrome/120.0\"\n",
    "192.0.2.1 - - [14/Nov/2026:10:00:02 +0000] \"GET /docs HTTP/1.1\" 200 9 \"-\" \"Mozilla/5.0 Chrome/120.0\"\n",
);

fn stdout_and_stderr(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn junk_is_removed_only_after_confirmation() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let log = home.path().join("access.log");
    std::fs::write(&log, LOG).unwrap();
    let import = client.docwright().args(["import", &client.project]).arg(&log).output().unwrap();
    assert!(import.status.success(), "{import:?}");
    let forget = |more: &[&str]| {
        let mut command = client.docwright();
        command.args(["forget", &client.project, "--path", "/junk/**"]).args(more);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let views = || {
        stdout_and_stderr(&client.docwright().args(["views", &client.project, "--csv"]).output().unwrap()).0
    };
    let unconfirmed = forget(&[]);
    assert_eq!(unconfirmed.status.code(), Some(1));
    let (_, message) = stdout_and_stderr(&unconfirmed);
    assert!(message.contains("This removes 2 views and 1 page from all reports, for good."), "{message}");
    assert!(message.contains("nothing was removed: add --yes"), "{message}");
    assert!(views().contains("\"/junk/a\""));

    let (printed, _) = stdout_and_stderr(&forget(&["--yes", "--json"]));
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed, serde_json::json!({ "views": 2, "pages": 1, "removed": true }));
    assert!(views().contains("\"/docs\"") && !views().contains("/junk"));
    let again = forget(&[]);
    assert!(
        again.status.success() && stdout_and_stderr(&again).0 == "Nothing to remove: no views match.\n",
        "{again:?}"
    );
    assert_eq!(stdout_and_stderr(&forget(&["--yes"])).0, "Removed 0 views and 0 pages.\n");
    let bad =
        client.docwright().args(["forget", &client.project, "--path", "junk", "--yes"]).output().unwrap();
    assert!(stdout_and_stderr(&bad).1.contains("path must be a glob that begins with `/`"), "{bad:?}");
}

#[test]
fn what_an_internal_service_answers_is_not_printed() {
    const SECRET: &str = "hunter2-of-the-internal-service";
    for status in
        ["400 Bad Request", "403 Forbidden", "422 Unprocessable Entity", "500 Internal Server Error"]
    {
        for (kind, body) in [
            ("text/plain", SECRET.to_owned()),
            (
                "application/json",
                format!("{{\"message\":\"{SECRET}\",\"error\":{{\"message\":\"{SECRET}\"}}}}"),
            ),
        ] {
            let home = home();
            let (url, _headers) = provider_with_headers(status, kind, body.clone());
            write_settings(
                home.path(),
                &format!(
                    "hosts_allow_private = true\n[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"{url}\"\nallow_private = true\n"
                ),
            );
            let test = docwright(home.path()).args(["model", "test", "fast"]).output().unwrap();
            let (url, _headers) = provider_with_headers(status, kind, body);
            let args = ["project", "create", "--name", "D", "--host", "gitea", "--repository"];
            let create = docwright(home.path()).args(args).arg(format!("{url}/acme/docs")).output().unwrap();
            for output in [test, create] {
                let (printed, message) = stdout_and_stderr(&output);
                assert!(!output.status.success(), "{output:?}");
                assert!(
                    !printed.contains(SECRET) && !message.contains(SECRET),
                    "{status} {kind}: {printed}{message}"
                );
            }
        }
    }
}
