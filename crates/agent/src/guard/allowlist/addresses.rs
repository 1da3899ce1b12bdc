//! Addresses: what links and images may lead to.

use super::super::{Rule, url};
use super::{Judge, Verdict, refused};

impl Judge<'_, '_> {
    pub(super) fn link(&self, address: &str) -> Verdict {
        let plain: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
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
        if has_entity || lower.contains("&#") {
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
            "pathname:",
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
        let plain: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
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
        let Some(host) = url::host(&plain) else {
            let lower = plain.to_lowercase();
            let is_path = !pages::is_external(&lower) || lower.starts_with("pathname:");
            return if is_path {
                Verdict::Passes
            } else {
                refused("loads an image from an address that is not of the web")
            };
        };
        if self.asked.contains(&plain.to_lowercase()) {
            return Verdict::Passes;
        }
        if url::load(&plain).is_some() {
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

/// Whether the words of a person name this host, and not one that it is a part of.
pub(in crate::guard) fn names_host(asked: &str, host: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    asked.match_indices(host).any(|(at, _)| {
        let behind = &asked[at + host.len()..];
        let goes_on = behind.starts_with(|c: char| c.is_alphanumeric() || c == '-')
            || behind.starts_with('.') && behind[1..].starts_with(char::is_alphanumeric);
        !asked[..at].ends_with(part) && !goes_on
    })
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
    }
}
