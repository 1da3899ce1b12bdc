//! Tells what was drawn at random from what was written by a person as an example.

use pages::WordList;

/// Keys that their makers print in their own manuals.
const DOCUMENTED: &[&str] = &[
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAI44QH8DHBEXAMPLE",
    "4eC39HqLyjWDarjtT1zdp7dc",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
];
const WORDS: WordList = WordList(
    "example placeholder redacted changeme replace insert dummy sample foobar your fake test demo here mock \
     secret password token apikey xxxx 0000 1111 abcdef 123456 deadbeef .... **** user value lorem string \
     invalid",
);
/// Fewer random characters than this open nothing.
const MIN_RANDOM: usize = 16;

/// Whether a value with the shape of a key is there to show the shape: a manual's own, words, or a pattern.
pub(super) fn is_example(value: &str) -> bool {
    if DOCUMENTED.iter().any(|known| value.contains(known)) || value.contains("...") {
        return true;
    }
    let rest = without_words(value);
    let letters: Vec<u8> = rest.bytes().filter(u8::is_ascii_alphanumeric).collect();
    // A word beside a real key does not make it an example.
    let cut = rest.len() < value.len();
    letters.len() < MIN_RANDOM.min(value.len() / 2)
        || is_pattern(&letters)
        || cut && (letters.len() < 20 || !is_mixed(&letters))
}

/// Whether nobody would write this by hand.
pub(super) fn looks_random(value: &str) -> bool {
    let letters: Vec<u8> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    letters.len() >= MIN_RANDOM && is_mixed(&letters) && !is_example(value)
}

fn without_words(value: &str) -> String {
    let (mut kept, mut lower) = (value.to_owned(), value.to_ascii_lowercase());
    for word in WORDS.iter() {
        if !lower.contains(word) {
            continue;
        }
        // What is left on both sides of a word may be the word again, so its end is looked for as the text grows.
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

/// Few different characters, or each the neighbour of the one before, as in `abc123`.
fn is_pattern(letters: &[u8]) -> bool {
    let mut seen = [false; 128];
    letters.iter().for_each(|b| seen[usize::from(b & 127)] = true);
    let different = seen.iter().filter(|seen| **seen).count();
    let near = |pair: &&[u8]| pair[0].to_ascii_lowercase().abs_diff(pair[1].to_ascii_lowercase()) <= 1;
    let neighbours = letters.windows(2).filter(near).count();
    different < (letters.len() / 2).min(8) || neighbours * 5 > letters.len() * 2
}

/// Digits, small and capital letters follow each other without order; in words they do not.
fn is_mixed(letters: &[u8]) -> bool {
    let kind = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    let changes = letters.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let digits = letters.iter().filter(|b| b.is_ascii_digit()).count();
    let is_hex = letters.iter().all(u8::is_ascii_hexdigit);
    let wanted = if is_hex { letters.len() / 5 } else { letters.len() * 3 / 10 };
    let figures = digits * 10 >= letters.len() / 2 || letters.len() >= 30;
    let only_digits = digits == letters.len();
    changes >= wanted && figures && !only_digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_at_random() {
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
    fn words_are_cut_out_until_none_is_left() {
        assert_eq!(without_words("a-TEteStst-é-userrr"), "a--é-rr");
    }

    #[test]
    fn written_by_hand() {
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
