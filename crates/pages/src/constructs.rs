//! Reads a file into its constructs, each with its span in the file.
//!
//! Renderers disagree about pages: what is code to one is text to another. Such a page is read in each way, and each
//! construct says which [`Reading`] it comes from. Markup that no reader understands is [`ConstructKind::Unknown`].

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

/// A longer line of reStructuredText or AsciiDoc is reported as unknown.
const MAX_LINE_BYTES: usize = 8 * 1024;

pub use info::{is_plain_code, split_info};
pub use statements::is_statement;

/// Parts of names of directives whose content is rendered or run.
const EXECUTABLE_DIRECTIVES: WordList = WordList(
    "cell raw html eval exec plot script graphviz digraph mermaid uml jupyter ipython doctest testcode testsetup \
     testcleanup jinja argparse click kroki diag chart vega tikz program-output command-output",
);

/// Roles whose content is text or a name in the docs. The content of other roles can be the path of a file.
const TEXT_ROLES: WordList = WordList(
    "ref doc term class meth func mod attr exc data obj numref any option envvar token keyword const member type var \
     macro setting ticket lookup djadmin template pep rfc command kbd samp file program code math eq abbr \
     menuselection mimetype strong emphasis literal title manpage dfn regexp guilabel sup sub cite footcite autolink \
     index newsgroup dt makevar mailheader hlist module function method struct enum trait role dir",
);

/// The content of a role, if it can name a file.
fn role_argument<'c>(name: &str, content: &'c str) -> &'c str {
    match TEXT_ROLES.contains(name.rsplit(':').next().unwrap_or(name)) {
        true => "",
        false => content,
    }
}

/// The indentation of a line in columns. A tab extends to the next multiple of `tab`.
fn columns(line: &str, tab: usize) -> usize {
    let blanks = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.fold(0, |column, c| if c == '\t' { column / tab * tab + tab } else { column + 1 })
}

/// Whether the content of a directive is rendered or run, and is not text.
fn is_executable_directive(directive: &str) -> bool {
    let name = directive.to_lowercase();
    EXECUTABLE_DIRECTIVES.iter().any(|part| name.contains(part))
}

/// A piece of a file, such as a link or a tag.
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
    /// With as little code as any renderer finds, and with tags, braces and statements of MDX.
    Conservative,
    /// The same, where renderers disagree. A construct with one ambiguity is not the same with another.
    Ambiguous(Ambiguity),
}

/// Why renderers disagree on whether something is code or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ambiguity {
    Indented {
        in_list: bool,
        in_html: bool,
        after_blank: bool,
    },
    /// Only some renderers recognize a fence above. With a hash of the lines that can be fences.
    UncertainFence(u64),
    /// Only some renderers recognize a code span. With a hash of the paragraph.
    UncertainSpan(u64),
    InHtml,
    /// In a fence that Python-Markdown doesn't recognize: in a list item, or with more than a language.
    NonPythonFence,
    /// Inside of another construct, such as a script in an element.
    Nested,
    Escaped,
    /// In a range that only some renderers read as text.
    Enclosed(Enclosure),
}

/// A construct that extends to its end mark for some renderers, whatever is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Enclosure {
    Comment,
    /// A comment that is text to some renderers.
    EscapedComment,
    Formula,
    Braces,
    /// A block in which templates are not filled in.
    Template,
    /// The value of an attribute.
    Attribute,
    /// Possibly the value of an attribute. With a hash of the line.
    UncertainAttribute(u64),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConstructKind {
    Heading,
    /// An address that is opened by a click.
    Link(String),
    /// An address that is loaded without a click.
    Image(String),
    /// The address of a label that the page itself doesn't use. Another page that includes it can.
    Definition {
        label: String,
        address: String,
    },
    /// Code that is shown. `text` is empty unless renderers can render or run the language.
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
    /// A block or a word with a meaning to a generator, such as `:::note`.
    Directive {
        name: String,
        arguments: String,
    },
    /// An include of another file.
    Include(String),
    /// A formula.
    Math(String),
    /// A mark of a template language.
    Template(String),
    /// A mark of a template language in code, where only some generators fill it in.
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
    /// The keys from the top, joined by dots. Entries of a list have the key of the list.
    pub key: String,
    pub value: String,
    pub scalar: ScalarType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    Text,
    Number,
    Boolean,
    Null,
}

/// A tag and its attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// In lower case, except for components.
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
    /// Without quotes, and with entities decoded.
    Text(String),
    /// Code in braces.
    Expression(String),
}

/// Reads a file. A file of an unknown kind has no constructs.
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
        FileKind::Html => tags::read_all(text, 0..text.len()),
        FileKind::NavigationScript | FileKind::Image | FileKind::Svg | FileKind::Other => Vec::new(),
    }
}

/// The entries of YAML and their spans. `None` when it is more than plain data.
pub(crate) fn yaml_entries(text: &str) -> Option<Vec<(Entry, Range<usize>)>> {
    yaml::entries(text)
}

/// The entries of TOML and their spans.
pub(crate) fn toml_entries(text: &str) -> Option<Vec<(Entry, Range<usize>)>> {
    data::toml_entries(text)
}

impl Construct {
    fn standard(kind: ConstructKind, span: Range<usize>) -> Self {
        Self { kind, span, reading: Reading::Standard }
    }

    fn conservative(kind: ConstructKind, span: Range<usize>) -> Self {
        Self { kind, span, reading: Reading::Conservative }
    }
}

/// The lines of a text from `start` on, with their offsets and line ends.
pub(crate) fn lines(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    text[start..].split_inclusive('\n').scan(start, |at, line| {
        let here = *at;
        *at += line.len();
        Some((here, line))
    })
}
