//! Looks for values that are known to be secret, in all spellings of them and in parts.
//!
//! The values are encoded and the text is read once, rather than the text decoded in every way that there
//! is: a window of ten letters and digits slides over it. So it does not matter where a secret was cut, as
//! long as pieces of that length are left of it, nor what stands between the pieces.

use std::collections::{HashMap, HashSet};

/// Ten letters or digits out of thirty-six, whatever their case: a chance of one in 10^15.
const WINDOW: usize = 10;
/// A shorter secret would be found everywhere.
const MIN_SECRET: usize = 6;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[derive(Default)]
pub(super) struct Known {
    windows: HashSet<[u8; WINDOW]>,
    /// Values that are compared as a whole, by length: they are too short or too much like words to be cut.
    whole: HashMap<usize, HashSet<Vec<u8>>>,
}

impl Known {
    pub(super) fn new(secrets: &[&str]) -> Self {
        let mut known = Self::default();
        for secret in secrets.iter().map(|secret| secret.trim()).filter(|s| s.len() >= MIN_SECRET) {
            let bytes = secret.as_bytes();
            let back: Vec<u8> = bytes.iter().rev().copied().collect();
            // What every key of its maker begins with gives nothing away.
            known.add(own_part(bytes), bytes);
            known.add(&back[..own_part(bytes).len()], &back);
            for form in encoded(bytes) {
                known.add(&form, &form);
                for nested in encoded(&form) {
                    known.add(&nested, &nested);
                }
            }
        }
        known
    }

    fn add(&mut self, own: &[u8], all: &[u8]) {
        let (own, all) = (letters(own), letters(all));
        let telling: Vec<_> = own.windows(WINDOW).filter(|w| is_telling(w)).filter_map(folded).collect();
        if telling.is_empty() && all.len() >= MIN_SECRET {
            self.whole.entry(all.len()).or_default().insert(all.to_ascii_lowercase());
        }
        self.windows.extend(telling);
    }

    /// Where the first sign of a secret is.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        if self.windows.is_empty() && self.whole.is_empty() {
            return None;
        }
        let places: Vec<usize> =
            text.bytes().enumerate().filter(|(_, b)| b.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
        let solid = letters(text.as_bytes()).to_ascii_lowercase();
        let part = solid.windows(WINDOW).position(|w| folded(w).is_some_and(|w| self.windows.contains(&w)));
        let whole = || {
            self.whole.iter().find_map(|(length, values)| {
                solid.windows(*length).position(|window| values.contains(window))
            })
        };
        part.or_else(whole).and_then(|at| places.get(at).copied())
    }
}

/// Hexadecimal, and base64 for each of the three places that a value can have in what is encoded.
fn encoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let hex = bytes.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect();
    let mut forms = vec![hex];
    for shift in 0..3 {
        let moved: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
        let digits = base64(&moved);
        // The digits at both ends also depend on what stands beside the value.
        let first = [0, 2, 3][shift];
        let last = digits.len().saturating_sub(usize::from(!moved.len().is_multiple_of(3)));
        forms.push(digits.get(first..last).unwrap_or_default().to_vec());
    }
    forms
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(bytes.len() * 4 / 3 + 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        digits.extend((0..=three.len()).map(|digit| BASE64[(bits >> (18 - 6 * digit)) as usize & 63]));
    }
    digits
}

fn letters(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(u8::is_ascii_alphanumeric).collect()
}

fn folded(window: &[u8]) -> Option<[u8; WINDOW]> {
    window.to_ascii_lowercase().try_into().ok()
}

/// The value without a prefix such as `github_pat_` or `sk-ant-api03-`.
fn own_part(bytes: &[u8]) -> &[u8] {
    const MAX_PREFIX: usize = 14;
    let prefix = bytes.iter().take(MAX_PREFIX).rposition(|b| matches!(b, b'_' | b'-'));
    prefix.map_or(bytes, |at| &bytes[at + 1..])
}

/// Words have no digits in them and no capitals amid; a window of them may stand in any page.
fn is_telling(window: &[u8]) -> bool {
    let digits = window.iter().filter(|b| b.is_ascii_digit()).count();
    let capitals = window.iter().filter(|b| b.is_ascii_uppercase()).count();
    let small = window.len() - digits - capitals;
    let different = window.iter().collect::<HashSet<_>>().len();
    different >= 5 && ((2..9).contains(&digits) || (capitals >= 2 && small >= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "ghp_kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYo";

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(Known::new(&[SECRET, "hunter2-pass"]).find(text).is_some(), expected, "{text}");
    }

    #[test]
    fn spellings() {
        check(SECRET, true);
        check(&SECRET.to_uppercase(), true);
        check(&SECRET.chars().rev().collect::<String>(), true);
        for prefix in ["", "a", "ab"] {
            let once = base64(format!("{prefix}{SECRET} and more").as_bytes());
            let twice = base64(&once);
            check(&String::from_utf8(once).unwrap(), true);
            check(&String::from_utf8(twice).unwrap(), true);
        }
        check(&SECRET.bytes().map(|b| format!("{b:02X} ")).collect::<String>(), true);
        check("first kJ8fT2mQz5, then RrLw0XyV3b, then N7cH1dGs6P", true);
        check("k-J-8-f-T-2-m-Q-z-5-R-r", true);
        check("the word is Hunter2 Pass!", true);
    }

    #[test]
    fn no_secrets() {
        check("ghp_ is what a token begins with", false);
        check("kJ8fT2mQ", false);
        check("hunter2", false);
        check("", false);
        assert!(Known::new(&["", "abc"]).find("abc").is_none());
    }
}
