//! What keys look like, and where they stand.

use std::sync::OnceLock;

use regex::Regex;

use crate::guard::random::{is_example, looks_random};
use crate::pattern::pattern;

struct Shape {
    name: &'static str,
    /// What it begins with, as a pattern.
    start: &'static str,
    body: &'static str,
    /// Whether the beginning alone says too little, so that the rest must look random.
    weak: bool,
}

const fn shape(name: &'static str, start: &'static str, body: &'static str) -> Shape {
    Shape { name, start, body, weak: false }
}

const fn weak(name: &'static str, start: &'static str, body: &'static str) -> Shape {
    Shape { name, start, body, weak: true }
}

/// More specific ones first: the first that fits gives the name.
const SHAPES: &[Shape] = &[
    shape("an AWS access key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z2-7]{16}"),
    shape("a GitHub token", "gh[pousr]_", "[A-Za-z0-9]{36}"),
    shape("a GitHub token", "github_pat_", "[A-Za-z0-9_]{60,}"),
    shape("a GitLab token", "gl(?:pat|ptt|rt|dt|cbt|soat|ft|agent|oas)-", "[A-Za-z0-9_-]{20,}"),
    shape("a Slack token", "xox[abeoprs]-", "[A-Za-z0-9-]{20,}"),
    shape("a Slack token", "xapp-", "[A-Za-z0-9-]{30,}"),
    shape("a webhook of Slack", r"hooks\.slack\.com/services/", "[A-Za-z0-9/]{30,}"),
    shape("a webhook of Discord", r"discord(?:app)?\.com/api/webhooks/", "[0-9]{15,}/[A-Za-z0-9_-]{50,}"),
    shape("a Stripe key", "(?:sk|rk)_live_", "[A-Za-z0-9]{20,}"),
    shape("a webhook secret", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    shape("an Anthropic key", "sk-ant-", "[A-Za-z0-9_-]{24,}"),
    shape("an OpenAI key", "sk-(?:proj|svcacct|admin|or-v1)-", "[A-Za-z0-9_-]{24,}"),
    shape("a Google API key", "AIza", "[0-9A-Za-z_-]{35}"),
    shape("a Google secret", "GOCSPX-", "[A-Za-z0-9_-]{28}"),
    shape("a Google token", r"ya29\.", "[A-Za-z0-9_-]{30,}"),
    shape("an npm token", "npm_", "[A-Za-z0-9]{36}"),
    shape("a PyPI token", "pypi-AgE", "[A-Za-z0-9_-]{50,}"),
    shape("a Hugging Face token", "hf_", "[A-Za-z0-9]{34}"),
    shape("a SendGrid key", r"SG\.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    shape("a DigitalOcean token", "do[opr]_v1_", "[a-f0-9]{64}"),
    shape("a Docker token", "dckr_pat_", "[A-Za-z0-9_-]{27,}"),
    shape("a Shopify token", "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]{32}"),
    shape("a Linear key", "lin_api_", "[A-Za-z0-9]{40}"),
    shape("a Vault token", r"hv[sbr]\.", "[A-Za-z0-9_-]{24,}"),
    shape("a Databricks token", "dapi", "[a-f0-9]{32}"),
    shape("an age key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    shape("a Telegram token", "[0-9]{8,10}:AA", "[A-Za-z0-9_-]{33}"),
    shape("a storage key", "AccountKey=", "[A-Za-z0-9+/]{86}=="),
    shape("a private key", "-----BEGIN", r"[A-Z ]*PRIVATE ?KEY(?: ?BLOCK)?-----[\sA-Za-z0-9+/=\\:,-]{64,}"),
    shape("a private key", "Private-Lines: ?[0-9]", r"[0-9]{0,3}\s*[A-Za-z0-9+/=]{40}[\sA-Za-z0-9+/=]{24,}"),
    shape("a signed token", SIGNED, r"[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    weak("an API key", "sk-", "[A-Za-z0-9_-]{24,}"),
];

/// What a signed token begins with.
const SIGNED: &str = "eyJ";
/// As much of a key as it takes to judge it.
const MAX_KEY: usize = 512;
/// How often a text may be read again for keys that turn out to be none.
const MAX_READINGS: usize = 64;

/// The first key in `text` that `is_new`: where it is, and what it is.
pub(super) fn find(text: &str, is_new: impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    own_key(text, &is_new).or_else(|| shaped(text, false, &is_new))
}

/// As [`find`], for text as it stands: there a key begins where a word does, and words beside it count, too.
pub(super) fn find_plain(text: &str, is_new: impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    own_key(text, &is_new)
        .or_else(|| shaped(text, true, &is_new))
        .or_else(|| in_address(text, &is_new))
        .or_else(|| beside_word(text, &is_new))
}

/// Signed tokens are looked for by themselves: the beginning of one can go on to the end of the text, and would be read
/// to there again for each other key.
fn shaped(text: &str, bounded: bool, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    let mut patterns = [shapes(), signed()].into_iter().flatten();
    patterns.find_map(|pattern| key_by(pattern, text, bounded, is_new))
}

fn key_by(
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
        let inside = text[..found.start()].ends_with(|c: char| c.is_ascii_alphanumeric());
        let key = if bounded && inside { None } else { key_at(found.as_str(), bounded) };
        if let Some(name) = key.filter(|_| is_new(found.as_str())) {
            return Some((found.start(), name));
        }
        // Behind its first character: the rest of what was no key may hold one.
        from = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// What `found` is a key to, unless it is an example.
fn key_at(found: &str, bounded: bool) -> Option<&'static str> {
    let found = cut(found);
    let fits = |(shape, start): (&'static Shape, &Option<Regex>)| Some((shape, start.as_ref()?.find(found)?));
    let (shape, start) = SHAPES.iter().zip(starts()).find_map(fits)?;
    let body = &found[start.end()..];
    let body =
        body.rsplit_once("KEY-----").or(body.rsplit_once("BLOCK-----")).map_or(body, |(_, lines)| lines);
    // Where words stand without spaces, a word may begin like a key.
    let glued = !bounded && body.bytes().any(|b| b.is_ascii_lowercase());
    let is_example = is_example(body) || is_example(found) || (shape.weak || glued) && !looks_random(body);
    let is_sample = shape.start == SIGNED && is_sample_claim(found);
    (!is_example && !is_sample).then_some(shape.name)
}

fn cut(value: &str) -> &str {
    &value[..value.floor_char_boundary(MAX_KEY)]
}

/// Tokens in manuals are signed for nobody.
fn is_sample_claim(token: &str) -> bool {
    let claims = token.split('.').nth(1).map(|part| crate::guard::unescape::from_base64(part, 0).text);
    let samples = ["1234567890", "John Doe", "example", "foo"];
    claims.is_none_or(|claims| samples.iter().any(|sample| claims.contains(sample)))
}

pattern!(shapes = alternatives(false));

pattern!(signed = alternatives(true));

fn alternatives(signed: bool) -> String {
    let shapes = SHAPES.iter().filter(|shape| (shape.start == SIGNED) == signed);
    shapes.map(|shape| format!("{}{}", shape.start, shape.body)).collect::<Vec<_>>().join("|")
}

fn starts() -> &'static [Option<Regex>] {
    static PATTERNS: OnceLock<Vec<Option<Regex>>> = OnceLock::new();
    let start = |shape: &Shape| Regex::new(&format!("^{}", shape.start)).ok();
    PATTERNS.get_or_init(|| SHAPES.iter().map(start).collect())
}

/// An API key of this program: its checksum is right, so it is no example.
fn own_key(text: &str, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
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

/// A password in an address, such as `https://me:…@host/`.
fn in_address(text: &str, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    let found = password()?.captures_iter(text).find(|found| {
        let password = found.get(1).map_or("", |password| cut(password.as_str()));
        let both =
            password.bytes().any(|b| b.is_ascii_digit()) && password.bytes().any(|b| b.is_ascii_alphabetic());
        both && !is_example(password) && is_new(password)
    })?;
    Some((found.get(1)?.start(), "a password in an address"))
}

pattern!(password, r"[a-z][a-z0-9+]*://[^\s/:@<>]*:([^\s/@<>{}$]{8,})@[^\s/]");

/// A value that nobody would write by hand, set beside a word for a secret.
fn beside_word(text: &str, is_new: &impl Fn(&str) -> bool) -> Option<(usize, &'static str)> {
    let found = named()?.captures_iter(text).find(|found| {
        let value = found.get(1).map_or("", |value| cut(value.as_str()));
        looks_random(value) && !is_name(value) && is_new(value)
    })?;
    Some((found.get(1)?.start(), "a secret value beside a word for one"))
}

pattern!(
    named,
    r"(?i)(?:passw(?:or)?d|passphrase|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key",
    r"|auth[_-]?key|bearer|authorization)[A-Za-z0-9_-]{0,24}[\x22'`*)\]]{0,3}(?:\s{0,4}(?::=|=>|[:=])\s{0,4}|\s{1,4})",
    r"[\x22'`(*]{0,3}\s?(?:(?:bearer|basic|token)\s{1,2})?([A-Za-z0-9+/_=~.!#^&*-]{16,})",
);

/// Ids and digests are printed everywhere; a path or a call is made of names.
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
    fn every_pattern_can_be_read() {
        assert!(shapes().is_some() && starts().iter().all(Option::is_some));
        assert!(in_address("", &|_| true).is_none() && beside_word("", &|_| true).is_none());
    }

    /// Put together here, so that no scanner of repositories stumbles over this file.
    #[test]
    fn keys() {
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
        check(&format!("API_KEY=\"{}\"", cut(24)), Some("a secret value beside a word for one"));
        check(&format!("Authorization: Bearer {}", cut(32)), Some("a secret value beside a word for one"));
        check(&format!("**Password:** {}", cut(20)), Some("a secret value beside a word for one"));
        check(&format!("`token`: `{hex}`"), Some("a secret value beside a word for one"));
        check(&format!("ghp_{}example", cut(36)), Some("a GitHub token"));
    }

    #[test]
    fn keys_of_our_own() {
        let body = "dw_kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ";
        check(&format!("{body}2hw6iJ"), None);
        let key = (0..6).rev().fold((crc32fast::hash(body.as_bytes()), String::new()), |(sum, digits), _| {
            let all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
            (sum / 62, format!("{}{digits}", &all[(sum % 62) as usize..][..1]))
        });
        check(&format!("{body}{}", key.1), Some("an API key of Docwright"));
    }

    #[test]
    fn examples() {
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
