//! Where the data is.

use std::path::PathBuf;

use clap::Args as Arguments;

/// Where the data is.
#[derive(Arguments, Clone, Default)]
pub(crate) struct Data {
    /// The data directory [default: docwright in the XDG data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A PostgreSQL database for everything but page views; one with a password goes into
    /// DOCWRIGHT_DATABASE_URL [default: SQLite in the data directory]
    #[arg(long, value_name = "URL")]
    pub(crate) database_url: Option<String>,
}

impl Data {
    /// Both as they were given.
    pub(crate) fn again(&self) -> String {
        let data = self.data.as_ref().map(|dir| format!(" --data {}", quoted(&dir.to_string_lossy())));
        let url = self.database_url.as_ref().map(|url| format!(" --database-url {}", quoted(url)));
        data.unwrap_or_default() + &url.unwrap_or_default()
    }
}

/// A word as any shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%=".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_is_about_the_same_data() {
        let again = |data: &str| Data { data: Some(data.into()), database_url: None }.again();
        assert_eq!(Data::default().again(), "");
        assert_eq!(again("/srv/a-1.b"), " --data /srv/a-1.b");
        assert_eq!(again("my docs; it's"), r" --data 'my docs; it'\''s'");
        let url = Data { data: None, database_url: Some("postgres://a@h/d?x=1&y".into()) };
        assert_eq!(url.again(), " --database-url 'postgres://a@h/d?x=1&y'");
    }
}
