//! Parses the URL of a database, and shows it without the password.

use std::fmt;
use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

/// Parameters that may follow the `?`. The driver would log the values of unknown ones.
const KNOWN: &[&str] =
    &["sslmode", "sslrootcert", "sslcert", "sslkey", "host", "port", "dbname", "user", "password"];
/// Limits of the database: the time of a statement, and the idle time of a transaction whose server is gone.
const TIMES: [(&str, &str); 3] = [
    ("statement_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "15s"),
    ("tcp_keepalives_idle", "30"),
];

/// `postgres://user:password@host/database`; shown without the password.
#[derive(Clone)]
pub struct DatabaseUrl(PgConnectOptions);

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("a database URL looks like postgres://user:password@host/database".into());
        }
        let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
        let names = parameters.split('&').filter_map(|pair| pair.split('=').next());
        if let Some(name) = names.filter(|name| !name.is_empty()).find(|name| !KNOWN.contains(name)) {
            return Err(format!("the database URL has a parameter `{name}`; known are {}", KNOWN.join(", ")));
        }
        // The driver's message could have a part of the URL.
        let options: PgConnectOptions = url.parse().map_err(|_| {
            "the database URL cannot be read: a password is written with %-escapes, as in p%40ss for p@ss"
        })?;
        Ok(Self(options))
    }
}

impl DatabaseUrl {
    /// Whether a URL, which can be invalid, has a password.
    pub fn has_password(url: &str) -> bool {
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let user = address.split_once("://").map_or(address, |(_, rest)| rest);
        let user = user.rsplit_once('@').map_or("", |(user, _)| user);
        user.contains(':') || parameters.split('&').any(|pair| pair.starts_with("password="))
    }

    /// Arguments for PostgreSQL's programs, which ask for the password themselves.
    pub fn arguments(&self) -> Vec<String> {
        let host = match self.0.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => self.0.get_host().to_owned(),
        };
        let user = self.0.get_username();
        [
            ("host", host),
            ("port", self.0.get_port().to_string()),
            ("username", user.to_owned()),
            ("dbname", self.0.get_database().unwrap_or(user).to_owned()),
        ]
        .map(|(name, value)| format!("--{name}={value}"))
        .into()
    }

    pub(super) fn options(&self) -> PgConnectOptions {
        self.0.clone().application_name("docwright").options(TIMES).disable_statement_logging()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.0.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", self.0.get_host(), self.0.get_port()),
        };
        let user = self.0.get_username();
        write!(f, "{} on {host} as {user}", self.0.get_database().unwrap_or(user))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        #[track_caller]
        fn check(url: &str, expected: Result<&str, &str>) {
            let shown = url.parse::<DatabaseUrl>().map(|url| url.to_string());
            assert_eq!(shown.as_deref().map_err(String::as_str), expected);
            let debugged = format!("{:?}", url.parse::<DatabaseUrl>());
            assert!(!debugged.contains("s3cret"), "{debugged}");
        }
        check("postgres://dw:s3cret@db.acme.dev/docs", Ok("docs on db.acme.dev:5432 as dw"));
        check(
            "postgresql://dw:s3cret%40x@[::1]:5433/docs?sslmode=verify-full",
            Ok("docs on [::1]:5433 as dw"),
        );
        check("postgres://dw@localhost/docs?host=/run/postgresql", Ok("docs on /run/postgresql as dw"));
        let no = "a database URL looks like postgres://user:password@host/database";
        check("mysql://dw:s3cret@db/docs", Err(no));
        check("s3cret", Err(no));
        let unread =
            "the database URL cannot be read: a password is written with %-escapes, as in p%40ss for p@ss";
        check("postgres://dw:s3cret@db:port/docs", Err(unread));
        let unknown = "the database URL has a parameter `pasword`; known are sslmode, sslrootcert, sslcert, sslkey, host, port, dbname, user, password";
        check("postgres://dw@db/docs?pasword=s3cret", Err(unknown));
    }

    #[test]
    fn arguments_have_no_password() {
        #[track_caller]
        fn check(url: &str, expected: &str) {
            assert_eq!(url.parse::<DatabaseUrl>().unwrap().arguments().join(" "), expected);
        }
        check(
            "postgres://dw:s3cret@db.acme.dev:5433/docs",
            "--host=db.acme.dev --port=5433 --username=dw --dbname=docs",
        );
        check(
            "postgres://dw@localhost/docs?host=/run/postgresql&password=s3cret",
            "--host=/run/postgresql --port=5432 --username=dw --dbname=docs",
        );
    }

    #[test]
    fn passwords() {
        let with = ["postgres://dw:x@db/docs", "postgres://dw@db/docs?user=x&password=y", "dw:a@b@db"];
        assert!(with.iter().all(|url| DatabaseUrl::has_password(url)));
        let without = ["postgres://dw@db:5432/docs", "postgres://db/docs?sslmode=require", "", "postgres://"];
        assert!(!without.iter().any(|url| DatabaseUrl::has_password(url)));
    }
}
