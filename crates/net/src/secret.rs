//! A key or a token.

use std::fmt;

use zeroize::Zeroizing;

/// A key. It is wiped from memory when it goes, and shows itself to nobody.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Without the white space around it, which files end with. `None` when it cannot be sent as a
    /// header: empty, or with letters that no key has.
    pub fn parse(text: &str) -> Option<Self> {
        let key = text.trim();
        let sane = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        sane.then(|| Self(Zeroizing::new(key.to_owned())))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_to_nobody() {
        let key = Secret::parse(" sk-very-secret\n").unwrap();
        assert_eq!((key.reveal(), format!("{key:?}").as_str()), ("sk-very-secret", "Secret"));
    }

    #[test]
    fn header_injection() {
        for key in ["", " \n", "a\r\nx-evil: 1", "a b", "ключ", "a\0"] {
            assert!(Secret::parse(key).is_none(), "{key:?}");
        }
    }
}
