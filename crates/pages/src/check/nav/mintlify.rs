//! `docs.json` and `mint.json`: groups, tabs, anchors, versions and languages, with lists of pages in them.

use serde_json::Value;

use super::{Nav, entries_in};
use crate::destination;
use crate::navigation::NavigationFile;

/// Nothing when it is another program's file of that name.
pub(super) fn read(file: NavigationFile, path: &str, text: &str) -> Option<Nav> {
    let parsed: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(parsed) => parsed,
        Err(error) if text.contains("\"navigation\"") && text.contains("\"pages\"") => {
            let fault = Some((error.line().max(1), error.to_string()));
            return Some(Nav { fault, ..Nav::new(file, path, Vec::new()) });
        }
        Err(_) => return None,
    };
    let mut names = Vec::new();
    pages(parsed.get("navigation")?, false, &mut names);
    Some(Nav { open: made_elsewhere(&parsed), ..Nav::new(file, path, entries_in(text, names)) })
}

/// Walks the navigation; `generated` below a description of an API, which pages are made from.
fn pages(value: &Value, generated: bool, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| pages(item, generated, names)),
        Value::Object(fields) => {
            let generated = generated || made_elsewhere(value);
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("root", Value::String(page)) => name(page, generated, names),
                    ("pages", Value::Array(items)) => items.iter().for_each(|item| match item {
                        Value::String(page) => name(page, generated, names),
                        other => pages(other, generated, names),
                    }),
                    _ => pages(value, generated, names),
                }
            }
        }
        _ => {}
    }
}

/// `GET /users` is an endpoint, and an address is another site's.
fn name(page: &str, generated: bool, names: &mut Vec<String>) {
    let is_page = !page.is_empty() && !page.contains([' ', '{', '$', '*']) && !destination::is_external(page);
    if is_page && !generated {
        names.push(page.to_owned());
    }
}

fn made_elsewhere(value: &Value) -> bool {
    ["openapi", "asyncapi"].iter().any(|key| value.get(key).is_some())
}
