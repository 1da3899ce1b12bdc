//! Declares `docwright user` and `docwright audit`.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};
use store::{Role, parse_person_name};

use super::{Data, List, checked};

#[derive(Subcommand)]
pub(crate) enum UserCommand {
    /// List members
    List(List),
    /// Print a link with which one person can join, within seven days
    Invite(InviteUser),
    /// List unused invitations
    Invitations(List),
    /// Withdraw an invitation: its link stops working
    Withdraw(WithdrawInvitation),
    /// Remove a member, end their sessions, and revoke the API keys that they created
    Remove(RemoveUser),
    /// Set a new password for a member, and end their sessions
    Password(UserPassword),
    /// List the sessions that began with a link from `docwright login`
    Sessions(List),
    /// End a session that began with a link from `docwright login`
    EndSession(EndSession),
}

#[derive(Arguments)]
pub(crate) struct InviteUser {
    /// Invite as member or owner; an owner can also change members and settings
    #[arg(long, value_name = "ROLE", default_value = "member")]
    pub(crate) role: Role,
    /// Invite to this organization; required if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// Use this URL of the server in the link [default: the server's own public URL]
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"inviteUrl"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct WithdrawInvitation {
    /// The invitation's ID, from `docwright user invitations`
    #[arg(value_name = "INVITATION")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct EndSession {
    /// The session's ID, from `docwright user sessions`
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct RemoveUser {
    /// The name with which the member signs in
    #[arg(value_name = "NAME", value_parser = parse_person_name)]
    pub(crate) name: String,
    /// Transfer their API keys to this owner, instead of revoking them
    #[arg(long, value_name = "OWNER", value_parser = parse_person_name)]
    pub(crate) keys_to: Option<String>,
    /// The member's organization; required if several have a member with that name
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct UserPassword {
    /// The name with which the member signs in
    #[arg(value_name = "NAME", value_parser = parse_person_name)]
    pub(crate) name: String,
    /// The member's organization; required if several have a member with that name
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// Read the new password from this file; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) password_file: PathBuf,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct Audit {
    /// Show this organization; required if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// Show up to this many entries, newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}
