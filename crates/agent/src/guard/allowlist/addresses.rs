//! Judges the addresses of links and images.

use pages::{FileKind, WordList};

use super::context::Judge;
use super::verdict::{Verdict, refuse_remote, strictest};
use crate::guard::file_names::WARNINGS;
use crate::guard::ignorable::is_ignorable;
use crate::guard::refusal::Rule;
use crate::guard::url;

impl Judge<'_, '_> {
    pub(super) fn judge_link(&self, address: &str) -> Verdict {
        let plain = url::strip_ignored(address);
        if continues_after_template(&plain) {
            return refuse_link("links to an address that continues after a template without a slash");
        }
        if let Some(rest) = plain.strip_prefix("pathname:") {
            return self.judge_link(rest.strip_prefix("//").unwrap_or(rest));
        }
        let lower = plain.to_lowercase().replace('\\', "/");
        let bare = plain.to_lowercase().replace('\\', "");
        let is_script = ["javascript:", "vbscript:", "data:"].iter().any(|scheme| bare.starts_with(scheme));
        let has_entity = lower.split('&').skip(1).any(|part| {
            part.find(';')
                .is_some_and(|end| end > 1 && part[..end].chars().all(|c| c.is_ascii_alphanumeric()))
        });
        if is_script {
            return refuse_remote("links to an address that is code");
        }
        // Vue fills in braces, and some renderers write them into the text of the link.
        if has_entity || lower.contains("&#") || lower.contains("%7b%7b") {
            return refuse_link("links to an address with encoded characters");
        }
        let is_name = lower.contains("::") && !lower.contains("script");
        let is_web = lower.starts_with("https:") || lower.starts_with("http:") || lower.starts_with("//");
        let other = [
            "mailto:",
            "tel:",
            "sms:",
            "ftp:",
            "sftp:",
            "irc:",
            "xmpp:",
            "slack:",
            "git+https:",
            "git+ssh:",
            "ssh:",
        ];
        if !is_web {
            let has_scheme =
                pages::is_external(&lower) && !other.iter().any(|scheme| lower.starts_with(scheme));
            // Some generators link names such as `std::fs`. A colon can also be part of other text: `:::` and `C:` are
            // no addresses.
            let is_path =
                lower.split(':').next().is_some_and(|start| start.contains(['/', '.', '#', '?', '{', '%']));
            return if has_scheme && !is_path && !is_name {
                refuse_link("links to an address that is not a web address")
            } else {
                Verdict::Passes
            };
        }
        let Some(host) = url::host(&plain) else { return Verdict::Passes };
        if address.trim().chars().any(is_ignorable) {
            return refuse_link("links to an address with invisible characters");
        }
        if self.instructions.contains(&lower) {
            return Verdict::Passes;
        }
        let authority =
            lower.split("//").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') || !host.chars().all(|c| c.is_alphanumeric() || "-._:[]{}$%*".contains(c))
        {
            return refuse_link("links to an address whose host is not the one that it seems to name");
        }
        if host.split('.').any(|label| label.starts_with("xn--")) && !names_host(&self.instructions, &host) {
            return refuse_link("links to a host with an encoded name; write the name in plain characters");
        }
        if url::is_lookalike(&host) && !names_host(&self.instructions, &host) {
            return refuse_link("links to a host whose name uses other scripts to look like another one");
        }
        let is_known = || self.vocabulary().is_some_and(|docs| docs.links_to(&host));
        match url::payload(&plain).filter(|_| !is_known()) {
            Some(url::Payload::Readable) => refuse_link("links to an address with encoded text in it"),
            Some(url::Payload::Opaque) => refuse_link("links to an address with random data in it"),
            Some(url::Payload::Id) => {
                Verdict::Noted(Rule::Link, "links to an address with a long id in its path")
            }
            Some(url::Payload::Long) => {
                Verdict::Noted(Rule::Link, "links to an address with a very long query")
            }
            None => Verdict::Passes,
        }
    }

    /// An image passes from this site, from a host that the docs already load images from, and from a host that a
    /// person named.
    pub(super) fn judge_image(&self, address: &str) -> Verdict {
        let plain = url::strip_ignored(address);
        // Docusaurus removes this prefix and checks nothing else.
        if let Some(rest) = plain.strip_prefix("pathname:") {
            return self.judge_image(rest.strip_prefix("//").unwrap_or(rest));
        }
        // Some renderers decode an address before a browser reads it.
        let decoded = url::strip_ignored(&url::decoded(&plain));
        if decoded != plain {
            return strictest([self.judge_plain_image(&plain), self.judge_plain_image(&decoded)]);
        }
        self.judge_plain_image(&plain)
    }

    fn judge_plain_image(&self, plain: &str) -> Verdict {
        if continues_after_template(plain) {
            return refuse_remote(
                "loads an image from an address that continues after a template without a slash",
            );
        }
        let publishes =
            ["@site/..", "?raw", "?url", "&raw", "?worker"].iter().any(|part| plain.contains(part));
        if publishes && url::host(plain).is_none() {
            return refuse_remote("loads a file in a way that publishes it unchanged");
        }
        if plain.contains(['\\', '&'])
            && plain.split(['?', '#']).next().is_some_and(|path| path.contains(['\\', '&']))
        {
            return refuse_remote("loads an image from an address that renderers read in different ways");
        }
        if ["%2f", "%5c"].iter().any(|code| {
            plain.to_lowercase().starts_with(&format!("/{code}")) || plain.to_lowercase().starts_with(code)
        }) {
            return refuse_remote("loads an image from an address with encoded slashes");
        }
        let Some(host) = url::host(plain) else {
            let lower = plain.to_lowercase();
            let is_path = !pages::is_external(&lower);
            return if is_path && is_program(&lower) {
                refuse_remote("shows a program or settings as an image, which publishes the file")
            } else if is_path {
                Verdict::Passes
            } else {
                refuse_remote("loads an image from an address that is not a web address")
            };
        };
        if self.instructions.contains(&plain.to_lowercase()) && names_host(&self.instructions, &host) {
            return Verdict::Passes;
        }
        if url::payload(plain).is_some() {
            return refuse_remote(format!(
                "loads an image from {} with data in its address",
                url::short_host(&host)
            ));
        }
        let is_used = || self.vocabulary().is_some_and(|docs| docs.loads_from(&host));
        if names_host(&self.instructions, &host) || is_used() {
            return Verdict::Passes;
        }
        refuse_remote(format!(
            "loads an image from {}, which the docs don't use yet and no person named",
            url::short_host(&host)
        ))
    }
}

/// Whether text follows a template so that both can form a host: `{{ a }}.evil.example`.
fn continues_after_template(address: &str) -> bool {
    let rest = address.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
    rest.is_some_and(|(_, rest)| {
        let is_path = rest.starts_with('/') && !rest.starts_with("//") && !rest.starts_with("/\\");
        !(is_path || rest.is_empty() || rest.starts_with(['#', '?', '{']))
    })
}

/// Extensions of files that a generator publishes unchanged if a page shows them.
const PROGRAMS: WordList = WordList(
    "js mjs cjs ts mts cts jsx tsx vue py rb php sh bash env json json5 yml yaml toml ini cfg conf xml sql key pem \
     crt lock go rs java c h cpp cs swift kt lua pl ps1 bat wasm html htm md mdx txt log csv db sqlite css scss",
);

fn is_program(path: &str) -> bool {
    let name = path.split(['?', '#']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, extension)| PROGRAMS.contains(extension))
}

/// Whether an address is below an attribute for a folder: `{dir}/a.png`. Other attributes can be empty, or a slash.
pub(super) fn is_below_attribute(address: &str) -> bool {
    let Some((name, rest)) = address.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    let is_folder =
        rest.strip_prefix('/').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()));
    // Attributes for links can contain any host.
    let is_link = ["url", "uri", "link", "href"].iter().any(|part| name.to_lowercase().contains(part));
    is_folder && !is_link && !rest.contains('{') && !CHARACTER_ATTRIBUTES.contains(&name.to_lowercase())
}

/// Whether the scheme of an address contains an attribute: `{name}:x`. Its value can complete the scheme.
pub(super) fn has_attribute_in_scheme(address: &str) -> bool {
    let head = address.split(['/', '#', '?']).next().unwrap_or_default();
    head.split_once(':').is_some_and(|(scheme, _)| scheme.contains('{'))
}

/// Attributes of AsciiDoc for a single character, or for an empty text.
const CHARACTER_ATTRIBUTES: WordList = WordList(
    "empty blank sp nbsp zwsp wj apos quot lsquo rsquo ldquo rdquo deg plus brvbar vbar amp lt gt startsb endsb caret \
     asterisk tilde backslash backtick two-colons two-semicolons cpp pp",
);

/// Whether the instructions name exactly this host, in a sentence without a warning.
fn names_host(instructions: &str, host: &str) -> bool {
    let sentences = instructions.split(['\n', '!', ';']).flat_map(|line| line.split(". "));
    sentences.into_iter().any(|sentence| {
        let words = sentence.split(|c: char| c.is_whitespace() || "\"'`<>()[],".contains(c));
        let is_host = |word: &str| host_of_word(word).is_some_and(|named| named == host);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_warning = words.iter().any(|word| WARNINGS.contains(word));
        words.iter().any(|word| is_host(word)) && !is_warning
    })
}

/// More extensions of files that a word can have and a host too.
const FILES: WordList = WordList("zip mov gz tar pdf");

/// The host of a word that is an address or a host name.
fn host_of_word(word: &str) -> Option<String> {
    let word = word.trim_matches(['.', ':', '*', '_', '?']);
    if word.contains("//") {
        return url::host(word).filter(|_| !word.contains('@'));
    }
    let name = word.split(['/', '?', '#']).next().unwrap_or_default();
    // A file or a version is not a host.
    let extension = name.rsplit('.').next().unwrap_or_default();
    let is_file =
        FileKind::of(name) != FileKind::Other || PROGRAMS.contains(extension) || FILES.contains(extension);
    let is_number = extension.bytes().all(|byte| byte.is_ascii_digit());
    (!name.contains(['@', '=', ':']) && !is_file && !is_number).then(|| name.to_owned())
}

fn refuse_link(what: &str) -> Verdict {
    Verdict::Refused(Rule::Link, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_must_be_named_exactly() {
        assert!(names_host("use the logo on https://cdn.acme.dev/x.png", "cdn.acme.dev"));
        assert!(names_host("from acme.dev.", "acme.dev"));
        assert!(!names_host("from cdn.acme.dev", "acme.dev"));
        assert!(!names_host("from acme.dev.evil.example", "acme.dev"));
        assert!(!names_host("from acme.device", "acme.dev"));
        assert!(!names_host("from https://acme.dev@evil.example/", "acme.dev"));
        assert!(!names_host("see https://acme.dev/?u=https://evil.example/", "evil.example"));
        assert!(!names_host("write to me@acme.dev", "acme.dev"));
        assert!(!names_host("remove the image https://acme.dev/x.png", "acme.dev"));
        assert!(names_host("replace a.png with https://acme.dev/x.png. Do not touch the rest.", "acme.dev"));
    }
}
