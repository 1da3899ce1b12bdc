//! Distinguishes random values, such as keys, from examples that a person wrote.

use pages::WordList;

/// Example keys from the providers' own manuals.
const DOCUMENTED: &[&str] = &[
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAI44QH8DHBEXAMPLE",
    "4eC39HqLyjWDarjtT1zdp7dc",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
];
const EXAMPLE_WORDS: WordList = WordList(
    "example placeholder redacted changeme replace insert dummy sample foobar your fake test demo here mock \
     secret password token apikey xxxx 0000 1111 abcdef 123456 deadbeef .... **** user value lorem string \
     invalid",
);
/// A real key has at least this many random characters.
const MIN_RANDOM: usize = 16;

/// Whether a value with the form of a key is an example: from a manual, made of words, or a pattern.
pub(super) fn is_example(value: &str) -> bool {
    if DOCUMENTED.iter().any(|known| value.contains(known)) || value.contains("...") {
        return true;
    }
    let rest = without_words(value);
    let letters: Vec<u8> = rest.bytes().filter(u8::is_ascii_alphanumeric).collect();
    // A word next to a real key does not make it an example.
    let has_words = rest.len() < value.len();
    letters.len() < MIN_RANDOM.min(value.len() / 2)
        || is_pattern(&letters)
        || has_words && (letters.len() < 20 || !is_mixed(&letters))
}

/// Whether a value looks random: no person would write it by hand.
pub(super) fn looks_random(value: &str) -> bool {
    let letters: Vec<u8> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    letters.len() >= MIN_RANDOM && is_mixed(&letters) && !is_example(value)
}

fn without_words(value: &str) -> String {
    let (mut kept, mut lower) = (value.to_owned(), value.to_ascii_lowercase());
    for word in EXAMPLE_WORDS.iter() {
        if !lower.contains(word) {
            continue;
        }
        // Removing a word can join another one, so the result is searched while it grows.
        let mut rest = String::with_capacity(kept.len());
        for c in kept.chars() {
            rest.push(c);
            let start = rest.len().checked_sub(word.len());
            let last = start.and_then(|start| rest.get(start..));
            if last.is_some_and(|last| last.eq_ignore_ascii_case(word)) {
                rest.truncate(rest.len() - word.len());
            }
        }
        lower = rest.to_ascii_lowercase();
        kept = rest;
    }
    kept
}

/// Few different characters, or sequences such as `abc123`.
fn is_pattern(letters: &[u8]) -> bool {
    let mut seen = [false; 128];
    letters.iter().for_each(|b| seen[usize::from(b & 127)] = true);
    let different = seen.iter().filter(|seen| **seen).count();
    let is_near = |pair: &&[u8]| pair[0].to_ascii_lowercase().abs_diff(pair[1].to_ascii_lowercase()) <= 1;
    let near = letters.windows(2).filter(is_near).count();
    different < (letters.len() / 2).min(8) || near * 5 > letters.len() * 2
}

/// Whether digits, lowercase and uppercase letters alternate often, unlike in words.
fn is_mixed(letters: &[u8]) -> bool {
    let kind = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    let changes = letters.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let digits = letters.iter().filter(|b| b.is_ascii_digit()).count();
    let is_hex = letters.iter().all(u8::is_ascii_hexdigit);
    let min_changes = if is_hex { letters.len() / 5 } else { letters.len() * 3 / 10 };
    let has_digits = digits * 10 >= letters.len() / 2 || letters.len() >= 30;
    let only_digits = digits == letters.len();
    changes >= min_changes && has_digits && !only_digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_recognized() {
        for value in [
            "q7Rt2LpX9vKd4WzN8mBc",
            "9f86d081884c7d659a2feaa0c55ad015",
            "kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYo",
            "q7Rt2LpX9vKd4WzN8mBcExample",
            "wPq8RtkXLvNdWzBcMfGhJsYaQeTuZoHi",
        ] {
            assert!(looks_random(value), "{value}");
        }
    }

    #[test]
    fn words_are_removed_until_none_is_left() {
        assert_eq!(without_words("a-TEteStst-é-userrr"), "a--é-rr");
    }

    #[test]
    fn handwritten_values_are_not_random() {
        for value in [
            "",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "your-api-key-goes-here-1234",
            "abcdefghijklmnopqrstuvwxyz0123456789",
            "1234567890abcdef1234567890abcdef",
            "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
            "getUserTokenFromRequestHeaders",
            "my-very-long-service-account-name",
            "20240101120000000000",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "0123456789abcdef0123456789abcdef",
        ] {
            assert!(!looks_random(value), "{value}");
        }
    }
}
