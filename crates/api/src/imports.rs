//! Files that page views come from: who imports one asks how far it was read, and says with every
//! batch which part of it that is.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::Uri;
use traffic::{FilePart, Progress};
use wire::ImportProgress;

use super::caller::Caller;
use super::error::ApiError;
use super::query::Query;
use app::App;
use app::path::segment;

/// Where the file stands: `/v1/analytics/{projectId}/imports/{file}`.
const FILE: usize = 5;

/// `GET /v1/analytics/{projectId}/imports/{file}`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
) -> Result<Answer<ImportProgress>, ApiError> {
    let file = segment(&uri, FILE).unwrap_or_default();
    let progress = app.views.progress(&caller.project.id.0, &file).await?;
    Ok(Answer(match progress {
        Some(Progress { bytes, hash }) => ImportProgress { bytes, hash: Some(hash) },
        None => ImportProgress { bytes: 0, hash: None },
    }))
}

/// Which part of a file a batch is, if its query names a file.
pub(super) fn part(uri: &Uri) -> Result<Option<FilePart>, ApiError> {
    let mut query = Query::of(uri);
    if query.text("file").is_none() {
        return Ok(None);
    }
    let [file, hash] = ["file", "hash"].map(|name| digest(&mut query, name));
    let [from, to] = ["from", "to"].map(|name| byte(&mut query, name));
    if from >= to {
        query.problem("to must be more than from".into());
    }
    query.done()?;
    Ok(Some(FilePart { file, from, to: Progress { bytes: to, hash } }))
}

fn digest(query: &mut Query<'_>, name: &str) -> String {
    let text = query.text(name).unwrap_or_default().to_owned();
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        query.problem(format!("{name} must be a SHA-256, as 64 digits and letters from a to f"));
    }
    text
}

fn byte(query: &mut Query<'_>, name: &str) -> u64 {
    if query.text(name).is_none() {
        query.problem(format!("{name} must be there when file is"));
    }
    query.whole(name, 0, i64::MAX, 0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        #[track_caller]
        fn check(query: &str, expected: Result<Option<(u64, u64)>, &[&str]>) {
            let uri: Uri = format!("/events?{}", query.replace('H', &"0f".repeat(32))).parse().unwrap();
            let got = part(&uri).map(|part| part.map(|part| (part.from, part.to.bytes)));
            let got = got.map_err(|error| match error {
                ApiError::Invalid { details, .. } => details,
                other => panic!("{other}"),
            });
            assert_eq!(got, expected.map_err(|all| all.iter().map(|s| s.to_string()).collect()), "{query}");
        }
        const DIGEST: &str = "must be a SHA-256, as 64 digits and letters from a to f";
        check("", Ok(None));
        check("from=x&to=y", Ok(None));
        check("file=H&hash=H&from=0&to=10", Ok(Some((0, 10))));
        check("file=H&hash=H&from=10&to=10", Err(&["to must be more than from"]));
        check("file=H&hash=H&from=-1&to=10", Err(&["from must be at least 0, got -1"]));
        check(
            "file=x",
            Err(&[
                &format!("file {DIGEST}"),
                &format!("hash {DIGEST}"),
                "from must be there when file is",
                "to must be there when file is",
                "to must be more than from",
            ]),
        );
    }
}
