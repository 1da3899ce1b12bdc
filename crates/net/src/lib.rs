//! HTTP clients for models and repository hosts, protected against SSRF and leaks.
//!
//! Users choose the URLs, other parties control their DNS records, and the responses are untrusted. So an
//! address is checked when it is configured and again after every DNS lookup, redirects are not followed,
//! keys are never printed, and text from a response is truncated and sanitized before it is shown.

mod address;
mod remote_message;
mod retry_after;
mod secret;

use std::error::Error;
use std::time::Duration;

use reqwest::{ClientBuilder, redirect};

pub use address::{BlockedAddress, is_private_url, parse_url};
pub use remote_message::{RemoteMessage, may_quote, quote_test_host, redact, sanitize};
pub use retry_after::{parse_seconds, retry_after};
pub use secret::Secret;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which addresses the operator allows the server to call.
#[derive(Debug, Clone, Copy, Default)]
pub struct NetworkPolicy {
    /// Also allow addresses on this machine and in private networks.
    pub allow_private: bool,
    /// Use the proxy from the environment. Then the proxy resolves names and decides which addresses are
    /// allowed.
    pub use_proxy: bool,
}

/// An HTTP client that calls only allowed addresses and follows no redirects. The caller sets the timeout for
/// a response.
pub fn client(policy: NetworkPolicy) -> ClientBuilder {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("docwright/", env!("CARGO_PKG_VERSION")));
    match policy.use_proxy {
        true => client,
        false => {
            client.no_proxy().dns_resolver(address::FilteringResolver { allow_private: policy.allow_private })
        }
    }
}

/// The innermost cause. For a failed connection, it is the only informative one.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// Why a connection failed, without the content of the peer's certificate.
pub fn connection_cause(error: &(dyn Error + 'static), max_chars: usize) -> String {
    let cause = root_cause(error);
    sanitize(cause.split(';').next().unwrap_or_default(), max_chars)
}

/// Finds a cause of type `T` in the chain of an error.
pub fn find_cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    error.downcast_ref().or_else(|| error.source().and_then(find_cause))
}
