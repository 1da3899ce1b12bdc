//! Finds text that looks like a key: by the form of known kinds of keys, in addresses, and next to words for secrets.

use std::sync::OnceLock;

use pages::pattern;
use regex::Regex;

use crate::guard::random::{is_example, looks_random};

struct KeyPattern {
    name: &'static str,
    /// The pattern of the prefix.
    start: &'static str,
    body: &'static str,
    /// The prefix is not specific, so the rest must look random.
    weak: bool,
}

const fn strong(name: &'static str, start: &'static str, body: &'static str) -> KeyPattern {
    KeyPattern { name, start, body, weak: false }
}

const fn weak(name: &'static str, start: &'static str, body: &'static str) -> KeyPattern {
    KeyPattern { name, start, body, weak: true }
}

/// More specific patterns come first, because the first match determines the name.
const PATTERNS: &[KeyPattern] = &[
    strong("an AWS access key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z2-7]{16}"),
    strong("a GitHub token", "gh[pousr]_", "[A-Za-z0-9]{36}"),
    strong("a GitHub token", "github_pat_", "[A-Za-z0-9_]{60,}"),
    strong("a GitLab token", "gl(?:pat|ptt|rt|dt|cbt|soat|ft|agent|oas)-", "[A-Za-z0-9_-]{20,}"),
    strong("a Slack token", "xox[abeoprs]-", "[A-Za-z0-9-]{20,}"),
    strong("a Slack token", "xapp-", "[A-Za-z0-9-]{30,}"),
    strong("a webhook of Slack", r"hooks\.slack\.com/services/", "[A-Za-z0-9/]{30,}"),
    strong("a webhook of Discord", r"discord(?:app)?\.com/api/webhooks/", "[0-9]{15,}/[A-Za-z0-9_-]{50,}"),
    strong("a Stripe key", "(?:sk|rk)_live_", "[A-Za-z0-9]{20,}"),
    strong("a webhook secret", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    strong("an Anthropic key", "sk-ant-", "[A-Za-z0-9_-]{24,}"),
    strong("an OpenAI key", "sk-(?:proj|svcacct|admin|or-v1)-", "[A-Za-z0-9_-]{24,}"),
    strong("a Google API key", "AIza", "[0-9A-Za-z_-]{35}"),
    strong("a Google secret", "GOCSPX-", "[A-Za-z0-9_-]{28}"),
    strong("a Google token", r"ya29\.", "[A-Za-z0-9_-]{30,}"),
    strong("an npm token", "npm_", "[A-Za-z0-9]{36}"),
    strong("a PyPI token", "pypi-AgE", "[A-Za-z0-9_-]{50,}"),
    strong("a Hugging Face token", "hf_", "[A-Za-z0-9]{34}"),
    strong("a SendGrid key", r"SG\.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    strong("a DigitalOcean token", "do[opr]_v1_", "[a-f0-9]{64}"),
    strong("a Docker token", "dckr_pat_", "[A-Za-z0-9_-]{27,}"),
    strong("a Shopify token", "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]{32}"),
    strong("a Linear key", "lin_api_", "[A-Za-z0-9]{40}"),
    strong("a Vault token", r"hv[sbr]\.", "[A-Za-z0-9_-]{24,}"),
    strong("a Databricks token", "dapi", "[a-f0-9]{32}"),
    strong("an age key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    strong("a Telegram token", "[0-9]{8,10}:AA", "[A-Za-z0-9_-]{33}"),
    strong("a storage key", "AccountKey=", "[A-Za-z0-9+/]{86}=="),
    strong("a private key", "-----BEGIN", r"[A-Z ]*PRIVATE ?KEY(?: ?BLOCK)?-----[\sA-Za-z0-9+/=\\:,-]{64,}"),
    strong("a private key", "Private-Lines: ?[0-9]", r"[0-9]{0,3}\s*[A-Za-z0-9+/=]{40}[\sA-Za-z0-9+/=]{24,}"),
    strong("a signed token", SIGNED, r"[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    weak("an API key", "sk-", "[A-Za-z0-9_-]{24,}"),
];

/// The prefix of a signed token.
const SIGNED: &str = "eyJ";
/// How much of a key is judged.
const MAX_KEY_BYTES: usize = 512;
/// How often a text can be read again after a match that is not a key.
const MAX_READINGS: usize = 64;

/// Returns the offset and the kind of the first key in `text` that `is_new`.
pub(super) fn find(text: &str, is_new: impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    find_own_key(text, &is_new).or_else(|| find_by_pattern(text, false, &is_new))
}

/// Like [`find`], for text that was not decoded. There, a key begins at the start of a word, and words next to it
/// count.
pub(super) fn find_plain(text: &str, is_new: impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    find_own_key(text, &is_new)
        .or_else(|| find_by_pattern(text, true, &is_new))
        .or_else(|| find_password_in_address(text, &is_new))
        .or_else(|| find_beside_word(text, &is_new))
}

/// Signed tokens are searched for separately: a prefix of one can extend to the end of the text, which would be read
/// again for each other key.
fn find_by_pattern(
    text: &str,
    bounded: bool,
    is_new: &impl Fn(&str) -> bool,
) -> Option<(usize, &'static str)> {
    let mut patterns = [unsigned_keys(), signed_keys()].into_iter().flatten();
    patterns.find_map(|pattern| first_key(pattern, text, bounded, is_new))
}

fn first_key(
    pattern: &Regex,
    text: &str,
    bounded: bool,
    is_new: &impl Fn(&str) -> bool,
) -> Option<(usize, &'static str)> {
    let (mut from, mut read) = (0, 0);
    while let Some(found) = pattern.find_at(text, from) {
        read += found.len();
        if read > MAX_READINGS * text.len() {
            return Some((found.start(), "more keys than can be judged"));
        }
        let is_within_word = text[..found.start()].ends_with(|c: char| c.is_ascii_alphanumeric());
        let key = if bounded && is_within_word { None } else { key_name(found.as_str(), bounded) };
        if let Some(name) = key.filter(|_| is_new(found.as_str())) {
            return Some((found.start(), name));
        }
        // The rest of a match that is not a key can contain one.
        from = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// The kind of the key `found`, unless it is an example.
fn key_name(found: &str, bounded: bool) -> Option<&'static str> {
    let found = truncate(found);
    let matches = |(pattern, start): (&'static KeyPattern, &Option<Regex>)| {
        Some((pattern, start.as_ref()?.find(found)?))
    };
    let (pattern, start) = PATTERNS.iter().zip(starts()).find_map(matches)?;
    let body = &found[start.end()..];
    let body =
        body.rsplit_once("KEY-----").or(body.rsplit_once("BLOCK-----")).map_or(body, |(_, lines)| lines);
    // Without spaces, a word can begin like a key.
    let may_be_words = !bounded && body.bytes().any(|b| b.is_ascii_lowercase());
    let is_example =
        is_example(body) || is_example(found) || (pattern.weak || may_be_words) && !looks_random(body);
    let is_sample = pattern.start == SIGNED && has_sample_claims(found);
    (!is_example && !is_sample).then_some(pattern.name)
}

fn truncate(value: &str) -> &str {
    &value[..value.floor_char_boundary(MAX_KEY_BYTES)]
}

/// Whether the claims of a signed token are those of examples in manuals.
fn has_sample_claims(token: &str) -> bool {
    let claims = token.split('.').nth(1).map(|part| crate::guard::unescape::from_base64(part, 0).text);
    let samples = ["1234567890", "John Doe", "example", "foo"];
    claims.is_none_or(|claims| samples.iter().any(|sample| claims.contains(sample)))
}

pattern!(unsigned_keys = alternatives(false));

pattern!(signed_keys = alternatives(true));

fn alternatives(signed: bool) -> String {
    let patterns = PATTERNS.iter().filter(|pattern| (pattern.start == SIGNED) == signed);
    patterns.map(|pattern| format!("{}{}", pattern.start, pattern.body)).collect::<Vec<_>>().join("|")
}

fn starts() -> &'static [Option<Regex>] {
    static STARTS: OnceLock<Vec<Option<Regex>>> = OnceLock::new();
    let start = |pattern: &KeyPattern| Regex::new(&format!("^{}", pattern.start)).ok();
    STARTS.get_or_init(|| PATTERNS.iter().map(start).collect())
}

/// Finds an API key of Docwright. Its checksum is right, so it's not an example.
fn find_own_key(text: &str, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    const LENGTH: usize = 49;
    let keys = text.match_indices("dw_").filter_map(|(at, _)| Some((at, text.get(at..at + LENGTH)?)));
    let mut keys = keys.filter(|(_, key)| has_checksum(key) && is_new(key));
    keys.next().map(|(at, _)| (at, "an API key of Docwright"))
}

fn has_checksum(key: &str) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (body, checksum) = key.as_bytes().split_at(key.len().saturating_sub(6));
    let mut sum = crc32fast::hash(body);
    checksum.iter().rev().all(|digit| {
        let expected = DIGITS[(sum % 62) as usize];
        sum /= 62;
        *digit == expected
    })
}

/// Finds a password in an address, such as `https://me:…@host/`.
fn find_password_in_address(text: &str, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    let found = password()?.captures_iter(text).find(|found| {
        let password = found.get(1).map_or("", |password| truncate(password.as_str()));
        let is_mixed =
            password.bytes().any(|b| b.is_ascii_digit()) && password.bytes().any(|b| b.is_ascii_alphabetic());
        is_mixed && !is_example(password) && is_new(password)
    })?;
    Some((found.get(1)?.start(), "a password in an address"))
}

pattern!(password, r"[a-z][a-z0-9+]*://[^\s/:@<>]*:([^\s/@<>{}$]{8,})@[^\s/]");

/// Finds a random value next to a word for a secret.
fn find_beside_word(text: &str, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    let found = named()?.captures_iter(text).find(|found| {
        let value = found.get(1).map_or("", |value| truncate(value.as_str()));
        looks_random(value) && !is_name(value) && is_new(value)
    })?;
    Some((found.get(1)?.start(), "a secret value next to a word for one"))
}

pattern!(
    named,
    r"(?i)(?:passw(?:or)?d|passphrase|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key",
    r"|auth[_-]?key|bearer|authorization)[A-Za-z0-9_-]{0,24}[\x22'`*)\]]{0,3}(?:\s{0,4}(?::=|=>|[:=])\s{0,4}|\s{1,4})",
    r"[\x22'`(*]{0,3}\s?(?:(?:bearer|basic|token)\s{1,2})?([A-Za-z0-9+/_=~.!#^&*-]{16,})",
);

/// Whether a value is a UUID, or made of names like a path or a call.
fn is_name(value: &str) -> bool {
    let groups: Vec<usize> = value.split('-').map(str::len).collect();
    let is_uuid = groups == [8, 4, 4, 4, 12];
    let parts = value.split(['.', '/', '_', '-', '=', '&', '#', ':']);
    is_uuid || parts.filter(|part| looks_random(part)).count() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(find_plain(text, |_| true).map(|(_, name)| name), expected, "{text}");
    }

    #[test]
    fn every_pattern_compiles() {
        assert!(unsigned_keys().is_some() && signed_keys().is_some() && starts().iter().all(Option::is_some));
        assert!(
            find_password_in_address("", &|_| true).is_none() && find_beside_word("", &|_| true).is_none()
        );
    }

    /// The keys are assembled here, so that secret scanners don't report this file.
    #[test]
    fn keys_are_found() {
        let random = "kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ2vBt7MkWn5Rj8Lf3Hc6Dg1Sp4Ae0UyTiOqXwCvBzM3nK";
        let cut = |length: usize| &random[..length];
        let hex = "9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015";
        check(&format!("id: AKIA{}", "Q3ZT7VLRM2YXK5WD"), Some("an AWS access key"));
        check(&format!("use ghp_{}.", cut(36)), Some("a GitHub token"));
        check(&format!("github_pat_{}", cut(82)), Some("a GitHub token"));
        check(&format!("glpat-{}", cut(20)), Some("a GitLab token"));
        check(&format!("xoxb-{}", cut(40)), Some("a Slack token"));
        check(&format!("sk_live_{}", cut(24)), Some("a Stripe key"));
        check(&format!("sk-{}", cut(48)), Some("an API key"));
        check(&format!("sk-proj-{}", cut(48)), Some("an OpenAI key"));
        check(&format!("sk-ant-api03-{}", cut(80)), Some("an Anthropic key"));
        check(&format!("AIza{}", cut(35)), Some("a Google API key"));
        check(&format!("npm_{}", cut(36)), Some("an npm token"));
        check(&format!("pypi-AgE{}", cut(60)), Some("a PyPI token"));
        check(&format!("dop_v1_{hex}"), Some("a DigitalOcean token"));
        check(&format!("-----BEGIN RSA PRIVATE KEY-----\n{random}\n"), Some("a private key"));
        check(&format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{random}\n"), Some("a private key"));
        let putty = format!("PuTTY-User-Key-File-3: ssh-rsa\nComment: me\nPrivate-Lines: 14\r\n{random}\r\n");
        check(&putty, Some("a private key"));
        check(&format!("eyJhbGciOiJIUzI1NiJ9.eyJ1aWQiOjkxODI3M30.{}", cut(43)), Some("a signed token"));
        check(&format!("https://me:{}@host.io/x", cut(12)), Some("a password in an address"));
        check(&format!("API_KEY=\"{}\"", cut(24)), Some("a secret value next to a word for one"));
        check(&format!("Authorization: Bearer {}", cut(32)), Some("a secret value next to a word for one"));
        check(&format!("**Password:** {}", cut(20)), Some("a secret value next to a word for one"));
        check(&format!("`token`: `{hex}`"), Some("a secret value next to a word for one"));
        check(&format!("ghp_{}example", cut(36)), Some("a GitHub token"));
    }

    #[test]
    fn own_keys_are_found_by_their_checksum() {
        let body = "dw_kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ";
        check(&format!("{body}2hw6iJ"), None);
        let key = (0..6).rev().fold((crc32fast::hash(body.as_bytes()), String::new()), |(sum, digits), _| {
            let all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
            (sum / 62, format!("{}{digits}", &all[(sum % 62) as usize..][..1]))
        });
        check(&format!("{body}{}", key.1), Some("an API key of Docwright"));
    }

    #[test]
    fn examples_are_not_keys() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "OPENAI_API_KEY=sk-...",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
            "export TOKEN=<your-token>",
            "token: ${{ secrets.GITHUB_TOKEN }}",
            "password: process.env.DATABASE_PASSWORD",
            "apiKey: config.get('service.api.key.for.production')",
            "token = getAccessTokenSilentlyFromCache2()",
            "postgres://postgres:postgres@localhost:5432/db",
            "https://user:password@example.com",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "-----BEGIN PUBLIC KEY-----\nkJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ2vBt7MkWn5Rj8Lf3Hc6Dg1Sp4Ae0UyTiOqXwCvBz",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            "a task-management-system-for-everybody-who-wants-1",
            "secret: 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "see commit 9f86d081884c7d659a2feaa0c55ad0159f86d081",
        ] {
            check(text, None);
        }
    }
}
