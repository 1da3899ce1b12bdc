//! Finds known secret values, in all encodings and in pieces.
//!
//! The values are encoded beforehand, so the text is read only once: a window of ten letters and digits slides over it.
//! So a secret is found wherever it was split, if a piece has at least that length, whatever is between the pieces.

use std::collections::{HashMap, HashSet};

/// The chance that ten of 36 letters and digits, ignoring case, match by accident is one in 10^15.
const WINDOW: usize = 10;
/// A shorter value would match ordinary text.
const MIN_SECRET: usize = 6;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[derive(Default)]
pub(super) struct KnownValues {
    windows: HashSet<[u8; WINDOW]>,
    /// Values that only match as a whole, by length: they are too short or too similar to words to match in pieces.
    whole: HashMap<usize, HashSet<Vec<u8>>>,
}

impl KnownValues {
    pub(super) fn new(secrets: &[&str]) -> Self {
        let mut known = Self::default();
        for secret in secrets.iter().map(|secret| secret.trim()).filter(|s| s.len() >= MIN_SECRET) {
            let bytes = secret.as_bytes();
            let back: Vec<u8> = bytes.iter().rev().copied().collect();
            // The prefix that all keys of a provider have is no secret.
            known.add(without_prefix(bytes), bytes);
            known.add(&back[..without_prefix(bytes).len()], &back);
            for form in encoded(bytes) {
                known.add(&form, &form);
                for nested in encoded(&form) {
                    known.add(&nested, &nested);
                }
            }
        }
        known
    }

    fn add(&mut self, secret: &[u8], all: &[u8]) {
        let (secret, all) = (letters(secret), letters(all));
        let distinctive: Vec<_> =
            secret.windows(WINDOW).filter(|w| is_distinctive(w)).filter_map(fold_case).collect();
        if distinctive.is_empty() && all.len() >= MIN_SECRET {
            self.whole.entry(all.len()).or_default().insert(all.to_ascii_lowercase());
        }
        self.windows.extend(distinctive);
    }

    /// Returns the offset of the first match.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        if self.windows.is_empty() && self.whole.is_empty() {
            return None;
        }
        let offsets: Vec<usize> =
            text.bytes().enumerate().filter(|(_, b)| b.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
        let text = letters(text.as_bytes()).to_ascii_lowercase();
        let part = text.windows(WINDOW).position(|w| fold_case(w).is_some_and(|w| self.windows.contains(&w)));
        let whole = || {
            self.whole
                .iter()
                .find_map(|(length, values)| text.windows(*length).position(|window| values.contains(window)))
        };
        part.or_else(whole).and_then(|at| offsets.get(at).copied())
    }
}

/// Encodes a value in hexadecimal, and in base64 for each of its three possible offsets.
fn encoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let hex = bytes.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect();
    let mut forms = vec![hex];
    for shift in 0..3 {
        let moved: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
        let digits = base64(&moved);
        // The digits at both ends also depend on the neighboring bytes.
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

fn fold_case(window: &[u8]) -> Option<[u8; WINDOW]> {
    window.to_ascii_lowercase().try_into().ok()
}

/// The value without a prefix such as `github_pat_` or `sk-ant-api03-`.
fn without_prefix(bytes: &[u8]) -> &[u8] {
    const MAX_PREFIX: usize = 14;
    let prefix = bytes.iter().take(MAX_PREFIX).rposition(|b| matches!(b, b'_' | b'-'));
    prefix.map_or(bytes, |at| &bytes[at + 1..])
}

/// Whether a window is unlike words, which have neither digits nor capitals inside.
fn is_distinctive(window: &[u8]) -> bool {
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
        assert_eq!(KnownValues::new(&[SECRET, "hunter2-pass"]).find(text).is_some(), expected, "{text}");
    }

    #[test]
    fn encodings_and_pieces_are_found() {
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
    fn other_text_is_not_found() {
        check("ghp_ is what a token begins with", false);
        check("kJ8fT2mQ", false);
        check("hunter2", false);
        check("", false);
        assert!(KnownValues::new(&["", "abc"]).find("abc").is_none());
    }
}
