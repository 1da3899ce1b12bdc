//! Tracks how far files of page views were imported.
//!
//! A client asks how far a file was imported, and names the part of the file with every batch that it sends.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use traffic::{FilePart, Progress};
use wire::ImportProgress;

use super::caller::Caller;
use super::error::ApiError;
use super::query::Query;
use app::App;

/// `GET /v1/analytics/{projectId}/imports/{file}`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<ImportProgress>, ApiError> {
    // A name that isn't UTF-8 is a file of which nothing was imported.
    let file = path.map_or_else(|_| String::new(), |Path((_, file))| file);
    let progress = app.views.progress(&caller.project.id.0, &file).await?;
    Ok(Json(match progress {
        Some(Progress { bytes, hash }) => ImportProgress { bytes, hash: Some(hash) },
        None => ImportProgress { bytes: 0, hash: None },
    }))
}

/// The part of a file that a batch contains, if the query names a file.
pub(super) fn parse_part(uri: &Uri) -> Result<Option<FilePart>, ApiError> {
    let mut query = Query::new(uri);
    if query.get("file").is_none() {
        return Ok(None);
    }
    let [file, hash] = ["file", "hash"].map(|name| parse_digest(&mut query, name));
    let [from, to] = ["from", "to"].map(|name| parse_offset(&mut query, name));
    if from >= to {
        query.add_problem("to must be greater than from".into());
    }
    query.finish()?;
    Ok(Some(FilePart { file, from, to: Progress { bytes: to, hash } }))
}

fn parse_digest(query: &mut Query<'_>, name: &str) -> String {
    let text = query.get(name).unwrap_or_default().to_owned();
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        query.add_problem(format!("{name} must be a SHA-256 hash: 64 lowercase hexadecimal digits"));
    }
    text
}

fn parse_offset(query: &mut Query<'_>, name: &str) -> u64 {
    if query.get(name).is_none() {
        query.add_problem(format!("{name} is required with file"));
    }
    query.integer(name, 0, i64::MAX, 0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_file_is_parsed_from_the_query() {
        #[track_caller]
        fn check(query: &str, expected: Result<Option<(u64, u64)>, &[&str]>) {
            let uri: Uri = format!("/events?{}", query.replace('H', &"0f".repeat(32))).parse().unwrap();
            let got = parse_part(&uri).map(|part| part.map(|part| (part.from, part.to.bytes)));
            let got = got.map_err(|error| match error {
                ApiError::Invalid { details, .. } => details,
                other => panic!("{other}"),
            });
            assert_eq!(got, expected.map_err(|all| all.iter().map(|s| s.to_string()).collect()), "{query}");
        }
        const DIGEST: &str = "must be a SHA-256 hash: 64 lowercase hexadecimal digits";
        check("", Ok(None));
        check("from=x&to=y", Ok(None));
        check("file=H&hash=H&from=0&to=10", Ok(Some((0, 10))));
        check("file=H&hash=H&from=10&to=10", Err(&["to must be greater than from"]));
        check("file=H&hash=H&from=-1&to=10", Err(&["from must be at least 0, got -1"]));
        check(
            "file=x",
            Err(&[
                &format!("file {DIGEST}"),
                &format!("hash {DIGEST}"),
                "from is required with file",
                "to is required with file",
                "to must be greater than from",
            ]),
        );
    }
}
