//! Makes the server look for findings at once. By itself, it looks a few minutes later.

use std::time::Duration;

use server::App;
use store::ProjectId;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Two minutes. A scan of the sample takes seconds.
const MAX_POLLS: u32 = 240;

/// Makes the chores due: first the scan of the docs, and then the search for findings, which needs the scan. If that fails,
/// the findings appear later.
pub(super) async fn look_soon(app: App, project: ProjectId) {
    if app.findings.request_scan(&project).await.is_err() {
        return;
    }
    let _ = app.findings.hasten_chores(&project).await;
    for _ in 0..MAX_POLLS {
        match app.findings.site_scan(&project).await {
            Ok(None) => tokio::time::sleep(POLL_INTERVAL).await,
            Ok(Some(_)) => {
                let _ = app.findings.hasten_chores(&project).await;
                return;
            }
            Err(_) => return,
        }
    }
}
