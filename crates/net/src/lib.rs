//! The way out to other machines: to the models and to the repository hosts.
//!
//! Where to go is written by people, looked up by strangers, and answered by whoever is there. So an
//! address is checked when it is written and once more when it is called, no redirect is followed, a
//! key shows itself to nobody, and what comes back is bounded and harmless before it is repeated.

mod address;
mod secret;
mod wait;
mod words;

use std::error::Error;
use std::time::Duration;

use reqwest::{ClientBuilder, redirect};

pub use address::{Refused, parse_url};
pub use secret::Secret;
pub use wait::{seconds, wait};
pub use words::{Words, harmless, may_quote, quote_test_host, without};

const CONNECT: Duration = Duration::from_secs(10);

/// What an operator lets us reach.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reach {
    /// Also what is on this machine or in this network.
    pub private: bool,
    /// Through the proxy that the environment names. It is the proxy then that looks names up and
    /// decides what can be reached.
    pub proxy: bool,
}

/// A client that calls nothing out of reach and follows nobody elsewhere. How long is waited for an
/// answer is its user's to say.
pub fn client(reach: Reach) -> ClientBuilder {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("docwright/", env!("CARGO_PKG_VERSION")));
    match reach.proxy {
        true => client,
        false => client.no_proxy().dns_resolver(address::Guard { allow_private: reach.private }),
    }
}

/// The innermost cause: of a connection that failed, it is the one that says something.
pub fn root(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), root)
}

/// Why a connection failed. What the other side's certificate says is left out.
pub fn connection_cause(error: &(dyn Error + 'static), most: usize) -> String {
    let cause = root(error);
    harmless(cause.split(';').next().unwrap_or_default(), most)
}

/// The cause of this type, however deep it is.
pub fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    error.downcast_ref().or_else(|| error.source().and_then(find))
}
