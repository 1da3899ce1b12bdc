//! Declares the flags of `docwright project` for repositories on a host.

use std::path::PathBuf;

use clap::Args as Arguments;
use store::Author;

/// For a repository on GitHub, GitLab, Gitea or Forgejo.
#[derive(Arguments)]
#[command(next_help_heading = "Repository host")]
pub(crate) struct HostArgs {
    /// Read a token for the repository host from this file, and store it encrypted; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "app_key_file")]
    pub(crate) token_file: Option<PathBuf>,
    /// Read the private key of a GitHub App from this file, instead of a token, and store it encrypted
    #[arg(long, value_name = "FILE", requires = "app")]
    pub(crate) app_key_file: Option<PathBuf>,
    /// Use the GitHub App with this ID
    #[arg(long, value_name = "ID", value_parser = parse_app, requires = "app_key_file", conflicts_with = "token_file")]
    pub(crate) app: Option<String>,
    /// Use this installation of the app [default: the one that has the repository]
    #[arg(long, value_name = "NUMBER", requires = "app")]
    pub(crate) installation: Option<u64>,
    /// Set the kind of host: github, gitlab, gitea or forgejo; "" detects it again [default: detected]
    #[arg(long, value_name = "KIND", value_parser = server::parse_host_kind)]
    pub(crate) host: Option<String>,
    /// Add this label to every pull request. Repeat the flag for more; "" removes all labels
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    /// Request a review of every pull request from this user or organization/team. Repeat the flag for more; ""
    /// removes all reviewers
    #[arg(long, value_name = "USER")]
    pub(crate) reviewer: Vec<String>,
    /// Use this author for commits, for example "Docs Bot <bot@acme.dev>" [default: Docwright]
    #[arg(long, value_name = "AUTHOR", value_parser = parse_author)]
    pub(crate) author: Option<AuthorChoice>,
}

/// `None` is the default author.
#[derive(Clone)]
pub(crate) struct AuthorChoice(pub(crate) Option<Author>);

/// An empty text chooses the default author. An author becomes a line of a commit, so it must not contain a line break.
fn parse_author(text: &str) -> Result<AuthorChoice, String> {
    if text.is_empty() {
        return Ok(AuthorChoice(None));
    }
    let author = text.strip_suffix('>').and_then(|text| text.split_once('<'));
    let author = author.map(|(name, email)| (name.trim(), email.trim()));
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['<', '>']);
    let is_one_line = text.len() <= 300 && !text.contains(char::is_control);
    match author {
        Some((name, email)) if is_plain(name) && is_plain(email) && email.contains('@') && is_one_line => {
            Ok(AuthorChoice(Some(Author { name: name.to_owned(), email: email.to_owned() })))
        }
        _ => Err("an author must look like \"Docs Bot <bot@acme.dev>\"".into()),
    }
}

fn parse_app(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    match (1..=64).contains(&text.len()) && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => {
            Err("an app's ID is its number or its client ID: copy it from the app's page on GitHub".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_injection() {
        for text in ["Bot", "Bot <bot>", "<a@b>", "Bot <a@b> x", "Bot\nX <a@b>", "Bot <a@b\n>", "A <b> <a@b>"]
        {
            assert!(parse_author(text).is_err(), "{text:?}");
        }
        let author = parse_author("Docs Bot <bot@acme.dev>").unwrap().0.unwrap();
        assert_eq!((author.name.as_str(), author.email.as_str()), ("Docs Bot", "bot@acme.dev"));
        assert!(parse_author("").unwrap().0.is_none());
    }
}
