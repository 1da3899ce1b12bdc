//! Checks new passwords: they must be long enough, hard to guess, and not the person's name. Existing
//! passwords keep working when the rule changes.

use zxcvbn::zxcvbn;

const MIN_CHARS: usize = 12;
const MAX_CHARS: usize = 200;
/// The number of guesses that a password must withstand, as a power of ten. With Argon2id, that's months of
/// CPU time.
const MIN_GUESSES_LOG10: f64 = 9.0;
/// Only the first characters are rated, because the time grows much faster than their number.
const MAX_RATED_CHARS: usize = 40;
/// The number of letters that a password must have in addition to the person's name.
const MIN_OTHER_LETTERS: usize = 4;
/// Shorter parts of a name are ignored, because too many words contain them.
const MIN_NAME_PART: usize = 3;

/// Checks a new password of the person who signs in with `name`.
pub fn parse_password<'a>(text: &'a str, name: &str) -> Result<&'a str, String> {
    match text.chars().count() {
        MIN_CHARS..=MAX_CHARS => {}
        0..MIN_CHARS => return Err(format!("a password must have at least {MIN_CHARS} characters")),
        _ => return Err(format!("a password must have at most {MAX_CHARS} characters")),
    }
    if is_own_name(text, name) {
        return Err("a password must not be your own name: choose a few unrelated words".into());
    }
    let name = name.to_lowercase();
    let mut known = parts(&name);
    known.extend([name.as_str(), "docwright"]);
    let rated: String = text.chars().take(MAX_RATED_CHARS).collect();
    match zxcvbn(&rated, &known).guesses_log10() < MIN_GUESSES_LOG10 {
        true => {
            Err("that password is easy to guess: choose a few unrelated words, or let a password manager \
            generate one"
                .into())
        }
        false => Ok(text),
    }
}

/// The words of a name, the longest first.
fn parts(name: &str) -> Vec<&str> {
    let mut parts: Vec<_> = name.split(|c: char| !c.is_alphanumeric()).collect();
    parts.retain(|part| part.chars().count() >= MIN_NAME_PART);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts
}

/// Whether the password has hardly any letters in addition to the words of the name.
fn is_own_name(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let rest = parts(&name).iter().fold(text.clone(), |rest, part| rest.replace(part, " "));
    rest != text && rest.chars().filter(|c| c.is_alphabetic()).count() < MIN_OTHER_LETTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords() {
        #[track_caller]
        fn check(password: &str, expected: &str) {
            let parsed = parse_password(password, "ada.lovelace@acme.dev");
            let sentence = parsed.err().unwrap_or_default();
            assert!(
                sentence.contains(expected) && sentence.is_empty() == expected.is_empty(),
                "{password}: {sentence}"
            );
        }
        for good in [
            "correct horse battery",
            "another long one",
            "k9#vTq2!mZx8",
            "ada likes green tea",
            "пароль на весну 7",
        ] {
            check(good, "");
        }
        check("elevenchars", "at least 12 characters");
        check(&"é".repeat(11), "at least 12 characters");
        check(&"x".repeat(201), "at most 200 characters");
        for name in
            ["ada.lovelace@acme.dev", "AdaLovelace2026!", "lovelace1815xy", "Ada@Acme.Dev!!", "acmeacmeacme"]
        {
            check(name, "your own name");
        }
        for common in [
            "passwordpassword",
            "Password2026!",
            "qwertyuiop12",
            "123456789012",
            "iloveyou1234",
            "letmein12345",
            "abcdefghijkl",
            "aaaaaaaaaaaa",
            "hunter2hunter2",
            "docwright123",
            "Summer2026!!",
            "P@ssw0rd1234",
        ] {
            check(common, "easy to guess");
        }
    }
}
