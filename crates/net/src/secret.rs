//! Keeps API keys and tokens out of logs and wipes them from memory.

use std::fmt;

use zeroize::Zeroizing;

/// An API key or token. It is wiped from memory on drop, and `Debug` does not print it.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Trims white space, because files end with it. `None` when the key cannot be sent as a header: it is
    /// empty, or has characters other than visible ASCII.
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
    fn debug_output_hides_the_key() {
        let key = Secret::parse(" sk-very-secret\n").unwrap();
        assert_eq!((key.reveal(), format!("{key:?}").as_str()), ("sk-very-secret", "Secret"));
    }

    #[test]
    fn a_key_that_would_inject_a_header_is_refused() {
        for key in ["", " \n", "a\r\nx-evil: 1", "a b", "ключ", "a\0"] {
            assert!(Secret::parse(key).is_none(), "{key:?}");
        }
    }
}
