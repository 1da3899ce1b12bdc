//! `docwright user …` and `docwright audit`, as `--help` tells it.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};
use store::{Role, parse_person_name};

use super::{Data, List, checked};

#[derive(Subcommand)]
pub(crate) enum UserCommand {
    /// Lists the people who have an account
    List(List),
    /// Prints a link by which one person joins, within seven days
    Invite(InviteUser),
    /// Lists the invitations that nobody has used yet
    Invitations(List),
    /// Withdraws an invitation: its link works no more
    Withdraw(WithdrawInvitation),
    /// Removes a person, ends their sessions and revokes the API keys that they made
    Remove(RemoveUser),
    /// Sets a person's password anew and ends their sessions
    Password(UserPassword),
    /// Lists the sessions that began with a link of `docwright login`
    Sessions(List),
    /// Ends such a session
    EndSession(EndSession),
}

#[derive(Arguments)]
pub(crate) struct InviteUser {
    /// What they may do: member or owner
    #[arg(long, value_name = "ROLE", default_value = "member")]
    pub(crate) role: Role,
    /// The organization; needed when there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// How the server is reached from outside [default: as it was last started]
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
    /// Which one, by the id that `docwright user invitations` shows
    #[arg(value_name = "INVITATION")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct EndSession {
    /// Which one, by the id that `docwright user sessions` shows
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct RemoveUser {
    /// Whom, by the name they sign in with
    #[arg(value_name = "NAME", value_parser = parse_person_name)]
    pub(crate) name: String,
    /// An owner who takes over the API keys that they made, instead of revoking them
    #[arg(long, value_name = "OWNER", value_parser = parse_person_name)]
    pub(crate) keys_to: Option<String>,
    /// The organization; needed when several have somebody of that name
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct UserPassword {
    /// Whose, by the name they sign in with
    #[arg(value_name = "NAME", value_parser = parse_person_name)]
    pub(crate) name: String,
    /// The organization; needed when several have somebody of that name
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// A file that holds the new password; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) password_file: PathBuf,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct Audit {
    /// The organization; needed when there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// How many, newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}
