//! Addresses: what links and images may lead to.

use pages::{FileKind, WordList};

use super::super::hidden::is_ignorable;
use super::super::{Rule, url};
use super::{Judge, Verdict, refused, strictest};

impl Judge<'_, '_> {
    pub(super) fn link(&self, address: &str) -> Verdict {
        let plain = url::solid(address);
        if goes_on_behind_template(&plain) {
            return refused_link("links to an address that goes on behind a template without a slash");
        }
        if let Some(rest) = plain.strip_prefix("pathname:") {
            return self.link(rest.strip_prefix("//").unwrap_or(rest));
        }
        let lower = plain.to_lowercase().replace('\\', "/");
        let bare = plain.to_lowercase().replace('\\', "");
        let is_script = ["javascript:", "vbscript:", "data:"].iter().any(|scheme| bare.starts_with(scheme));
        let has_entity = lower.split('&').skip(1).any(|part| {
            part.find(';')
                .is_some_and(|end| end > 1 && part[..end].chars().all(|c| c.is_ascii_alphanumeric()))
        });
        if is_script {
            return refused("links to an address that is code");
        }
        // Vue fills in braces, which some write into the text of the link.
        if has_entity || lower.contains("&#") || lower.contains("%7b%7b") {
            return refused_link("links to an address with encoded signs");
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
            // `std::fs` is a name to some generators, and a colon may be part of any: `:::` and `C:` are no addresses either.
            let is_path =
                lower.split(':').next().is_some_and(|start| start.contains(['/', '.', '#', '?', '{', '%']));
            return if has_scheme && !is_path && !is_name {
                refused_link("links to an address that is not of the web")
            } else {
                Verdict::Passes
            };
        }
        let Some(host) = url::host(&plain) else { return Verdict::Passes };
        if address.trim().chars().any(is_ignorable) {
            return refused_link("links to an address with characters that nobody sees");
        }
        if self.asked.contains(&lower) {
            return Verdict::Passes;
        }
        let authority =
            lower.split("//").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') || !host.chars().all(|c| c.is_alphanumeric() || "-._:[]{}$%*".contains(c))
        {
            return refused_link("links to an address whose host is not what it looks like");
        }
        if host.split('.').any(|label| label.starts_with("xn--")) && !names_host(&self.asked, &host) {
            return refused_link("links to a host whose name is encoded; write it as it is read");
        }
        if url::is_lookalike(&host) && !names_host(&self.asked, &host) {
            return refused_link("links to a host whose name mixes scripts to look like another");
        }
        let is_known = || self.vocabulary().is_some_and(|docs| docs.links_to(&host));
        match url::load(&plain).filter(|_| !is_known()) {
            Some(url::Load::Readable) => refused_link("links to an address with encoded text in it"),
            Some(url::Load::Opaque) => {
                refused_link("links to an address with data in it that nobody wrote by hand")
            }
            Some(url::Load::Id) => {
                Verdict::Noted(Rule::Link, "links to an address with a long id in its path")
            }
            Some(url::Load::Long) => Verdict::Noted(Rule::Link, "links to an address with a very long query"),
            None => Verdict::Passes,
        }
    }

    /// The host rule: loaded from this site, from a host the docs load from already, or from one that a person named.
    pub(super) fn image(&self, address: &str) -> Verdict {
        let plain = url::solid(address);
        // Docusaurus takes this away and looks no further.
        if let Some(rest) = plain.strip_prefix("pathname:") {
            return self.image(rest.strip_prefix("//").unwrap_or(rest));
        }
        // Some renderers decode an address before a browser reads it.
        let decoded = url::solid(&url::decoded(&plain));
        if decoded != plain {
            return strictest([self.image_at(&plain), self.image_at(&decoded)]);
        }
        self.image_at(&plain)
    }

    fn image_at(&self, plain: &str) -> Verdict {
        if goes_on_behind_template(plain) {
            return refused("loads an image from an address that goes on behind a template without a slash");
        }
        let publishes =
            ["@site/..", "?raw", "?url", "&raw", "?worker"].iter().any(|part| plain.contains(part));
        if publishes && url::host(plain).is_none() {
            return refused("loads a file in a way that publishes it as it is");
        }
        if plain.contains(['\\', '&'])
            && plain.split(['?', '#']).next().is_some_and(|path| path.contains(['\\', '&']))
        {
            return refused("loads an image from an address that renderers read differently");
        }
        if ["%2f", "%5c"].iter().any(|code| {
            plain.to_lowercase().starts_with(&format!("/{code}")) || plain.to_lowercase().starts_with(code)
        }) {
            return refused("loads an image from an address with encoded slashes");
        }
        let Some(host) = url::host(plain) else {
            let lower = plain.to_lowercase();
            let is_path = !pages::is_external(&lower);
            return if is_path && is_program(&lower) {
                refused("shows a program or settings as an image, which publishes them")
            } else if is_path {
                Verdict::Passes
            } else {
                refused("loads an image from an address that is not of the web")
            };
        };
        if self.asked.contains(&plain.to_lowercase()) && names_host(&self.asked, &host) {
            return Verdict::Passes;
        }
        if url::load(plain).is_some() {
            return refused(format!("loads an image from {} with data in its address", url::shown(&host)));
        }
        let is_used = || self.vocabulary().is_some_and(|docs| docs.loads_from(&host));
        if names_host(&self.asked, &host) || is_used() {
            return Verdict::Passes;
        }
        refused(format!(
            "loads an image from {}, which the docs do not do yet and nobody asked for",
            url::shown(&host)
        ))
    }
}

/// `{{ a }}.evil.example`: what the template leaves may be a host, and what follows part of it.
fn goes_on_behind_template(address: &str) -> bool {
    let rest = address.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
    rest.is_some_and(|(_, rest)| {
        let is_path = rest.starts_with('/') && !rest.starts_with("//") && !rest.starts_with("/\\");
        !(is_path || rest.is_empty() || rest.starts_with(['#', '?', '{']))
    })
}

/// Endings of what a generator publishes as it is when a page shows it.
const PROGRAMS: WordList = WordList(
    "js mjs cjs ts mts cts jsx tsx vue py rb php sh bash env json json5 yml yaml toml ini cfg conf xml sql key pem \
     crt lock go rs java c h cpp cs swift kt lua pl ps1 bat wasm html htm md mdx txt log csv db sqlite css scss",
);

fn is_program(path: &str) -> bool {
    let name = path.split(['?', '#']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, ending)| PROGRAMS.contains(ending))
}

/// `{dir}/a.png`: an attribute that stands for a folder. Others may stand for nothing, or for a slash.
pub(super) fn is_below_attribute(address: &str) -> bool {
    let Some((name, rest)) = address.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    let is_folder =
        rest.strip_prefix('/').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()));
    // Attributes for links may have any host.
    let is_link = ["url", "uri", "link", "href"].iter().any(|part| name.to_lowercase().contains(part));
    is_folder && !is_link && !rest.contains('{') && !CHARACTERS.contains(&name.to_lowercase())
}

/// Whether a reference stands before the colon of an address: `{name}:x`. Its value may complete the name of a scheme.
pub(super) fn has_attribute_in_scheme(address: &str) -> bool {
    let head = address.split(['/', '#', '?']).next().unwrap_or_default();
    head.split_once(':').is_some_and(|(scheme, _)| scheme.contains('{'))
}

/// Attributes of AsciiDoc that stand for a character, or for none.
const CHARACTERS: WordList = WordList(
    "empty blank sp nbsp zwsp wj apos quot lsquo rsquo ldquo rdquo deg plus brvbar vbar amp lt gt startsb endsb caret \
     asterisk tilde backslash backtick two-colons two-semicolons cpp pp",
);

/// Whether the words of a person name this host, and not one that it is a part of, nor one to stay away from.
fn names_host(asked: &str, host: &str) -> bool {
    let sentences = asked.split(['\n', '!', ';']).flat_map(|line| line.split(". "));
    sentences.into_iter().any(|sentence| {
        let words = sentence.split(|c: char| c.is_whitespace() || "\"'`<>()[],".contains(c));
        let is_host = |word: &str| host_of_word(word).is_some_and(|named| named == host);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_warned = words.iter().any(|word| WARNINGS.contains(word));
        words.iter().any(|word| is_host(word)) && !is_warned
    })
}

/// Endings of other files that are those of hosts as well.
const FILES: WordList = WordList("zip mov gz tar pdf");

/// Words of a sentence about a host that is not to be used.
pub(in crate::guard) const WARNINGS: WordList = WordList(
    "not never no don't dont avoid without remove delete drop stop bad instead unsafe malicious rid other block phishing",
);

/// The host of an address, or of a name that stands for itself.
fn host_of_word(word: &str) -> Option<String> {
    let word = word.trim_matches(['.', ':', '*', '_', '?']);
    if word.contains("//") {
        return url::host(word).filter(|_| !word.contains('@'));
    }
    let name = word.split(['/', '?', '#']).next().unwrap_or_default();
    // A file or a version is no host.
    let ending = name.rsplit('.').next().unwrap_or_default();
    let is_file =
        FileKind::of(name) != FileKind::Other || PROGRAMS.contains(ending) || FILES.contains(ending);
    let is_number = ending.bytes().all(|byte| byte.is_ascii_digit());
    (!name.contains(['@', '=', ':']) && !is_file && !is_number).then(|| name.to_owned())
}

fn refused_link(what: &str) -> Verdict {
    Verdict::Refused(Rule::Link, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_whole() {
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
