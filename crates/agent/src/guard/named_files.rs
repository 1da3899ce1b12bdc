//! Collects the files that pages in the base commit refer to: those they link to, include, or show as images.

use std::collections::HashSet;

use pages::{AttributeValue, Construct, ConstructKind, Reading};

use super::repo_files::{folder_of, is_hidden, resolve};

/// If the docs include this many files of a folder, they can include its other files.
const MANY_FILES: usize = 5;

/// The files that pages in the base commit refer to, and the AsciiDoc attributes in their conditions.
#[derive(Default)]
pub(super) struct NamedFiles {
    linked: HashSet<String>,
    included: HashSet<String>,
    /// The attributes in AsciiDoc conditions: `x` of `ifdef::x[]`.
    conditions: HashSet<String>,
    image_folders: HashSet<String>,
}

impl NamedFiles {
    pub(super) fn learn(&mut self, page: &str, construct: &Construct) {
        match &construct.kind {
            // Skips every construct that not all renderers recognize, such as an include in a comment.
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
            // `;--8<--` is an escaped snippet, and `\include::` an escaped directive of AsciiDoc. They include nothing.
            ConstructKind::Include(directive) if directive.starts_with([';', '\\']) => {}
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

    /// Whether this condition of AsciiDoc has attributes, and the docs have conditions on all of them. `endif::[]` needs
    /// no attribute. The brackets must be empty: text in them would be part of the page, but is not read as such.
    pub(super) fn has_condition(&self, directive: &str) -> bool {
        let mut names = condition_names(directive).peekable();
        directive.ends_with("[]")
            && (directive.trim_start_matches('\\') == "endif::[]" || names.peek().is_some())
            && names.all(|name| self.conditions.contains(name))
    }
}

/// The attributes in a condition of AsciiDoc, escaped or not. Empty for `ifeval::`, which has an expression instead.
fn condition_names(directive: &str) -> impl Iterator<Item = &str> {
    let directive = directive.trim_start_matches('\\');
    let names = ["ifdef::", "ifndef::", "endif::"].iter().find_map(|start| directive.strip_prefix(start));
    let names = names.unwrap_or_default().split('[').next().unwrap_or_default();
    names.split([',', '+']).filter(|name| !name.is_empty())
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
    fn conditions() {
        let mut files = NamedFiles::default();
        for directive in ["ifdef::a[]", "ifndef::b,c[]", "endif::[]", r"\ifdef::escaped[]"] {
            let kind = ConstructKind::Include(directive.into());
            files.learn("a.adoc", &Construct { kind, span: 0..0, reading: Reading::Standard });
        }
        #[track_caller]
        fn check(files: &NamedFiles, directives: &[&str], expected: bool) {
            for directive in directives {
                assert_eq!(files.has_condition(directive), expected, "{directive}");
            }
        }
        check(&files, &["ifdef::a[]", "ifndef::a[]", "ifdef::a,b[]", "ifdef::a+c[]", r"\ifdef::a[]"], true);
        check(&files, &["endif::[]", "endif::a[]", r"\endif::[]"], true);
        check(&files, &["ifdef::x[]", "ifdef::a,x[]", "endif::x[]", "ifdef::escaped[]"], false);
        check(&files, &["ifdef::[]", "ifndef::,[]", "ifeval::[]", r"\ifdef::x[]"], false);
        check(&files, &["ifdef::a[text]", "endif::[text]"], false);
    }

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
