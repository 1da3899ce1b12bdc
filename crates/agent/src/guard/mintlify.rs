//! The settings of a site by Mintlify: what it looks like and which pages it has may change, and not what it loads and
//! where it sends its readers.

use std::collections::HashSet;

use serde_json::Value;

use super::added::Added;
use super::paths::{fold, names_whole};
use super::url;

const SENDS: &str = "its new settings change what the site loads or where it sends readers";
const UNREADABLE: &str = "its new settings cannot be read";
/// Others that see what readers do; at the margin.
const WATCHERS: &[&str] = &["integrations", "analytics"];
/// What is loaded or gone to, at any depth.
const LOADED: &[&str] =
    &["api", "asyncapi", "background", "backgroundImage", "favicon", "fonts", "logo", "openapi", "redirects"];

/// Why the change of `path` is not to be, if it is such a file.
pub(super) fn refusal(path: &str, added: &Added<'_>, asked: &str) -> Option<&'static str> {
    let folded = fold(path);
    let is_settings = ["docs.json", "mint.json"].contains(&folded.rsplit('/').next()?);
    let (_, text) = added.files().find(|(file, _)| is_settings && *file == path)?;
    let before = added.before.get(path);
    let old = before.map(|text| read(text));
    match (old, read(&text.text)) {
        // What could not be read before is as it was.
        (Some(None), None) => None,
        (_, None) => Some(UNREADABLE),
        (old, Some(new)) => sends(&old.flatten().unwrap_or_default(), &new, asked).then_some(SENDS),
    }
}

fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

fn sends(old: &Value, new: &Value, asked: &str) -> bool {
    let (old, new) = (Settings::of(old), Settings::of(new));
    let is_asked = |value: &str| !value.is_empty() && names_whole(asked, &value.to_lowercase());
    let watched = new.watched.iter().any(|entry| !old.watched.contains(entry) && !is_asked(&entry.1));
    let hosts = new.hosts.iter().any(|host| !old.hosts.contains(host) && !is_asked(host));
    watched || hosts || !new.others.is_subset(&old.others)
}

#[derive(Default)]
struct Settings {
    /// What is told to those who see what readers do, with where it stands.
    watched: HashSet<(String, String)>,
    /// Hosts that something is loaded from or that are gone to.
    hosts: HashSet<String>,
    /// Files that hold more of the settings.
    others: HashSet<String>,
}

impl Settings {
    fn of(value: &Value) -> Self {
        let mut settings = Self::default();
        settings.read(value, &mut Vec::new());
        settings
    }

    /// No deeper than what can be parsed, which is bounded.
    fn read<'a>(&mut self, value: &'a Value, keys: &mut Vec<&'a str>) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    keys.push(key);
                    self.read(value, keys);
                    keys.pop();
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.read(value, keys)),
            Value::String(text) => self.leaf(text, keys),
            other => self.leaf(&other.to_string(), keys),
        }
    }

    fn leaf(&mut self, text: &str, keys: &[&str]) {
        if keys.first().is_some_and(|key| WATCHERS.contains(key)) {
            self.watched.insert((keys.join("/"), text.to_owned()));
        }
        if keys.iter().any(|key| LOADED.contains(key)) {
            self.hosts.extend(url::host(text));
        }
        if keys.last() == Some(&"$ref") {
            self.others.insert(text.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_loaded_and_gone_to() {
        let old = json!({
            "name": "A",
            "integrations": { "ga4": { "measurementId": "G-1234567" } },
            "api": { "openapi": ["https://api.acme.dev/o.json"] },
            "redirects": [{ "source": "/a", "destination": "/b" }],
            "navbar": { "links": [{ "href": "https://acme.dev" }] },
        });
        let check = |pointer: &str, value: Value, expected: bool| {
            let mut new = old.clone();
            *new.pointer_mut(pointer).unwrap() = value;
            assert_eq!(sends(&old, &new, "take gtm-asked12"), expected, "{new}");
        };
        check("/name", json!("B"), false);
        check("/integrations", json!({}), false);
        check("/integrations/ga4/measurementId", json!("G-7654321"), true);
        check("/integrations", json!({ "gtm": { "tagId": "GTM-EVIL123" } }), true);
        check("/integrations", json!({ "gtm": { "tagId": "GTM-ASKED12" } }), false);
        check("/api/openapi", json!(["https://api.acme.dev/two.json", "three.json"]), false);
        check("/api", json!({ "mdx": { "server": "https://evil.example" } }), true);
        check("/redirects", json!([{ "source": "/b", "destination": "/c" }]), false);
        check("/redirects", json!([{ "source": "/b", "destination": "//evil.example/c" }]), true);
        check("/name", json!({ "logo": { "light": "https://evil.example/p.png" } }), true);
        check("/navbar/links", json!([{ "href": "https://other.example" }]), false);
        check("/name", json!({ "$ref": "./more.json" }), true);
    }
}
