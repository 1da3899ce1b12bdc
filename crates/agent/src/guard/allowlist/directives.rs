//! Directives, roles and settings of a page: boxes that every generator knows, and what the docs use already.

use pages::{FileKind, WordList};

use super::{Judge, Verdict, attributes, refused, short};

/// Boxes that every generator knows.
const BOXES: WordList = WordList(
    "=== code-block code sourcecode note tip info warning danger caution important details question example abstract success failure bug \
     quote hint attention seealso error summary todo admonition toctree topic table list-table glossary \
     contents index currentmodule math epigraph centered hlist sidebar caption versionadded description \
     keywords author revdate navtitle title versionchanged deprecated rubric",
);
/// Roles that refer to another part of the docs.
const REFERENCES: WordList = WordList(
    "ref doc term meth func mod attr exc data obj numref option envvar const pep rfc command kbd samp file \
     program code math abbr menuselection mimetype strong emphasis literal title manpage dfn regexp class \
     guilabel sup sub",
);
/// Parts of names that run something, or take something in.
const POWERFUL: WordList = WordList(
    "raw html eval exec include cell run plot program command script iframe embed url file src docinfo \
     stylesheet imagesdir server kroki role auto csv meta ifconfig only replace unicode class container \
     default- highlighter stem linkcss iconsdir uri download graphviz mermaid uml jupyter ipython doctest \
     testcode style video youtube figure image target literalinclude substitutions hidden",
);

pub(super) fn judge(judge: &Judge<'_, '_>, kind: FileKind, name: &str, arguments: &str) -> Verdict {
    let plain = name.trim_matches(['.', ' ', ':', '{', '}', '`', '|']);
    let lower = plain.to_lowercase();
    let is_known = || judge.vocabulary().is_some_and(|docs| docs.has_directive(kind, name));
    let is_cell = kind == FileKind::Quarto && name.starts_with('{');
    let is_powerful = is_cell
        || POWERFUL.iter().any(|part| lower.contains(part)) && !matches!(lower.as_str(), "class" | "file");
    if matches!(lower.as_str(), "image" | "figure") && is_known() && !arguments.is_empty() {
        return judge.image(arguments);
    }
    if matches!(lower.as_str(), "target") {
        return judge.link(arguments);
    }
    let arguments = arguments.strip_suffix("{open}").unwrap_or(arguments);
    let is_plain = !arguments.contains(['{', '<', '}']) && attributes::is_words(&arguments.replace('`', ""));
    // A role is known by its name; what it is given was read for itself.
    let is_reference =
        name.ends_with('`') && matches!(lower.rsplit(':').next(), Some("class" | "file" | "autolink"));
    let is_reference = is_reference
        || name.ends_with(['`', '>']) && REFERENCES.contains(lower.rsplit(':').next().unwrap_or_default());
    let is_box = is_reference || lower.is_empty() || BOXES.contains(&lower);
    if is_plain && (is_box || is_known() && (!is_powerful || is_reference)) {
        return Verdict::Passes;
    }
    refused(format!("adds the directive `{}`, which the docs do not use like that", short(plain)))
}
