//! `docwright key …`, as `--help` tells it.

use clap::{Args as Arguments, Subcommand};
use store::{Allow, AllowError, Expiry, Scope, parse_name};

use super::{Data, List, checked};

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Makes a key and prints it, this once
    Create(CreateKey),
    /// Lists keys; the secrets themselves are not kept
    List(List),
    /// Ends a key; the next request with it is refused
    Revoke(RevokeKey),
}

#[derive(Arguments)]
pub(crate) struct CreateKey {
    /// Its name, to recognize it by
    #[arg(long, value_name = "NAME", value_parser = |text: &str| parse_name("a key", text))]
    pub(crate) name: String,
    /// The organization it belongs to; needed when there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// read: GET alone; write: everything
    #[arg(long, value_name = "read|write", default_value = "write", value_parser = parse_scope)]
    pub(crate) scope: Scope,
    /// 7d, 30d, 60d, 90d, a date such as 2027-01-31, or never
    #[arg(long, value_name = "WHEN", default_value = "90d", value_parser = parse_expiry)]
    pub(crate) expires: Expiry,
    /// Only for this project; can be given again
    #[arg(long, value_name = "ID")]
    pub(crate) project: Vec<String>,
    /// Only from this address or range; can be given again
    #[arg(long, value_name = "CIDR", value_parser = checked(parse_allow))]
    pub(crate) allow: Vec<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"key", …} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    text.parse()
}

fn parse_expiry(text: &str) -> Result<Expiry, String> {
    let (expiry, now): (Expiry, _) = (text.parse()?, jiff::Timestamp::now());
    let ahead = expiry.moment(now).is_none_or(|end| end > now);
    if ahead { Ok(expiry) } else { Err("that is in the past".into()) }
}

fn parse_allow(text: &str) -> Result<Allow, AllowError> {
    Allow::parse([text])
}

#[derive(Arguments)]
pub(crate) struct RevokeKey {
    /// The key's id, as `docwright key list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the key, without its secret, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
