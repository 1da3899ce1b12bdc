//! What `docwright project …` is told about a repository host.

use std::path::PathBuf;

use clap::Args as Arguments;
use store::Author;

/// Of a repository on GitHub, GitLab, Gitea or Forgejo.
#[derive(Arguments)]
#[command(next_help_heading = "Repository host")]
pub(crate) struct HostArgs {
    /// A file with a token for the repository's host; kept encrypted
    #[arg(long, value_name = "FILE", conflicts_with = "app_key_file")]
    pub(crate) token_file: Option<PathBuf>,
    /// A file with the private key of a GitHub App, instead of a token; kept encrypted
    #[arg(long, value_name = "FILE", requires = "app")]
    pub(crate) app_key_file: Option<PathBuf>,
    /// The id of that app
    #[arg(long, value_name = "ID", value_parser = parse_app, requires = "app_key_file", conflicts_with = "token_file")]
    pub(crate) app: Option<String>,
    /// Its installation [default: the one that has the repository]
    #[arg(long, value_name = "NUMBER", requires = "app")]
    pub(crate) installation: Option<u64>,
    /// The kind of host: github, gitlab, gitea or forgejo [default: what it turns out to be]; "" finds out again
    #[arg(long, value_name = "KIND", value_parser = server::parse_host_kind)]
    pub(crate) host: Option<String>,
    /// A label for every pull request; can be given again, and "" is none
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    /// Who is asked to review every pull request, or organization/team; can be given again, and "" is nobody
    #[arg(long, value_name = "USER")]
    pub(crate) reviewer: Vec<String>,
    /// Whom commits are by, such as "Docs Bot <bot@acme.dev>" [default: Docwright]
    #[arg(long, value_name = "AUTHOR", value_parser = parse_author)]
    pub(crate) author: Option<AuthorText>,
}

/// An author, or nobody in particular.
#[derive(Clone)]
pub(crate) struct AuthorText(pub(crate) Option<Author>);

/// An empty one says that it is us. Names and addresses go into commits, line by line.
fn parse_author(text: &str) -> Result<AuthorText, String> {
    if text.is_empty() {
        return Ok(AuthorText(None));
    }
    let author = text.strip_suffix('>').and_then(|text| text.split_once('<'));
    let author = author.map(|(name, email)| (name.trim(), email.trim()));
    let plain = |text: &str| !text.is_empty() && !text.contains(['<', '>']);
    let is_one_line = text.len() <= 300 && !text.contains(char::is_control);
    match author {
        Some((name, email)) if plain(name) && plain(email) && email.contains('@') && is_one_line => {
            Ok(AuthorText(Some(Author { name: name.to_owned(), email: email.to_owned() })))
        }
        _ => Err("an author looks like \"Docs Bot <bot@acme.dev>\"".into()),
    }
}

fn parse_app(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    match (1..=64).contains(&text.len()) && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("an app's id is its number, or its client id, on its page at GitHub".into()),
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
