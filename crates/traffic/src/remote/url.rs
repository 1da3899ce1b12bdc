//! Parses the URL of the ClickHouse server, and shows it without the password.

use std::fmt;
use std::str::FromStr;

use net::Secret;
use percent_encoding::percent_decode_str;
use reqwest::Url;

/// `https://user:password@host:8443/database`; shown without the password.
#[derive(Clone)]
pub struct ViewsUrl {
    /// Without user, password and database.
    pub(super) address: Url,
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    pub(super) database: String,
}

const EXAMPLE: &str = "a URL for page views looks like https://user@host:8443/database";

impl FromStr for ViewsUrl {
    type Err = String;

    /// No message has a part of the URL, because it may have a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut address = Url::parse(text).map_err(|_| EXAMPLE)?;
        if !matches!(address.scheme(), "http" | "https") || !address.has_host() {
            return Err(EXAMPLE.into());
        }
        if address.query().is_some() || address.fragment().is_some() {
            return Err("the URL for page views must have no parameters".into());
        }
        let decoded =
            |text: &str| percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| EXAMPLE);
        let database = decoded(address.path().trim_matches('/'))?;
        if !is_clickhouse_name(&database) {
            return Err(format!("{EXAMPLE}; the database is a name of letters, digits and _"));
        }
        let user = decoded(address.username())?;
        let password = address.password().map(decoded).transpose()?;
        let password = password.map(|text| {
            Secret::parse(&text)
                .ok_or("the password of the URL for page views must be visible ASCII characters")
        });
        let password = password.transpose()?;
        address.set_path("/");
        let (no_password, no_user) = (address.set_password(None), address.set_username(""));
        if no_password.and(no_user).is_err() {
            return Err(EXAMPLE.into());
        }
        let user = if user.is_empty() { "default".into() } else { user };
        Ok(Self { address, user, password, database })
    }
}

/// Whether a text can be an identifier of ClickHouse without quotes.
pub fn is_clickhouse_name(text: &str) -> bool {
    let is_start = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    is_start && text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl ViewsUrl {
    /// The same server with another password, from a variable or a file.
    #[must_use]
    pub fn with_password(mut self, password: Secret) -> Self {
        self.password = Some(password);
        self
    }

    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }
}

impl fmt::Display for ViewsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} as {}", self.database, self.address.as_str().trim_end_matches('/'), self.user)
    }
}

impl fmt::Debug for ViewsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewsUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        #[track_caller]
        fn check(url: &str, expected: Result<&str, &str>) {
            let parsed = url.parse::<ViewsUrl>();
            assert!(!format!("{parsed:?}").contains("s3cret"));
            assert_eq!(parsed.map(|url| url.to_string()).as_deref().map_err(String::as_str), expected);
        }
        check("https://dw:s3cret@ch.acme.dev:8443/views", Ok("views on https://ch.acme.dev:8443 as dw"));
        check("http://127.0.0.1:8123/views/", Ok("views on http://127.0.0.1:8123 as default"));
        check("clickhouse://dw:s3cret@ch/views", Err(EXAMPLE));
        check("s3cret", Err(EXAMPLE));
        let name = format!("{EXAMPLE}; the database is a name of letters, digits and _");
        check("http://s3cret@ch", Err(&name));
        check("http://dw:s3cret@ch/a-b", Err(&name));
        check("http://ch/views?password=s3cret", Err("the URL for page views must have no parameters"));
        let password = "the password of the URL for page views must be visible ASCII characters";
        check("http://dw:s3cret%0A%0Dx@ch/views", Err(password));
        let decoded: ViewsUrl = "http://dw:p%40ss@ch/views".parse().unwrap();
        assert_eq!(decoded.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!(decoded.address.as_str(), "http://ch/");
    }
}
