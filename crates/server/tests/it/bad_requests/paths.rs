//! Lists requests with unknown ids, unknown routes and unsupported methods.

use serde_json::Value;

use super::row::{Row, SITE, row};

/// Ids that can't exist. They are sent exactly as written.
const INVALID_IDS: &[&str] = &[
    "nothing",
    "0",
    "-1",
    "null",
    "undefined",
    "NaN",
    "*",
    ".",
    "..",
    "...",
    "%2e%2e",
    "%2E",
    "%2F",
    "a%2Fb",
    "%2e%2e%2f%2e%2e%2fetc",
    "%5C",
    "%00",
    "a%00b",
    "%FF",
    "%C3%28",
    "%ED%A0%80",
    "%zz",
    "%",
    "%2",
    "%25",
    "%20",
    "+",
    ";",
    "a;b=c",
    "%0D%0Ax-a:%20b",
    "%3Cscript%3E",
    "'%20OR%201=1--",
    "%22",
    "$%7B7*7%7D",
    "%7BprojectId%7D",
    "%F0%9F%92%A9",
    "%E2%80%AE",
    "@",
    "a@b",
    "a:b",
    "~",
    "!",
    "(a)",
];

/// Ids that resemble an existing one.
const SIMILAR_IDS: &[&str] = &["ID%20", "%20ID", "ID%00", "ID.json", "ID,ID", "xID", "IDx", "%22ID%22"];

/// Paths without a route.
const UNKNOWN_PATHS: &[&str] = &[
    "/v1",
    "/v2",
    "/v2/",
    "/v2/agent",
    "/v2/agent/",
    "/v2/agent/{project}",
    "/v2/agent/{project}/",
    "/v2/agent/{project}/job/",
    "/v2/agent/{project}/jobs/",
    "/v2/agent/{project}/job/{job}/",
    "/v2/agent/{project}/job/{job}/events/",
    "/v2/agent/{project}/job/{job}/diff/x",
    "/v2/agent/{project}/job/{job}/logs",
    "/v2//agent/{project}/jobs",
    "//v2/agent/{project}/jobs",
    "/v2/agent/{project}//jobs",
    "/v1/agent/{project}/jobs",
    "/v3/agent/{project}/jobs",
    "/V2/agent/{project}/jobs",
    "/v2/Agent/{project}/jobs",
    "/v2%2Fagent/{project}/jobs",
    "/v2/agent/{project}/%6Aobs",
    "/v2/agent/a/b/jobs",
    "/v2/analytics/{project}/views",
    "/v1/analytics/{project}",
    "/v1/analytics/{project}/",
    "/v1/analytics/{project}/views/",
    "/v1/analytics/{project}/views.csv",
    "/v1/collect",
    "/v1/collect/",
    "/v1/collect/{project}/x",
    "/js",
    "/js/",
    "/js/docwright.js/",
    "/js/docwright.js.map",
    "/js/%2e%2e/healthz",
    "/js/../healthz",
    "/openapi",
    "/openapi.yaml",
    "/openapi.json/",
    "/docs/",
    "/docs/index.html",
    "/healthz/",
    "/healthz/x",
    "/readyz/",
    "/HEALTHZ",
    "/metrics",
    "/metrics/",
    "/robots.txt",
    "/.env",
    "/.git/config",
    "/wp-login.php",
    "/api",
    "/graphql",
    "/%00",
    "/%FF",
    "/%",
    "/..",
    "/../../etc/passwd",
    "/;",
    "/*",
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for id in INVALID_IDS.iter().map(|id| (*id).to_owned()).chain(["x".repeat(5_000), "%41".repeat(4_000)]) {
        rows.extend(no_project(&id));
        rows.extend(no_job(&id));
    }
    for similar in SIMILAR_IDS {
        rows.extend(no_project(&similar.replace("ID", "{project}")));
        rows.extend(no_job(&similar.replace("ID", "{job}")));
    }
    rows.push(row("POST /v2/agent//job", "an empty project", "404 no_such_project"));
    rows.push(row("GET /v2/agent//jobs", "an empty project", "404 no_such_project"));
    rows.push(row("GET /v1/analytics//views", "an empty project", "404 no_such_project"));
    rows.push(row("GET /v2/agent/{project}/job//events", "an empty job", "404 no_such_job"));
    rows.extend(no_project("{job}"));
    rows.extend(no_job("{project}"));
    for path in UNKNOWN_PATHS {
        let sentence = "404 no_such_route: no such route; GET /docs lists the routes";
        rows.push(row(&format!("GET {path}"), *path, sentence));
    }
    rows.push(row("HEAD /v2/nothing", "unknown path, by HEAD", "404 no_such_route"));
    rows.push(row("BREW /v2/nothing", "unknown path, by an unknown method", "404 no_such_route"));
    rows.push(row(&format!("GET /{}", "x".repeat(12_000)), "a long unknown path", "404 no_such_route"));
    rows
}

fn no_project(id: &str) -> [Row; 4] {
    let missing =
        |line: String| row(&line, format!("the project {id:.60}"), "404 no_such_project: no such project");
    [
        missing(format!("GET /v2/agent/{id}/job/{{job}}")),
        missing(format!("POST /v2/agent/{id}/job")).json("junk"),
        missing(format!("GET /v1/analytics/{id}/views?limit=junk")),
        missing(format!("POST /v1/collect/{id}")).without_key().header("origin", SITE),
    ]
}

fn no_job(id: &str) -> [Row; 4] {
    let missing = |line: String| row(&line, format!("the job {id:.60}"), "404 no_such_job: no such job");
    [
        missing(format!("GET /v2/agent/{{project}}/job/{id}")),
        missing(format!("GET /v2/agent/{{project}}/job/{id}/diff")),
        missing(format!("GET /v2/agent/{{project}}/job/{id}/events")).header("accept", "text/event-stream"),
        missing(format!("POST /v2/agent/{{project}}/job/{id}/archive")),
    ]
}

const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW", "get", "post",
    "M-SEARCH",
];

/// Every described path, with every method that it doesn't support.
pub(super) fn wrong_methods() -> Vec<Row> {
    let document = server::openapi("http://127.0.0.1");
    document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, described)| unsupported(path, described))
        .collect()
}

fn unsupported(path: &str, described: &Value) -> Vec<Row> {
    let mut supported: Vec<_> =
        described.as_object().unwrap().keys().map(|name| name.to_uppercase()).collect();
    if supported.contains(&"GET".to_owned()) {
        supported.push("HEAD".into());
    }
    let path = path.replace("{projectId}", "{project}").replace("{id}", "{job}");
    let wrong = METHODS.iter().filter(|method| !supported.contains(&method.to_string()));
    let refused = |method: &&str| {
        let line = format!("{method} {path}");
        row(&line, line.as_str(), "405 method_not_allowed").allow(&supported.join(","))
    };
    wrong.map(refused).collect()
}
