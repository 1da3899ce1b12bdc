//! Declares the flags that name the data directory and the database.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args as Arguments;
use store::DatabaseUrl;

use crate::settings::help;

#[derive(Arguments, Clone, Default)]
pub(crate) struct Data {
    #[arg(long, value_name = "DIR", help = help("data"))]
    pub(crate) data: Option<PathBuf>,
    #[arg(long, value_name = "URL", help = help("database_url"))]
    pub(crate) database_url: Option<String>,
}

impl Data {
    /// The value of the flag for a setting, except the data directory, which is a path.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.database_url.as_deref().filter(|_| name == "database_url")
    }

    pub(crate) fn refuse_password_in_database_url(&self) -> anyhow::Result<()> {
        ensure!(
            !self.database_url.as_deref().is_some_and(DatabaseUrl::has_password),
            "every user of this machine can read a password on a command line: set DOCWRIGHT_DATABASE_URL or DOCWRIGHT_DATABASE_URL_FILE instead of --database-url"
        );
        Ok(())
    }

    /// Both flags as they were set, for a command that this one suggests. It may be run in another folder.
    pub(crate) fn repeat_flags(&self) -> String {
        let absolute = |dir: &PathBuf| std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
        let data =
            self.data.as_ref().map(|dir| format!(" --data {}", quote(&absolute(dir).to_string_lossy())));
        let url = self.database_url.as_ref().map(|url| format!(" --database-url {}", quote(url)));
        data.unwrap_or_default() + &url.unwrap_or_default()
    }
}

/// Quotes a word for a POSIX shell, if it needs quotes.
pub(crate) fn quote(word: &str) -> String {
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
    fn a_suggested_command_uses_the_same_data() {
        let repeat = |data: &str| Data { data: Some(data.into()), database_url: None }.repeat_flags();
        assert_eq!(Data::default().repeat_flags(), "");
        assert_eq!(repeat("/srv/a-1.b"), " --data /srv/a-1.b");
        assert_eq!(repeat("/my docs; it's"), r" --data '/my docs; it'\''s'");
        assert!(repeat("docs").ends_with("/docs") && repeat("docs").starts_with(" --data /"));
        let url = Data { data: None, database_url: Some("postgres://a@h/d?x=1&y".into()) };
        assert_eq!(url.repeat_flags(), " --database-url 'postgres://a@h/d?x=1&y'");
    }
}
