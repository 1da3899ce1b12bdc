//! Judges added directives, roles and page attributes: boxes that every generator knows pass, and what the docs already
//! use.

use pages::{FileKind, WordList};

use super::context::Judge;
use super::plain_text::is_plain_words;
use super::verdict::{Verdict, refuse_remote, short_name, strictest};
use crate::guard::refusal::Rule;
use crate::guard::vocabulary::directive_name;

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
/// Directives that load code to describe it.
const AUTODOC: WordList = WordList(
    "autoclass autofunction automethod autoattribute autoexception autodata autoproperty automodule autodecorator \
     autosummary",
);
/// Options of directives that set only the look or the name of something.
const PLAIN_OPTIONS: WordList = WordList(
    "alt width height align scale linenos lineno-start emphasize-lines header-rows stub-columns widths maxdepth local \
     caption name depth dedent titlesonly numbered figwidth link-type columns gutter margin sync",
);
/// Options whose value is an image.
const IMAGE_OPTIONS: WordList = WordList("img-top img-bottom img-background");
/// More classes that themes show as boxes.
const BOX_CLASSES: WordList = WordList("dropdown toggle");
const NUMBERING: WordList = WordList(
    "toc toclevels toc-title sectnums sectnumlevels sectanchors sectlinks idprefix idseparator experimental icons",
);
/// Parts of names of directives that run or include something.
const POWERFUL: WordList = WordList(
    "raw html eval exec include cell run plot program command script iframe embed url file src docinfo \
     stylesheet imagesdir server kroki role auto csv meta ifconfig only replace unicode class container \
     default- inheritance highlighter stem linkcss iconsdir uri download graphviz mermaid uml jupyter ipython doctest \
     testcode click argparse jinja style video youtube figure image target literalinclude substitutions hidden",
);

pub(super) fn judge(
    judge: &Judge<'_, '_>,
    page: &str,
    kind: FileKind,
    name: &str,
    arguments: &str,
) -> Verdict {
    // Asciidoctor writes some values into HTML attributes without escaping.
    if kind == FileKind::AsciiDoc && name.starts_with(':') && arguments.contains('"') {
        return refuse_remote(format!("sets the attribute `{}` to a value with quotes", short_name(name)));
    }
    let plain = name.trim_matches(['.', ' ', ':', '{', '}', '`', '|']);
    let lower = plain.to_lowercase();
    let is_number = arguments.starts_with(|c: char| c.is_ascii_digit())
        && arguments.chars().all(|c| c.is_ascii_digit() || c == '.');
    if kind == FileKind::AsciiDoc
        && name.starts_with(':')
        && !is_number
        && judge.vocabulary().is_none_or(|docs| docs.is_in_address(&lower))
    {
        let what = "which is part of the address of an image, a link or an included file";
        return refuse_remote(format!("sets the attribute `{}`, {what}", short_name(plain)));
    }
    let is_known = || judge.vocabulary().is_some_and(|docs| docs.has_directive(kind, name));
    let is_cell = kind == FileKind::Quarto && name.starts_with('{');
    let is_powerful = is_cell
        || POWERFUL.iter().any(|part| lower.contains(part))
            && !(matches!(lower.as_str(), "class" | "file") && name.ends_with('`'));
    if matches!(lower.as_str(), "image" | "figure") && is_known() && !arguments.is_empty() {
        return strictest([judge.judge_image_file(page, kind, arguments), judge.judge_image(arguments)]);
    }
    // Without roles, braces before a code span that continues on the next line are text.
    if name.starts_with('{') && arguments.ends_with('\n') && judge.site().is_some_and(|site| !site.is_sphinx)
    {
        return Verdict::Passes;
    }
    if let Some(verdict) = judge_option(judge, page, kind, name, arguments) {
        return verdict;
    }
    if ["source=", "src=", "href=", "url="].iter().any(|key| arguments.to_lowercase().contains(key)) {
        return refuse_remote(format!("gives the directive `{}` a file or an address", short_name(plain)));
    }
    let arguments = arguments.strip_suffix("{open}").unwrap_or(arguments);
    let is_plain = !arguments.contains(['{', '<', '}']) && is_plain_words(&arguments.replace('`', ""));
    // A role is judged by its name. Its content is judged separately.
    let is_reference = is_reference(judge, kind, name, lower.rsplit(':').next().unwrap_or_default());
    let is_box = is_reference || lower.is_empty() || BOXES.contains(&lower);
    let is_autodoc = AUTODOC.contains(&lower) && !arguments.is_empty();
    if is_autodoc && is_plain && is_known() && loads_known_code(judge, &lower, arguments) {
        return Verdict::Passes;
    }
    if matches!(directive_name(&lower), "module" | "currentmodule") && leads_to_other_code(judge, arguments) {
        return refuse_remote(
            "sets a module for directives that load code, and the docs don't describe this module",
        );
    }
    if kind == FileKind::AsciiDoc && name.starts_with(':') && is_writer_attribute(&lower) {
        match lower.starts_with("url-") || lower.starts_with("uri-") {
            true => return judge.judge_link(arguments),
            false if is_plain && !may_be_part_of_address(arguments) => return Verdict::Passes,
            false => {}
        }
    }
    // Several attributes of AsciiDoc can form an address together.
    let may_form_address =
        kind == FileKind::AsciiDoc && name.starts_with(':') && may_be_part_of_address(arguments);
    if is_plain && !may_form_address && (is_box || is_known() && (!is_powerful || is_reference)) {
        return match lower.as_str() {
            "todo" | "index" | "sidebar" | "description" if kind != FileKind::AsciiDoc => {
                Verdict::Noted(Rule::Hidden, "adds text that the site might not show")
            }
            _ => Verdict::Passes,
        };
    }
    refuse_remote(format!("adds the directive `{}`, which the docs don't use like that", short_name(plain)))
}

/// Whether a role refers to another part of the docs. Roles of MyST are code in MDX, and text for other generators.
fn is_reference(judge: &Judge<'_, '_>, kind: FileKind, name: &str, role: &str) -> bool {
    let is_myst = || {
        matches!(kind, FileKind::Markdown | FileKind::Notebook)
            && judge.site().is_some_and(|site| site.is_sphinx)
    };
    let is_known = name.ends_with('`') && matches!(role, "class" | "file" | "autolink")
        || name.ends_with(['`', '>']) && REFERENCES.contains(role);
    is_known && (!name.starts_with('{') || is_myst())
}

/// Judges an option of a directive by its value alone. `None` if that's not possible.
fn judge_option(
    judge: &Judge<'_, '_>,
    page: &str,
    kind: FileKind,
    name: &str,
    value: &str,
) -> Option<Verdict> {
    let option = name.strip_prefix(':').and_then(|name| name.strip_suffix(':'))?.to_lowercase();
    let is_plain = is_plain_words(value);
    let is_zero_size = matches!(option.as_str(), "width" | "height" | "scale") && value.starts_with('0');
    let is_box = |class: &str| BOXES.contains(class) || BOX_CLASSES.contains(class);
    match option.as_str() {
        _ if kind == FileKind::AsciiDoc => None,
        "target" | "link" => Some(judge.judge_link(value)),
        image if IMAGE_OPTIONS.contains(image) => {
            Some(strictest([judge.judge_image_file(page, kind, value), judge.judge_image(value)]))
        }
        "class" if !value.is_empty() && value.split_whitespace().all(is_box) => Some(Verdict::Passes),
        plain if PLAIN_OPTIONS.contains(plain) && is_plain && !is_zero_size => Some(Verdict::Passes),
        _ => None,
    }
}

/// Whether a directive describes code of a package that the docs already describe. A bare name belongs to the current
/// module, which is judged separately. In a summary, it can also be a module.
fn loads_known_code(judge: &Judge<'_, '_>, directive: &str, name: &str) -> bool {
    let name = name.trim_start_matches('~');
    // This module runs when it's loaded.
    if name.contains("__main__") {
        return false;
    }
    let has_module = || judge.vocabulary().is_some_and(|docs| docs.has_current_module);
    let is_bare = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && match directive {
            "automodule" => false,
            "autosummary" => has_module() && judge.site().is_some_and(|site| !site.has_module(name)),
            _ => has_module(),
        };
    is_bare || judge.vocabulary().is_some_and(|docs| docs.describes(name))
}

/// Whether the docs load code, and would load that of another package.
fn leads_to_other_code(judge: &Judge<'_, '_>, module: &str) -> bool {
    judge.vocabulary().is_none_or(|docs| docs.loads_code && !docs.describes(module))
}

/// Whether an attribute of AsciiDoc sets the numbering of a page, or has a name that writers define.
fn is_writer_attribute(name: &str) -> bool {
    let ends = ["version", "-id", "-name", "-title", "-label", "release"];
    NUMBERING.contains(name)
        || name.starts_with("url-")
        || name.starts_with("uri-")
        || ends.iter().any(|end| name.ends_with(end))
}

/// Whether a value, combined with others, can form an address on another site or code.
fn may_be_part_of_address(value: &str) -> bool {
    let is_scheme =
        ["javascript", "vbscript", "data"].iter().any(|scheme| value.eq_ignore_ascii_case(scheme));
    value.starts_with(['/', '\\'])
        || value.ends_with(['/', '\\'])
        || value.contains("..")
        || value.contains("&#")
        || is_scheme
}
