//! A client of ClickHouse's HTTP interface: statements, queries, and inserts in RowBinary.
//!
//! The password is sent as a header, never in the URL. Redirects are not followed. Answers are bounded in bytes and
//! time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use net::{NetworkPolicy, connection_cause, sanitize};
use reqwest::{Client, Response};
use tokio::time::timeout;

use super::url::ViewsUrl;
use crate::views::{Failure, TooLarge, Unavailable};

/// How long a report may take. The engine gives up at the same time.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);
const INSERT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an engine that gave no answer gets to say that it is back.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(1);
/// Rewrites and deletions read many rows.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(300);
/// The largest answer: a list of two million paths, or 100,000 of the longest names.
const MAX_ANSWER_BYTES: usize = 256 << 20;
const MAX_ERROR_BYTES: usize = 16 << 10;
const MAX_ERROR_CHARS: usize = 400;
/// Literals of a rewrite, such as the user agents of a day.
const MAX_QUERY_BYTES: &str = "67108864";
const MAX_ELEMENTS: &str = "10000000";
/// On a cluster, an insert is acknowledged once a majority of the replicas has it,
pub(super) const QUORUM: [(&str, &str); 2] = [("insert_quorum", "auto"), ("insert_quorum_parallel", "0")];
/// and a replica answers only if it has every insert that was acknowledged.
pub(super) const CONSISTENT_READ: (&str, &str) = ("select_sequential_consistency", "1");
const EXCEPTION_CODE: &str = "x-clickhouse-exception-code";
/// Codes of statements that are wrong: a retry does not help.
const MISTAKES: [u16; 10] = [36, 42, 43, 44, 46, 47, 53, 62, 70, 386];
/// Codes of queries that take too long.
const SLOW: [u16; 2] = [159, 160];
/// The code of queries that need too much memory, and how it begins if that is the query's own limit: otherwise, other
/// queries have the memory.
const MEMORY_LIMIT: u16 = 241;
const OWN_LIMIT: [&str; 2] = ["Query memory limit", "Memory limit (for query)"];

/// How long a query may take, and how large its answer may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryLimits {
    time: Duration,
    bytes: usize,
}

impl QueryLimits {
    pub(super) const REPORT: Self = Self::of_time(QUERY_TIMEOUT);
    /// For a query that is split if it is refused.
    pub(super) const PART: Self = Self { time: Duration::from_secs(5), bytes: 32 << 20 };

    const fn of_time(time: Duration) -> Self {
        Self { time, bytes: MAX_ANSWER_BYTES }
    }
}

/// A ClickHouse server, or a cluster behind one address.
pub(super) struct Engine {
    client: Client,
    url: ViewsUrl,
    /// The name of the cluster, for replicated tables.
    pub(super) cluster: Option<String>,
    /// Whether the last request got no answer.
    is_silent: AtomicBool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("ClickHouse cannot be used just now: {0}")]
    Unavailable(String),
    #[error("ClickHouse refused a statement: {0}")]
    Refused(String),
    /// A retry later can succeed, and so can a query of fewer rows.
    #[error("ClickHouse cannot be used just now: {0}")]
    TooSlow(String),
    /// Only a query of fewer rows can succeed.
    #[error("a report is too large: {0}")]
    TooLarge(String),
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Unavailable(_) | EngineError::TooSlow(_) => {
                Self::new(Unavailable(error.to_string()))
            }
            EngineError::TooLarge(_) => Self::new(TooLarge(error.to_string())),
            EngineError::Refused(_) => Self::new(error),
        }
    }
}

impl Engine {
    pub(super) fn new(url: ViewsUrl, cluster: Option<String>) -> Result<Self, Failure> {
        // The operator chooses the address, so it may be private.
        let policy = NetworkPolicy { allow_private: true, use_proxy: false };
        let client = net::client(policy).build().map_err(Failure::new)?;
        Ok(Self { client, url, cluster, is_silent: AtomicBool::new(false) })
    }

    /// Fails soon if the last request got no answer and the engine still gives none: otherwise each report would wait
    /// for it.
    pub(super) async fn check_silence(&self) -> Result<(), EngineError> {
        if !self.is_silent.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.ping(SILENCE_TIMEOUT).await
    }

    pub(super) async fn ping(&self, limit: Duration) -> Result<(), EngineError> {
        let answer = timeout(limit, self.query("SELECT 1".into())).await;
        let answer = answer.unwrap_or_else(|_| {
            self.is_silent.store(true, Ordering::Relaxed);
            Err(EngineError::Unavailable("it doesn't answer".into()))
        });
        answer.map(drop)
    }

    /// Runs a query. The answer is in RowBinary.
    pub(super) async fn query(&self, sql: String) -> Result<Vec<u8>, EngineError> {
        self.query_within(sql, QueryLimits::REPORT).await
    }

    pub(super) async fn query_within(
        &self,
        sql: String,
        limits: QueryLimits,
    ) -> Result<Vec<u8>, EngineError> {
        let seconds = limits.time.as_secs().to_string();
        let mut settings = vec![("default_format", "RowBinary"), ("max_execution_time", &*seconds)];
        if self.cluster.is_some() {
            settings.push(CONSISTENT_READ);
        }
        self.post(&settings, sql.into_bytes(), limits).await
    }

    /// Runs a statement that changes tables or rows.
    pub(super) async fn execute(&self, sql: String, settings: &[(&str, &str)]) -> Result<(), EngineError> {
        self.post(settings, sql.into_bytes(), QueryLimits::of_time(STATEMENT_TIMEOUT)).await.map(drop)
    }

    /// Inserts rows in RowBinary once, however often it is called with this token.
    pub(super) async fn insert(&self, sql: &str, token: &str, rows: Vec<u8>) -> Result<(), EngineError> {
        let mut settings = vec![("query", sql)];
        settings.extend(insert_settings(token, self.cluster.is_some()));
        self.post(&settings, rows, QueryLimits::of_time(INSERT_TIMEOUT)).await.map(drop)
    }

    async fn post(
        &self,
        settings: &[(&str, &str)],
        body: Vec<u8>,
        limits: QueryLimits,
    ) -> Result<Vec<u8>, EngineError> {
        let request = self
            .client
            .post(self.url.address.clone())
            // An error in the middle of an answer gets its own status.
            .query(&[("wait_end_of_query", "1"), ("max_query_size", MAX_QUERY_BYTES)])
            .query(&[("max_ast_elements", MAX_ELEMENTS), ("max_expanded_ast_elements", MAX_ELEMENTS)])
            .query(settings)
            .header("X-ClickHouse-User", &self.url.user)
            .header("X-ClickHouse-Database", &self.url.database)
            .timeout(limits.time)
            .body(body);
        let request = match &self.url.password {
            Some(password) => request.header("X-ClickHouse-Key", password.reveal()),
            None => request,
        };
        let answer = request.send().await;
        self.is_silent.store(answer.is_err(), Ordering::Relaxed);
        let answer = answer.map_err(|error| unavailable(&error))?;
        let code = answer.headers().get(EXCEPTION_CODE).and_then(|code| code.to_str().ok()?.parse().ok());
        match (answer.status().is_success(), code) {
            (true, None) => read(answer, limits.bytes).await,
            (_, code) => Err(refusal(answer, code).await),
        }
    }
}

/// The settings of an insert. Each of them has a default that loses or doubles rows.
pub(super) fn insert_settings(token: &str, is_cluster: bool) -> Vec<(&str, &str)> {
    let mut settings = vec![
        ("insert_deduplication_token", token),
        // By default, asynchronous inserts are on, and they are not deduplicated.
        ("async_insert", "0"),
        // A retry repairs a rollup that the first try did not write.
        ("deduplicate_blocks_in_dependent_materialized_views", "1"),
        // Imports have views of many months.
        ("max_partitions_per_insert_block", "0"),
    ];
    if is_cluster {
        settings.extend(QUORUM);
    }
    settings
}

fn unavailable(error: &reqwest::Error) -> EngineError {
    match error.is_timeout() {
        true => EngineError::TooSlow("it took too long".into()),
        false => EngineError::Unavailable(connection_cause(error, 200)),
    }
}

async fn read(mut answer: Response, max_bytes: usize) -> Result<Vec<u8>, EngineError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| unavailable(&error))? {
        if bytes.len() + chunk.len() > max_bytes {
            return Err(EngineError::TooLarge(format!("its answer has more than {max_bytes} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn refusal(answer: Response, code: Option<u16>) -> EngineError {
    let status = answer.status();
    let text = read(answer, MAX_ERROR_BYTES).await.unwrap_or_default();
    let text = sanitize(&String::from_utf8_lossy(&text), MAX_ERROR_CHARS);
    error_of(code, if text.is_empty() { format!("status {status}") } else { text })
}

fn error_of(code: Option<u16>, text: String) -> EngineError {
    match code {
        Some(code) if MISTAKES.contains(&code) => EngineError::Refused(text),
        Some(code) if SLOW.contains(&code) => EngineError::TooSlow(text),
        Some(MEMORY_LIMIT) if OWN_LIMIT.iter().any(|own| text.contains(own)) => EngineError::TooLarge(text),
        Some(MEMORY_LIMIT) => EngineError::TooSlow(text),
        _ => EngineError::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_memory_of_the_query_itself_makes_it_too_large() {
        let of = |code, text: &str| error_of(Some(code), text.into());
        assert!(matches!(of(241, "Query memory limit exceeded: would use 98 MiB"), EngineError::TooLarge(_)));
        assert!(matches!(of(241, "Memory limit (for query) exceeded"), EngineError::TooLarge(_)));
        assert!(matches!(of(241, "(total) memory limit exceeded"), EngineError::TooSlow(_)));
        assert!(matches!(of(241, "User memory limit exceeded"), EngineError::TooSlow(_)));
        assert!(matches!(of(159, "Timeout exceeded"), EngineError::TooSlow(_)));
        assert!(matches!(of(62, "Syntax error"), EngineError::Refused(_)));
        assert!(matches!(of(286, "quorum"), EngineError::Unavailable(_)));
    }

    #[test]
    fn inserts_are_synchronous_durable_and_deduplicated() {
        let text = |is_cluster| {
            let settings = insert_settings("7f", is_cluster).into_iter();
            settings.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
        };
        let both = "insert_deduplication_token=7f&async_insert=0\
            &deduplicate_blocks_in_dependent_materialized_views=1&max_partitions_per_insert_block=0";
        assert_eq!(text(false), both);
        assert_eq!(text(true), format!("{both}&insert_quorum=auto&insert_quorum_parallel=0"));
    }
}
