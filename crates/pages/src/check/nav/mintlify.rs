//! Reads `docs.json` and `mint.json`: groups, tabs, anchors, versions and languages with lists of pages.

use serde_json::Value;

use super::{Nav, entries_in};
use crate::destination;
use crate::navigation::NavigationFile;

/// Reads a navigation file. `None` when the file belongs to another program.
pub(super) fn read(file: NavigationFile, path: &str, text: &str) -> Option<Nav> {
    let parsed: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(parsed) => parsed,
        Err(error) if text.contains("\"navigation\"") && text.contains("\"pages\"") => {
            let error = Some((error.line().max(1), error.to_string()));
            return Some(Nav { error, ..Nav::new(file, path, Vec::new()) });
        }
        Err(_) => return None,
    };
    let mut names = Vec::new();
    collect_pages(parsed.get("navigation")?, false, &mut names);
    Some(Nav { is_open: has_api_description(&parsed), ..Nav::new(file, path, entries_in(text, names)) })
}

/// Collects the names of pages. `generated` is `true` below an API description, from which pages are generated.
fn collect_pages(value: &Value, generated: bool, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_pages(item, generated, names)),
        Value::Object(fields) => {
            let generated = generated || has_api_description(value);
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("root", Value::String(page)) => add_name(page, generated, names),
                    ("pages", Value::Array(items)) => items.iter().for_each(|item| match item {
                        Value::String(page) => add_name(page, generated, names),
                        other => collect_pages(other, generated, names),
                    }),
                    _ => collect_pages(value, generated, names),
                }
            }
        }
        _ => {}
    }
}

/// Adds a name, unless it is an endpoint such as `GET /users`, or an address of another site.
fn add_name(page: &str, generated: bool, names: &mut Vec<String>) {
    let is_page = !page.is_empty() && !page.contains([' ', '{', '$', '*']) && !destination::is_external(page);
    if is_page && !generated {
        names.push(page.to_owned());
    }
}

fn has_api_description(value: &Value) -> bool {
    ["openapi", "asyncapi"].iter().any(|key| value.get(key).is_some())
}
