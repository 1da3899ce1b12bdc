//! Judges what a change adds, construct by construct. Only what is listed here passes; the rest must stand in the base.

mod attributes;
mod components;
mod data;
mod directives;
mod files;
mod front;
mod redirects;
mod site;
mod vocabulary;

use std::cell::OnceCell;
use std::collections::HashMap;

use pages::{
    Construct, ConstructKind, Doubt, FileKind, FilesError, MAX_TEXT_BYTES, Reading, constructs, split_info,
};

use super::added::{Added, Place, Text};
use super::url;
use super::{Change, Finding, Policy, Rule};
use site::Site;
use vocabulary::Vocabulary;

/// So many refusals are told of one file; nobody reads more.
const MAX_REFUSALS: usize = 20;
/// Words of a code block that have it run.
const RUNS: &[&str] =
    &["live", "exec", "eval", "run", "interactive", "sandpack", "codapi", "noinline", "cell"];

/// Parts of names of languages that are drawn or run.
const DRAWN: &[&str] = &[
    "mermaid",
    "uml",
    "d2",
    "dot",
    "graphviz",
    "vega",
    "kroki",
    "wavedrom",
    "diagram",
    "chart",
    "math",
    "draw",
    "svgbob",
    "ditaa",
    "nomnoml",
    "pikchr",
    "tikz",
    "structurizr",
    "bytefield",
    "erd",
    "diag",
    "embed",
    "iframe",
    "-vue",
    "live",
    "player",
    "video",
];

/// What an added construct is to the guard.
enum Verdict {
    Passes,
    /// A reviewer is told.
    Noted(&'static str),
    Refused(Rule, String),
}

pub(super) fn judge<'a>(
    change: &Change<'a>,
    policy: &Policy<'_>,
    added: &Added<'a>,
    found: &mut Vec<Finding<'a>>,
) {
    let judge = Judge {
        change,
        asked: change.asked.as_str().to_lowercase(),
        vocabulary: OnceCell::new(),
        site: OnceCell::new(),
    };
    files::judge(change, policy, found);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (path, bytes) in change.edits {
        let kind = FileKind::of(path);
        let old = match judge.read_base(path) {
            Ok(old) => old,
            Err(what) => {
                found.push(refusal(path, what));
                continue;
            }
        };
        before.push((
            path.as_str(),
            kind,
            old.as_deref().map_or_else(Vec::new, |text| constructs(kind, text)),
        ));
        let Some(bytes) = bytes.as_ref().filter(|_| is_read(kind)) else { continue };
        match std::str::from_utf8(bytes) {
            Ok(text) if controls(text) > old.as_deref().map_or(0, controls) => {
                found.push(refusal(path, "has new control characters in it"));
            }
            Ok(text) if text.len() <= MAX_TEXT_BYTES => {
                after.push((path.as_str(), kind, constructs(kind, text)));
                data::judge(path, kind, old.as_deref().unwrap_or_default(), text, &judge, found);
            }
            Ok(_) => found.push(refusal(path, "is too large to be read")),
            Err(_) => found.push(refusal(path, "is not UTF-8 text")),
        }
    }
    for (path, kind, construct) in new_constructs(&before, &after) {
        let Some((_, text)) = added.files().find(|(file, _)| *file == path) else { continue };
        let (rule, what, fatal) = match judge.construct(path, kind, construct) {
            Verdict::Passes => continue,
            Verdict::Noted(what) => (Rule::Hidden, what.to_owned(), false),
            Verdict::Refused(rule, what) => (rule, what, true),
        };
        let line = Some(line_of(text, construct));
        found.push(Finding { rule, place: Place::File(path), line, what, fatal });
    }
}

/// How many characters steer a terminal, or end a line for some programs alone.
fn controls(text: &str) -> usize {
    let is_one = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    text.chars().filter(|c| is_one(*c)).count() - text.matches("\r\n").count()
}

/// Whether the guard looks into files of a kind.
fn is_read(kind: FileKind) -> bool {
    kind.is_page() || kind.is_data() || kind == FileKind::Text
}

fn refusal<'a>(path: &'a str, what: &str) -> Finding<'a> {
    Finding { rule: Rule::Path, place: Place::File(path), line: None, what: what.to_owned(), fatal: true }
}

fn line_of(text: &Text<'_>, construct: &Construct) -> usize {
    text.line_of(construct.span.start)
}

type Read<'a> = (&'a str, FileKind, Vec<Construct>);

/// The constructs that a file has more of than before, and all the touched files together, too.
fn new_constructs<'c, 'a>(
    before: &'c [Read<'a>],
    after: &'c [Read<'a>],
) -> Vec<(&'a str, FileKind, &'c Construct)> {
    type Key<'c> = (FileKind, Reading, &'c ConstructKind);
    fn count<'c>(files: impl Iterator<Item = &'c Read<'c>>) -> HashMap<Key<'c>, isize> {
        let mut counts = HashMap::new();
        for (_, kind, all) in files {
            all.iter().for_each(|one| *counts.entry((*kind, one.reading, &one.kind)).or_default() += 1);
        }
        counts
    }
    let mut everywhere = count(after.iter());
    count(before.iter()).into_iter().for_each(|(key, old)| *everywhere.entry(key).or_default() -= old);
    let mut new = Vec::new();
    for file in after {
        let mut here = count(std::iter::once(file));
        let own = before.iter().filter(|(path, ..)| *path == file.0);
        count(own).into_iter().for_each(|(key, old)| *here.entry(key).or_default() -= old);
        let mut told = 0;
        // What stood there comes first, more often than not: the last ones are the new ones.
        for construct in file.2.iter().rev() {
            let key = (file.1, construct.reading, &construct.kind);
            let (Some(here), Some(everywhere)) = (here.get_mut(&key), everywhere.get_mut(&key)) else {
                continue;
            };
            if *here > 0 && *everywhere > 0 && told < MAX_REFUSALS * 50 {
                (*here, *everywhere, told) = (*here - 1, *everywhere - 1, told + 1);
                new.push((file.0, file.1, construct));
            }
        }
    }
    new
}

struct Judge<'j, 'a> {
    change: &'j Change<'a>,
    /// The instructions, in small letters.
    asked: String,
    vocabulary: OnceCell<Option<Vocabulary>>,
    site: OnceCell<Option<Site>>,
}

impl Judge<'_, '_> {
    /// The text of a file before the change. A file that is there and cannot be read is not judged, but refused.
    fn read_base(&self, path: &str) -> Result<Option<String>, &'static str> {
        let kind = FileKind::of(path);
        if !is_read(kind) {
            return Ok(None);
        }
        match self.change.base.read(path, MAX_TEXT_BYTES) {
            Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "was not UTF-8 text before"),
            Err(FilesError::NotFound(_)) => Ok(None),
            Err(_) => Err("cannot be compared with what it was"),
        }
    }

    /// What the docs use already; `None` when they cannot be read.
    fn vocabulary(&self) -> Option<&Vocabulary> {
        self.vocabulary.get_or_init(|| Vocabulary::of(self.change.base)).as_ref()
    }

    /// The pages of the site after the change; `None` when they cannot be listed.
    fn site(&self) -> Option<&Site> {
        self.site.get_or_init(|| Site::of(self.change)).as_ref()
    }

    fn construct(&self, path: &str, kind: FileKind, construct: &Construct) -> Verdict {
        if construct.reading == Reading::Doubtful(Doubt::Escaped)
            && self.site().is_some_and(|site| site.knows_escapes)
        {
            return Verdict::Passes;
        }
        let verbatim = || self.vocabulary().is_some_and(|docs| docs.has(kind, construct));
        match &construct.kind {
            ConstructKind::Heading => Verdict::Passes,
            ConstructKind::Link(address) => self.link(address),
            ConstructKind::Image(address) => self.image(address),
            ConstructKind::Code { info, text } => self.code(kind, info, text),
            ConstructKind::Html(element) | ConstructKind::Attributes(element) => {
                match attributes::judge(self, element) {
                    Verdict::Refused(..) if verbatim() => Verdict::Passes,
                    verdict => verdict,
                }
            }
            ConstructKind::Component(element) => match components::judge(self, element) {
                Verdict::Refused(..) if verbatim() => Verdict::Passes,
                verdict => verdict,
            },
            ConstructKind::Directive { name, arguments } => {
                match directives::judge(self, kind, name, arguments) {
                    Verdict::Refused(..) if verbatim() => Verdict::Passes,
                    verdict => verdict,
                }
            }
            ConstructKind::Math(formula) if !formula.contains('{') => Verdict::Passes,
            ConstructKind::Math(_) if self.vocabulary().is_some_and(|docs| docs.has_math) => Verdict::Passes,
            ConstructKind::Math(_) => {
                refused("adds a formula, which no page of the docs has: braces may be code to its generator")
            }
            ConstructKind::Expression(code) if components::is_literal(code) || verbatim() => Verdict::Passes,
            ConstructKind::Expression(_) => refused(
                "adds an expression in braces, which runs when the docs are built; write text instead",
            ),
            ConstructKind::Esm(_) if verbatim() => Verdict::Passes,
            ConstructKind::Esm(_) => refused("adds an import or export that no page of the docs has"),
            ConstructKind::Include(mark)
                if verbatim() || self.vocabulary().is_some_and(|docs| docs.includes_like(mark)) =>
            {
                Verdict::Passes
            }
            ConstructKind::Include(_) => {
                refused("takes another file into the page, which no page of the docs does like that")
            }
            ConstructKind::Template(_) if verbatim() => Verdict::Passes,
            ConstructKind::Template(_) => {
                refused("adds marks of a template language that no page of the docs has")
            }
            ConstructKind::TemplateInCode { text, is_fenced } => match self.site() {
                Some(site) if !site.fills_in(text, *is_fenced || kind == FileKind::Mdx) || verbatim() => {
                    Verdict::Passes
                }
                _ => refused(
                    "adds marks of a template language, which this site's generator fills in, in code too",
                ),
            },
            ConstructKind::FrontMatter(entry) => match front::judge(self, path, entry) {
                Verdict::Refused(..) if verbatim() => Verdict::Passes,
                verdict => verdict,
            },
            // By `data::judge`, file by file.
            ConstructKind::Setting(_) => Verdict::Passes,
            ConstructKind::Comment(words) if is_tool_comment(words) => Verdict::Passes,
            ConstructKind::Comment(_) => {
                Verdict::Noted("adds a comment, which readers of the site do not see")
            }
            ConstructKind::Unknown(_) if kind.is_data() => Verdict::Passes,
            ConstructKind::Unknown(_) if verbatim() => Verdict::Passes,
            ConstructKind::Unknown(_) => refused(
                "adds something that is neither text, a list, a table, a link nor code, and that no page of the docs has",
            ),
        }
    }

    fn link(&self, address: &str) -> Verdict {
        let plain: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
        let lower = plain.to_lowercase().replace('\\', "/");
        let bare = plain.to_lowercase().replace('\\', "");
        let is_script = ["javascript:", "vbscript:", "data:"].iter().any(|scheme| bare.starts_with(scheme));
        let has_entity = lower.split('&').skip(1).any(|part| {
            part.find(';')
                .is_some_and(|end| end > 1 && part[..end].chars().all(|c| c.is_ascii_alphanumeric()))
        });
        if is_script || has_entity || lower.contains("&#") {
            return refused_link("links to an address with encoded signs");
        }
        let is_name = lower.contains("::") && !lower.contains("script");
        let is_web = lower.starts_with("https:") || lower.starts_with("http:") || lower.starts_with("//");
        let other = [
            "mailto:",
            "tel:",
            "sms:",
            "ftp:",
            "sftp:",
            "irc:",
            "xmpp:",
            "pathname:",
            "slack:",
            "git+https:",
            "git+ssh:",
            "ssh:",
        ];
        if !is_web {
            let has_scheme =
                pages::is_external(&lower) && !other.iter().any(|scheme| lower.starts_with(scheme));
            // `std::fs` is a name to some generators, and a colon may be part of any: `:::` and `C:` are no addresses either.
            let is_path =
                lower.split(':').next().is_some_and(|start| start.contains(['/', '.', '#', '?', '{', '%']));
            return if has_scheme && !is_path && !is_name {
                refused_link("links to an address that is not of the web")
            } else {
                Verdict::Passes
            };
        }
        let Some(host) = url::host(&plain) else { return Verdict::Passes };
        if self.asked.contains(&lower) {
            return Verdict::Passes;
        }
        let authority =
            lower.split("//").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') || !host.chars().all(|c| c.is_alphanumeric() || "-._:[]{}$%*".contains(c))
        {
            return refused_link("links to an address whose host is not what it looks like");
        }
        if host.split('.').any(|label| label.starts_with("xn--"))
            && !super::remote::names_host(&self.asked, &host)
        {
            return refused_link("links to a host whose name is encoded; write it as it is read");
        }
        if url::is_lookalike(&host) && !super::remote::names_host(&self.asked, &host) {
            return refused_link("links to a host whose name mixes scripts to look like another");
        }
        let is_known = || self.vocabulary().is_some_and(|docs| docs.links_to(&host));
        match url::load(&plain).filter(|_| !is_known()) {
            Some(url::Load::Readable) => refused_link("links to an address with encoded text in it"),
            Some(url::Load::Opaque) => {
                refused_link("links to an address with data in it that nobody wrote by hand")
            }
            Some(url::Load::Id) => Verdict::Noted("links to an address with a long id in its path"),
            Some(url::Load::Long) => Verdict::Noted("links to an address with a very long query"),
            None => Verdict::Passes,
        }
    }

    /// The host rule: loaded from this site, from a host the docs load from already, or from one that a person named.
    fn image(&self, address: &str) -> Verdict {
        let plain: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
        if plain.contains(['\\', '&'])
            && plain.split(['?', '#']).next().is_some_and(|path| path.contains(['\\', '&']))
        {
            return refused("loads an image from an address that renderers read differently");
        }
        if ["%2f", "%5c"].iter().any(|code| {
            plain.to_lowercase().starts_with(&format!("/{code}")) || plain.to_lowercase().starts_with(code)
        }) {
            return refused("loads an image from an address with encoded slashes");
        }
        let Some(host) = url::host(&plain) else {
            let lower = plain.to_lowercase();
            let is_path = !pages::is_external(&lower) || lower.starts_with("pathname:");
            return if is_path {
                Verdict::Passes
            } else {
                refused("loads an image from an address that is not of the web")
            };
        };
        if self.asked.contains(&plain.to_lowercase()) {
            return Verdict::Passes;
        }
        if url::load(&plain).is_some() {
            return refused(format!("loads an image from {} with data in its address", url::shown(&host)));
        }
        let is_used = || self.vocabulary().is_some_and(|docs| docs.loads_from(&host));
        if super::remote::names_host(&self.asked, &host) || is_used() {
            return Verdict::Passes;
        }
        refused(format!(
            "loads an image from {}, which the docs do not do yet and nobody asked for",
            url::shown(&host)
        ))
    }

    fn code(&self, kind: FileKind, info: &str, text: &str) -> Verdict {
        let (language, words) = split_info(info);
        let runs = |word: &String| {
            RUNS.iter().any(|run| word.trim_matches(['{', '}', '.']).eq_ignore_ascii_case(run))
        };
        if words.iter().any(runs) || language.is_empty() && !words.is_empty() && !text.is_empty() {
            return refused("adds code that runs when the docs are built or read; use a plain code block");
        }
        // To some readers of Markdown a fence with words they do not know is none.
        let is_mdx = kind == FileKind::Mdx;
        let is_known = |docs: &Vocabulary| {
            (is_mdx || words.iter().all(|word| docs.has_info(word)))
                && (text.is_empty() || docs.has_language(language))
        };
        let is_drawn = DRAWN.iter().any(|drawn| language.to_lowercase().contains(drawn));
        let is_used = || self.vocabulary().is_some_and(is_known) && (!is_drawn || is_quiet(text));
        if words.is_empty() && text.is_empty() || is_used() {
            return Verdict::Passes;
        }
        refused(
            "adds a code block that the docs have none like: write the language alone behind the fence, such as ```js",
        )
    }
}

/// Whether a drawing loads nothing and goes nowhere.
fn is_quiet(text: &str) -> bool {
    let text = text.to_lowercase().replace("<br/>", " ").replace("<br />", " ").replace("<br>", " ");
    let loud = [
        "://",
        "<",
        "click ",
        "href",
        "javascript",
        "%%{",
        "@{",
        "!include",
        "!import",
        "url(",
        "icon:",
        "image",
        "img:",
    ];
    !loud.iter().any(|word| text.contains(word))
}

/// What tools are told by comments.
fn is_tool_comment(words: &str) -> bool {
    super::comments::is_directive(words)
}

fn refused(what: impl Into<String>) -> Verdict {
    Verdict::Refused(Rule::Remote, what.into())
}

fn refused_link(what: &str) -> Verdict {
    Verdict::Refused(Rule::Link, what.to_owned())
}

/// A name as it may be shown.
fn short(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(30).collect()
}
