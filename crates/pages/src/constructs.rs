//! The document model: reads a file into its constructs, each with its place in the file.
//!
//! Renderers disagree about what a page is: code to one is text to another. Such a page is read in each way, and a
//! construct says which [`Reading`] it is of. What no reader understands is [`ConstructKind::Unknown`].

mod asciidoc;
pub(crate) mod attributes;
mod braces;
mod code;
mod data;
mod destinations;
mod entities;
mod formulas;
mod front;
mod info;
mod markdown;
mod myst;
mod notebook;
mod overlaps;
mod prose;
mod references;
mod rst;
mod scan;
mod statements;
mod tags;
mod templates;
mod yaml;

use std::ops::Range;

use crate::WordList;
use crate::kind::FileKind;

/// A longer line of reStructuredText or AsciiDoc is not read.
const MAX_LINE_BYTES: usize = 8 * 1024;

pub use info::{is_shown_as_it_is, split_info};
pub use statements::is_statement;

/// Parts of names of directives whose content is drawn or run.
const DRAWN: WordList = WordList(
    "cell raw html eval exec plot script graphviz digraph mermaid uml jupyter ipython doctest testcode testsetup \
     testcleanup jinja argparse click kroki diag chart vega tikz program-output command-output",
);

/// Roles whose content is text or the name of something in the docs. That of others may be the path of a file.
const TEXT_ROLES: WordList = WordList(
    "ref doc term class meth func mod attr exc data obj numref any option envvar token keyword const member type var \
     macro setting ticket lookup djadmin template pep rfc command kbd samp file program code math eq abbr \
     menuselection mimetype strong emphasis literal title manpage dfn regexp guilabel sup sub cite footcite autolink \
     index newsgroup dt makevar mailheader hlist module function method struct enum trait role dir",
);

/// What a role is given, as far as it may name a file.
fn role_argument<'c>(name: &str, content: &'c str) -> &'c str {
    match TEXT_ROLES.contains(name.rsplit(':').next().unwrap_or(name)) {
        true => "",
        false => content,
    }
}

/// How deep a line is indented, if a tab goes on to the next multiple of `tab`.
fn columns(line: &str, tab: usize) -> usize {
    let blanks = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.fold(0, |column, c| if c == '\t' { column / tab * tab + tab } else { column + 1 })
}

/// Whether the content of a directive is drawn or run, and no text of the page.
fn is_drawn(directive: &str) -> bool {
    let name = directive.to_lowercase();
    DRAWN.iter().any(|part| name.contains(part))
}

/// One thing that stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Construct {
    pub kind: ConstructKind,
    pub span: Range<usize>,
    pub reading: Reading,
}

/// One way to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reading {
    /// By the standard of its kind.
    Standard,
    /// With as little code as any renderer may find, and with tags, braces and statements of MDX.
    Wary,
    /// The same, where some renderers see code and others do not. What stood in one kind of doubt is new in another.
    Doubtful(Doubt),
}

/// Why renderers disagree on whether something is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doubt {
    Indented {
        in_list: bool,
        in_html: bool,
        after_blank: bool,
    },
    /// With a hash of all lines of the page that may be fences.
    OddFence(u64),
    /// With a hash of the block of lines.
    OddSpan(u64),
    InHtml,
    /// In a fence behind the mark of a list, or one with more words than a language, which is none to Python-Markdown.
    FenceOfSome,
    /// A script in another element.
    Nested,
    Escaped,
    /// In what only some renderers read as something other than text.
    Swallowed(Swallow),
}

/// What goes on to its end for some renderers, whatever stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Swallow {
    Comment,
    /// One that is text to some.
    EscapedComment,
    Formula,
    Braces,
    /// A part of a template that is not filled in.
    Template,
    /// The value of an attribute.
    Attribute,
    /// What may be one. With a hash of the line.
    OddAttribute(u64),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConstructKind {
    Heading,
    /// Somewhere to go on a click.
    Link(String),
    /// Loaded without a click.
    Image(String),
    /// The address of a label that the page itself makes no use of; another page that takes it in may.
    Definition {
        label: String,
        address: String,
    },
    /// Code that is shown. `text` is empty unless the language is one that renderers draw or run.
    Code {
        info: String,
        text: String,
    },
    /// A tag of HTML.
    Html(Element),
    /// A tag of a component.
    Component(Element),
    /// A list of attributes in braces.
    Attributes(Element),
    /// Braces of MDX.
    Expression(String),
    /// An `import` or `export` statement.
    Esm(String),
    /// A block or a word that a generator gives a meaning, such as `:::note`.
    Directive {
        name: String,
        arguments: String,
    },
    /// Another file that becomes part of this one.
    Include(String),
    /// A formula.
    Math(String),
    /// Marks of a template language.
    Template(String),
    /// The same in code, where only some generators fill it in.
    TemplateInCode {
        text: String,
        is_fenced: bool,
    },
    FrontMatter(Entry),
    /// An entry of a data file.
    Setting(Entry),
    Comment(String),
    Unknown(String),
}

/// An entry of front matter or of a data file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The keys from the top, with dots; entries of a list have their list's.
    pub key: String,
    pub value: String,
    pub shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    Text,
    Number,
    Truth,
    Nothing,
}

/// A tag and what it is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// In lower case, unless it is a component's.
    pub name: String,
    pub is_closing: bool,
    pub attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attribute {
    pub name: String,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    None,
    /// Without quotes and entities.
    Text(String),
    /// Code in braces.
    Expression(String),
}

/// Reads a file. Text that is not of a known kind has no constructs.
pub fn constructs(kind: FileKind, text: &str) -> Vec<Construct> {
    match kind {
        FileKind::Markdown | FileKind::Mdx | FileKind::Quarto => markdown::read(kind, text),
        FileKind::Rst | FileKind::Text => rst::read(text),
        FileKind::AsciiDoc => asciidoc::read(text),
        FileKind::Notebook => notebook::read(text),
        FileKind::Mintlify | FileKind::Vercel => data::json(text),
        FileKind::MkDocs => data::yaml(text),
        FileKind::NavigationData | FileKind::OpenApi if text.trim_start().starts_with(['{', '[']) => {
            data::json(text)
        }
        FileKind::NavigationData | FileKind::OpenApi => data::yaml(text),
        FileKind::Netlify => data::toml(text),
        FileKind::RedirectsFile => data::redirect_lines(text),
        FileKind::Html => markdown::html(text, 0..text.len()),
        FileKind::NavigationScript | FileKind::Image | FileKind::Svg | FileKind::Other => Vec::new(),
    }
}

/// The entries of YAML, each with its place; `None` when it is more than plain data.
pub(crate) fn yaml_entries(text: &str) -> Option<Vec<(Entry, Range<usize>)>> {
    yaml::entries(text)
}

/// The same of TOML.
pub(crate) fn toml_entries(text: &str) -> Option<Vec<(Entry, Range<usize>)>> {
    data::toml_entries(text)
}

impl Construct {
    fn standard(kind: ConstructKind, span: Range<usize>) -> Self {
        Self { kind, span, reading: Reading::Standard }
    }

    fn wary(kind: ConstructKind, span: Range<usize>) -> Self {
        Self { kind, span, reading: Reading::Wary }
    }
}

/// The lines of a text from `start` on, with their line ends, and where each begins.
pub(crate) fn lines(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    text[start..].split_inclusive('\n').scan(start, |at, line| {
        let here = *at;
        *at += line.len();
        Some((here, line))
    })
}
