//! Files that a page takes in when the docs are built: what is nobody's to read must not be published that way.

use std::collections::BTreeSet;

use super::added::Added;
use super::{Change, Finding, Rule};
use crate::pattern::pattern;

/// Folders that only look hidden.
const SHOWN: &[&str] = &[".github", ".snippets", ".includes", ".partials", ".vitepress", ".vuepress"];
/// What is the machine's.
const MACHINE: &[&str] = &["/proc", "/etc", "/root", "/home", "/dev", "/sys", "/run", "/var", "~"];

pub(super) fn judge<'a>(change: &Change<'a>, added: &Added<'a>, found: &mut Vec<Finding<'a>>) {
    let before: BTreeSet<&str> =
        added.before.values().flat_map(|text| targets(text)).map(|(_, target)| target).collect();
    for (path, text) in added.files().filter(|(path, _)| is_page(path)) {
        let is_wrong = |target: &str| {
            is_private(path, target) || is_remote(target) && !change.asked.as_str().contains(target)
        };
        let mut new = targets(&text.text).filter(|(_, target)| !before.contains(target) && is_wrong(target));
        found.extend(new.next().map(|(at, _)| Finding {
            rule: Rule::Remote,
            place: text.place,
            line: Some(text.line_of(at)),
            what: "includes a file that is hidden, not of the repository, or from elsewhere".to_owned(),
            fatal: true,
        }));
    }
}

fn is_page(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let endings = [".rst", ".rest", ".txt", ".adoc", ".asciidoc", ".asc", ".ad"];
    super::markup::may_load(&path) || endings.iter().any(|ending| path.ends_with(ending))
}

fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let found = include().into_iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(|found| {
        let target = found.iter().skip(1).flatten().next()?;
        Some((target.start(), target.as_str()))
    })
}

fn is_remote(target: &str) -> bool {
    ["http://", "https://", "//"].iter().any(|start| target.to_ascii_lowercase().starts_with(start))
}

/// Whether a file is hidden, or not one of the repository.
fn is_private(path: &str, target: &str) -> bool {
    let target = target.replace('\\', "/");
    if MACHINE.iter().any(|start| target.starts_with(start)) {
        return true;
    }
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        let is_up = part == "..";
        if is_up && depth == 0 {
            return true;
        }
        depth = if is_up { depth - 1 } else { depth + usize::from(!part.is_empty() && part != ".") };
        let is_hidden =
            part.len() > 1 && part.starts_with('.') && !is_up && !part.trim_matches('.').is_empty();
        if is_hidden && !SHOWN.contains(&part) {
            return true;
        }
    }
    false
}

pattern!(
    include,
    r"(?mi)-8<-{1,8}[ \t]*[\x22']([^\x22'\n]+)|\{\{[ \t]*#(?:rustdoc_)?include[ \t]+([^\s}:]+)",
    r"|\.\.[ \t]+(?:\|[^|\n]+\|[ \t]*)?(?:literal)?include[ \t]*::[ \t]*(\S+)|\{(?:literal)?include\}[ \t]*(\S+)",
    r"|^[ \t]*:file:[ \t]*(\S+)|^include::([^\[\n]+)\[|^<<<[ \t]*([^\s{\[]+)|<!--[ \t]*@include:[ \t]*([^\s>]+?)[ \t]*-->",
    r"|raw-loader!([^\x22'`\n]+)|[\x22']([^\x22'\n?]+)\?raw\b|\{%-?[ \t]*(?:include|render)[a-z_-]*[ \t]+[\x22']?([^\s\x22'%]+)",
    r"|\{\{[<%][ \t]*(?:include|readfile)[ \t]+[\x22']?([^\s\x22'>%]+)",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private() {
        for target in [".git/config", "../.env", "/proc/self/environ", "~/.ssh/id", "../../x", "a\\.npmrc"] {
            assert!(is_private("docs/a.md", target), "{target}");
        }
        for target in ["../README.md", "./a/b.md", "/snippets/a.md", "../.github/A.md", "...", "@/a.ts"] {
            assert!(!is_private("docs/a.md", target), "{target}");
        }
    }

    #[test]
    fn what_is_included() {
        for text in [
            "--8<-- \"x/y\"",
            "{{#include x/y}}",
            "{{#include x/y:3:4}}",
            ".. literalinclude:: x/y",
            "```{literalinclude} x/y",
            "include::x/y[]",
            "<<< x/y{2}",
            "<!--@include: x/y-->",
            "import X from '!!raw-loader!x/y'",
            "import X from 'x/y?raw'",
            "{% include 'x/y' %}",
            "{{< include x/y >}}",
        ] {
            let found: Vec<_> = targets(text).map(|(_, target)| target).collect();
            assert_eq!(found, ["x/y"], "{text}");
        }
    }
}
