//! Declares `docwright key`.

use clap::{Args as Arguments, Subcommand};
use store::{Allow, AllowError, Expiry, Scope, parse_name};

use super::{Data, List, checked};

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Create an API key and print it: you can't see it again later
    Create(CreateKey),
    /// List API keys, without their secrets
    List(List),
    /// Revoke an API key: the server refuses the next request with it
    Revoke(RevokeKey),
}

#[derive(Arguments)]
pub(crate) struct CreateKey {
    /// Name the key, so that you recognize it later
    #[arg(long, value_name = "NAME", value_parser = |text: &str| parse_name("a key", text))]
    pub(crate) name: String,
    /// Create the key in this organization; required if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// Set what the key allows: read (only GET requests) or write (everything)
    #[arg(long, value_name = "read|write", default_value = "write", value_parser = parse_scope)]
    pub(crate) scope: Scope,
    /// Let the key expire after 7d, 30d, 60d or 90d, on a date such as 2027-01-31, or never
    #[arg(long, value_name = "WHEN", default_value = "90d", value_parser = parse_expiry)]
    pub(crate) expires: Expiry,
    /// Restrict the key to this project, by its ID. Repeat the flag for more
    #[arg(long, value_name = "ID")]
    pub(crate) project: Vec<String>,
    /// Restrict the key to this IP address or range. Repeat the flag for more
    #[arg(long, value_name = "CIDR", value_parser = checked(parse_allow))]
    pub(crate) allow: Vec<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the key with its properties as JSON: {"key", …}
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    text.parse()
}

fn parse_expiry(text: &str) -> Result<Expiry, String> {
    let (expiry, now): (Expiry, _) = (text.parse()?, jiff::Timestamp::now());
    let is_future = expiry.moment(now).is_none_or(|end| end > now);
    if is_future { Ok(expiry) } else { Err("the date is in the past: choose a later one".into()) }
}

fn parse_allow(text: &str) -> Result<Allow, AllowError> {
    Allow::parse([text])
}

#[derive(Arguments)]
pub(crate) struct RevokeKey {
    /// The key's ID, from `docwright key list`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the key, without its secret, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
