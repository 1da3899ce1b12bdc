//! Collects the files that pages of the base name: those they link to, include, or show as images.

use std::collections::HashSet;

use pages::{AttributeValue, Construct, ConstructKind, Reading};

use super::repo_files::{folder_of, is_hidden, resolve};

/// If the docs include this many files of a folder, they can include its other files.
const MANY_FILES: usize = 5;

/// The files that pages of the base name.
#[derive(Default)]
pub(super) struct NamedFiles {
    linked: HashSet<String>,
    included: HashSet<String>,
    /// The attributes in conditions of AsciiDoc.
    conditions: HashSet<String>,
    image_folders: HashSet<String>,
}

impl NamedFiles {
    pub(super) fn learn(&mut self, page: &str, construct: &Construct) {
        match &construct.kind {
            // A directive in a comment includes nothing.
            _ if matches!(construct.reading, Reading::Ambiguous(_)) => {}
            ConstructKind::Link(address) => drop(self.linked.insert(resolve(page, address))),
            ConstructKind::Image(address) => {
                self.image_folders.insert(folder_of(&resolve(page, address)).to_owned());
            }
            ConstructKind::Html(element) if element.name == "img" => {
                let values = element.attributes.iter().filter_map(|attribute| match &attribute.value {
                    AttributeValue::Text(address) if attribute.name == "src" => Some(address),
                    _ => None,
                });
                self.image_folders
                    .extend(values.map(|address| folder_of(&resolve(page, address)).to_owned()));
            }
            // An escaped directive includes nothing either.
            ConstructKind::Include(directive) if directive.starts_with(';') => {}
            ConstructKind::Include(directive) if is_condition(directive) => {
                self.conditions.extend(condition_names(directive).map(str::to_owned));
            }
            ConstructKind::Include(directive) => self.included.extend(included_file(page, directive)),
            _ => {}
        }
    }

    pub(super) fn links_to(&self, file: &str) -> bool {
        self.linked.contains(file)
    }

    pub(super) fn shows_images_of(&self, folder: &str) -> bool {
        self.image_folders.contains(folder)
    }

    /// Whether the docs include this file, or many files of its outermost folder.
    pub(super) fn includes(&self, file: &str) -> bool {
        let outermost = |path: &str| path.split_once('/').map(|(first, _)| first.to_owned());
        let folder = outermost(file).filter(|folder| folder != ".." && !is_hidden(file));
        let of_folder = || self.included.iter().filter(|known| outermost(known) == folder).count();
        self.included.contains(file) || folder.is_some() && of_folder() >= MANY_FILES
    }

    /// Whether the docs have conditions on all attributes of this condition of AsciiDoc, and its text is on separate
    /// lines.
    pub(super) fn has_condition(&self, directive: &str) -> bool {
        let names = condition_names(directive);
        directive.ends_with("[]")
            && (directive.starts_with("endif::") || names.clone().next().is_some())
            && names.into_iter().all(|name| name.is_empty() || self.conditions.contains(name))
    }
}

/// The attributes in a condition of AsciiDoc.
fn condition_names(directive: &str) -> impl Iterator<Item = &str> + Clone {
    let names = ["ifdef::", "ifndef::", "endif::"].iter().find_map(|start| directive.strip_prefix(start));
    names.unwrap_or_default().split('[').next().unwrap_or_default().split([',', '+'])
}

/// The file that a directive includes. `None` for a URL, for several files, and for a path that contains attributes.
pub(super) fn included_file(page: &str, directive: &str) -> Option<String> {
    // With another parser, the file is read as other markup.
    if directive.contains(":parser:") || is_condition(directive) {
        return None;
    }
    let target = match directive.split_once("::") {
        Some((_, target)) => target.split('[').next()?,
        None => {
            let words = directive.split(|c: char| c.is_whitespace() || "\"'{}[]*<>()".contains(c));
            let mut paths = words.filter(|word| !word.starts_with(['#', '@']) && word.contains(['/', '.']));
            paths.next().filter(|_| paths.next().is_none())?
        }
    };
    // mdBook and snippets name a part of a file after a colon.
    let path = target.trim().split(':').next().filter(|path| !path.is_empty())?;
    let is_plain = !pages::is_external(target.trim()) || !target.contains("//");
    (is_plain && !path.contains(['{', '*', '\\', '%', '&'])).then(|| resolve(page, path))
}

/// Whether a directive of the AsciiDoc preprocessor is a condition, such as `ifdef::x[]`.
pub(super) fn is_condition(directive: &str) -> bool {
    let directive = directive.trim_start_matches('\\');
    ["ifdef::", "ifndef::", "ifeval::", "endif::"].iter().any(|start| directive.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files() {
        for (directive, expected) in [
            ("include::../src/x.py[tag=a]", Some("src/x.py")),
            ("literalinclude::../src/x.py", Some("src/x.py")),
            ("--8<-- \"b.md\"", Some("docs/b.md")),
            ("{{#include ../x.rs:1:3}}", Some("x.rs")),
            ("include::https://e.example/x[]", None),
            ("include::{dir}/x[]", None),
            ("include::x.md :parser: myst", None),
        ] {
            assert_eq!(included_file("docs/a.md", directive).as_deref(), expected, "{directive}");
        }
    }
}
