//! Whether a server runs on this data directory, and answers.

use std::time::Duration;

use store::DataDir;

use super::report::Report;
use crate::{client, output};

const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn here(report: &mut Report, dir: &DataDir) {
    if !dir.is_held() {
        let advice = format!("docwright serve{}", report.again);
        return report.warn("server", "none runs on this data directory", advice);
    }
    let Some(url) = dir.url() else {
        return report.warn("server", "one is starting just now", "look again in a moment");
    };
    match ready(&url).await {
        Ok(()) => report.ok("server", format!("runs and is ready at {url}")),
        Err(why) => report.fail(
            "server",
            format!("runs, but {url} does not answer: {why}"),
            "read its log; behind a proxy, check that --public-url leads to it",
        ),
    }
}

/// The one that the client commands talk to.
pub(super) async fn named(report: &mut Report, url: &str) {
    match ready(url).await {
        Ok(()) => report.ok("DOCWRIGHT_URL", format!("{url} is ready")),
        Err(why) => report.fail(
            "DOCWRIGHT_URL",
            format!("{url} does not answer: {why}"),
            "start that server, or set DOCWRIGHT_URL to where it runs",
        ),
    }
}

async fn ready(url: &str) -> Result<(), String> {
    let (client, base) = client::http(url).map_err(|error| error.to_string())?;
    let request = client.get(format!("{base}/readyz")).timeout(PATIENCE);
    let answer = request.send().await.map_err(|error| output::root_cause(&error))?;
    let status = answer.status();
    match answer.text().await.unwrap_or_default().trim() {
        "ready" if status.is_success() => Ok(()),
        _ => Err(format!("/readyz answers {status}, and not as Docwright does when it is ready")),
    }
}
