//! Judges what a change adds, construct by construct. Only what is listed here passes; the rest must stand in the base.

mod addresses;
mod attributes;
mod comments;
mod components;
mod data;
mod directives;
mod files;
mod front;
mod local;
mod moves;
mod redirects;
mod script;
mod site;
mod svg;
mod vocabulary;

use std::cell::OnceCell;
use std::collections::HashMap;

use pages::{
    Construct, ConstructKind, Doubt, FileKind, FilesError, MAX_TEXT_BYTES, Reading, WordList, constructs,
    is_shown_as_it_is, split_info,
};

use super::added::{Added, Place, Text};
use super::{Change, Finding, Policy, Rule};
pub(super) use addresses::WARNINGS;
pub(super) use files::refusal_of_path;
use site::Site;
use vocabulary::InUse;
pub use vocabulary::Vocabulary;

/// So many refusals of one file are reported; nobody reads more.
const MAX_REFUSALS: usize = 20;
/// Words of a code block that have it run.
const RUNS: WordList =
    WordList("live exec eval run interactive sandpack codapi noinline cell reference pyodide session");

/// Parts of names of languages that are drawn or run.
const DRAWN: WordList = WordList(
    "mermaid uml d2 dot graphviz vega kroki wavedrom diagram chart math draw svgbob ditaa nomnoml pikchr tikz \
     structurizr bytefield erd diag embed iframe -vue live player video pyodide",
);

/// What an added construct is to the guard.
enum Verdict {
    Passes,
    /// A reviewer is told.
    Noted(Rule, &'static str),
    Refused(Rule, String),
}

pub(super) fn judge<'a>(
    change: &Change<'a>,
    policy: &Policy<'_>,
    added: &Added<'a>,
    found: &mut Vec<Finding<'a>>,
) {
    let judge = Judge { change, asked: change.asked.as_str().to_lowercase(), site: OnceCell::new() };
    files::judge(change, policy, found);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    // What a page has that is gone, the page may have that it is now.
    let gone = change.edits.iter().filter(|(_, bytes)| bytes.is_none());
    let gone: usize = gone.filter_map(|(path, _)| Some(controls(&judge.read_base(path).ok()??))).sum();
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
            Ok(text) if controls(text) > old.as_deref().map_or(gone, controls) => {
                found.push(refusal(path, "has new control characters in it"));
            }
            Ok(text) if text.len() <= MAX_TEXT_BYTES => {
                after.push((path.as_str(), kind, constructs(kind, text)));
                let last = before.last().map_or(&[][..], |(_, _, constructs)| constructs);
                if let Some(key) = front::lost_key(last, &after[after.len() - 1].2) {
                    let what = format!(
                        "takes `{}` out of the front matter, or changes it, which keeps text of the page from being run",
                        short(&key)
                    );
                    found.push(refusal(path, &what));
                }
                if !policy.allow.permits(path) {
                    data::judge(path, kind, old.as_deref().unwrap_or_default(), text, &judge, found);
                }
            }
            Ok(_) => found.push(refusal(path, "is too large to be read")),
            Err(_) => found.push(refusal(path, "is not UTF-8 text")),
        }
    }
    judge.read_as_included(added, &mut before, &mut after);
    let mut new = New::in_all(&before, &after);
    for (path, text) in added.files() {
        let mut reports = Reports::default();
        for file in after.iter().filter(|(file, ..)| *file == path) {
            for construct in new.of(file) {
                reports.add(text, construct, judge.construct(path, file.1, construct));
            }
        }
        found.append(&mut reports.0);
    }
    judge_words(&judge, added, found);
}

/// The addresses in the title, the summary and the names of new files.
fn judge_words<'a>(judge: &Judge<'_, 'a>, added: &Added<'a>, found: &mut Vec<Finding<'a>>) {
    for text in added.texts.iter().filter(|text| text.path().is_none()) {
        let mut reports = Reports::default();
        for construct in constructs(FileKind::Markdown, &text.text) {
            let (ConstructKind::Link(address) | ConstructKind::Image(address)) = &construct.kind else {
                continue;
            };
            if !added.was_there(text, address) {
                reports.add(text, &construct, judge.link(address));
            }
        }
        found.append(&mut reports.0);
    }
}

/// What is said of one text: so many refusals, and each note once.
#[derive(Default)]
struct Reports<'a>(Vec<Finding<'a>>);

impl<'a> Reports<'a> {
    fn add(&mut self, text: &Text<'a>, construct: &Construct, verdict: Verdict) {
        let (rule, what, fatal) = match verdict {
            Verdict::Passes => return,
            Verdict::Noted(rule, what) => (rule, what.to_owned(), false),
            Verdict::Refused(rule, what) => (rule, what, true),
        };
        let is_enough = match fatal {
            true => self.0.iter().filter(|finding| finding.fatal).count() >= MAX_REFUSALS,
            false => self.0.iter().any(|finding| finding.what == what),
        };
        if !is_enough {
            let line = text.shown_line(text.line_of(construct.span.start));
            self.0.push(Finding { rule, place: text.place, line, what, fatal });
        }
    }
}

/// How many characters steer a terminal, or end a line for some programs alone.
fn controls(text: &str) -> usize {
    let is_one = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    text.chars().filter(|c| is_one(*c)).count() - text.matches("\r\n").count()
}

/// Whether the guard looks into files of a kind.
fn is_read(kind: FileKind) -> bool {
    kind.is_page() || kind.is_data() || matches!(kind, FileKind::Html | FileKind::Text)
}

fn refusal<'a>(path: &'a str, what: &str) -> Finding<'a> {
    Finding { rule: Rule::Path, place: Place::File(path), line: None, what: what.to_owned(), fatal: true }
}

type Read<'a> = (&'a str, FileKind, Vec<Construct>);

/// What may be the same in two pages: constructs of files of one kind, read in the same way.
type Key<'c> = (FileKind, Reading, &'c ConstructKind);

fn count<'c>(files: impl Iterator<Item = &'c Read<'c>>) -> HashMap<Key<'c>, isize> {
    let mut counts = HashMap::new();
    for (_, kind, all) in files {
        all.iter().for_each(|one| *counts.entry((*kind, one.reading, &one.kind)).or_default() += 1);
    }
    counts
}

/// Tells which constructs are new.
struct New<'c> {
    before: &'c [Read<'c>],
    /// How many more of each there are in all touched files together.
    more: HashMap<Key<'c>, isize>,
}

impl<'c> New<'c> {
    fn in_all(before: &'c [Read<'c>], after: &'c [Read<'c>]) -> Self {
        let mut more = count(after.iter());
        count(before.iter()).into_iter().for_each(|(key, old)| *more.entry(key).or_default() -= old);
        Self { before, more }
    }

    /// The constructs that a file has more of than before, if all the touched files together have, too.
    fn of(&mut self, file: &'c Read<'c>) -> Vec<&'c Construct> {
        let mut more = count(std::iter::once(file));
        let own = self.before.iter().filter(|(path, kind, _)| *path == file.0 && *kind == file.1);
        count(own).into_iter().for_each(|(key, old)| *more.entry(key).or_default() -= old);
        let mut new = Vec::new();
        // What stood there comes first, more often than not: the last ones are the new ones.
        for construct in file.2.iter().rev() {
            let key = (file.1, construct.reading, &construct.kind);
            let (Some(here), Some(everywhere)) = (more.get_mut(&key), self.more.get_mut(&key)) else {
                continue;
            };
            if *here > 0 && *everywhere > 0 {
                (*here, *everywhere) = (*here - 1, *everywhere - 1);
                new.push(construct);
            }
        }
        new.sort_by_key(|construct| construct.span.start);
        new
    }
}

struct Judge<'j, 'a> {
    change: &'j Change<'a>,
    /// The instructions, in small letters.
    asked: String,
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

    /// A file that pages of another kind take in is read as one of them, too.
    fn read_as_included<'t>(&self, added: &Added<'_>, before: &mut Vec<Read<'t>>, after: &mut Vec<Read<'t>>) {
        let mut more = Vec::new();
        for (path, kind, _) in after.iter() {
            let is_odd = |(file, text): (&str, &Text<'_>)| {
                let mut lines = text.lines.iter().map(|(_, range)| &text.text[range.clone()]);
                file == *path && lines.any(|line| is_other_markup(*kind, line))
            };
            let has_others = || self.site().is_none_or(|site| site.has_other_markup(*kind));
            let is_wanted = has_others() && added.files().any(is_odd);
            let Some(docs) = is_wanted.then(|| self.vocabulary()).flatten() else { continue };
            more.extend(
                docs.kinds_that_include(path).filter(|other| other != kind).map(|other| (*path, other)),
            );
        }
        for (path, kind) in more {
            let old = self.read_base(path).ok().flatten().unwrap_or_default();
            let new = self.change.edits.get(path).and_then(Option::as_deref).unwrap_or_default();
            before.push((path, kind, constructs(kind, &old)));
            after.push((path, kind, constructs(kind, &String::from_utf8_lossy(new))));
        }
    }

    /// What the docs use already; `None` when they cannot be read.
    fn vocabulary(&self) -> Option<&InUse> {
        self.change.vocabulary.of(self.change.base)
    }

    /// The pages of the site after the change; `None` when they cannot be listed.
    fn site(&self) -> Option<&Site> {
        self.site.get_or_init(|| Site::of(self.change)).as_ref()
    }

    fn construct(&self, path: &str, kind: FileKind, construct: &Construct) -> Verdict {
        if matches!(construct.reading, Reading::Doubtful(Doubt::Escaped | Doubt::InHtml | Doubt::FenceOfSome))
            // The standard knows no directives: what it reads was read for itself.
            && !matches!(construct.kind, ConstructKind::Directive { .. })
            && let Some(site) = self.site().filter(|site| site.is_commonmark)
        {
            // Vue fills in what stands in a code span.
            let is_filled_in =
                matches!(&construct.kind, ConstructKind::Template(text) if site.fills_in(text, false));
            if !is_filled_in {
                return Verdict::Passes;
            }
        }
        let verbatim = || self.vocabulary().is_some_and(|docs| docs.has(kind, construct));
        match &construct.kind {
            ConstructKind::Heading => Verdict::Passes,
            ConstructKind::Link(address) if path.ends_with("SUMMARY.md") && !pages::is_external(address) => {
                self.entry_of_book(address)
            }
            ConstructKind::Link(address)
                if kind == FileKind::AsciiDoc && addresses::has_attribute_in_scheme(address) =>
            {
                refused("links to an address whose scheme has an attribute in it")
            }
            ConstructKind::Link(address) => {
                strictest([self.linked_file(path, kind, address), self.link(address)])
            }
            ConstructKind::Image(address)
                if kind == FileKind::AsciiDoc
                    && address.contains('{')
                    && !addresses::is_below_attribute(address) =>
            {
                refused("loads an image from an address with an attribute in it")
            }
            ConstructKind::Image(address) => {
                strictest([self.shown_file(path, kind, address), self.image(address)])
            }
            ConstructKind::Definition { label, address } => match self.vocabulary() {
                Some(docs) if !docs.draws(label) => {
                    strictest([self.linked_file(path, kind, address), self.link(address)])
                }
                _ => self.image(address),
            },
            ConstructKind::Code { info, text } => self.code(kind, info, text),
            ConstructKind::Html(element) | ConstructKind::Attributes(element) => {
                match strictest([self.shown_by_tag(path, kind, element), attributes::judge(self, element)]) {
                    Verdict::Refused(..) if !attributes::is_active(element) && verbatim() => Verdict::Passes,
                    verdict => verdict,
                }
            }
            ConstructKind::Component(element) => match components::judge(self, element) {
                Verdict::Refused(..) if verbatim() => Verdict::Passes,
                verdict => verdict,
            },
            ConstructKind::Directive { name, arguments } => {
                match directives::judge(self, path, kind, name, arguments) {
                    Verdict::Refused(..) if verbatim() => Verdict::Passes,
                    verdict => verdict,
                }
            }
            ConstructKind::Math(formula) if !formula.contains('{') => Verdict::Passes,
            ConstructKind::Math(_) if self.vocabulary().is_some_and(|docs| docs.has_math) => Verdict::Passes,
            ConstructKind::Math(_) => {
                refused("adds a formula, which no page of the docs has: braces may be code to its generator")
            }
            ConstructKind::Expression(code) if components::is_text(code) || verbatim() => Verdict::Passes,
            ConstructKind::Expression(_) => refused(
                "adds an expression in braces, which runs when the docs are built; write text instead",
            ),
            ConstructKind::Esm(_) if verbatim() => Verdict::Passes,
            ConstructKind::Esm(_) => refused("adds an import or export that no page of the docs has"),
            ConstructKind::Include(mark) if takes_other_markup(kind, mark) && !verbatim() => {
                refused("takes a page of another markup into the page")
            }
            ConstructKind::Include(mark) if verbatim() || self.may_include(path, kind, mark) => {
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
                Verdict::Refused(..) if front::may_be_copied(entry) && verbatim() => Verdict::Passes,
                verdict => verdict,
            },
            // By `data::judge`, file by file.
            ConstructKind::Setting(_) => Verdict::Passes,
            ConstructKind::Comment(words) if comments::is_directive(words) => Verdict::Passes,
            ConstructKind::Comment(_) => {
                Verdict::Noted(Rule::Hidden, "adds a comment, which readers of the site do not see")
            }
            ConstructKind::Unknown(_) if kind.is_data() => Verdict::Passes,
            ConstructKind::Unknown(_) if verbatim() => Verdict::Passes,
            ConstructKind::Unknown(_) => refused(
                "adds something that is neither text, a list, a table, a link nor code, and that no page of the docs has",
            ),
        }
    }

    /// A line of mdBook's table of contents: what it names is published, whatever it is.
    fn entry_of_book(&self, address: &str) -> Verdict {
        let is_inside = !address.contains("..") && !address.starts_with('/');
        match is_inside && self.site().is_some_and(|site| address.is_empty() || site.is_page(address)) {
            true => Verdict::Passes,
            false => refused("adds an entry to the table of contents that is no page of the repository"),
        }
    }

    fn code(&self, kind: FileKind, info: &str, text: &str) -> Verdict {
        let (language, words) = split_info(info);
        let runs = |word: &String| {
            word.contains("{=")
                || word
                    .split('=')
                    .next()
                    .is_some_and(|name| RUNS.contains(&name.trim_matches(['{', '}', '.']).to_lowercase()))
        };
        if RUNS.contains(&language.to_lowercase()) || words.iter().any(runs) {
            return refused("adds code that runs when the docs are built or read; use a plain code block");
        }
        // In MDX all words behind the language are a title.
        let is_known = |docs: &InUse| {
            (kind == FileKind::Mdx || words.iter().all(|word| docs.has_info(word)))
                && docs.has_language(language)
        };
        // VitePress fills in templates in code of such a language.
        if language.ends_with("-vue") && text.contains("{{") {
            return refused("adds a template in code that the site fills in");
        }
        let is_drawn = DRAWN.iter().any(|drawn| language.to_lowercase().contains(drawn));
        let is_used = || self.vocabulary().is_some_and(is_known) && (!is_drawn || is_quiet(text));
        // Code of reStructuredText is shown, whatever its language.
        if text.is_empty() && (kind == FileKind::Rst || is_shown_as_it_is(info)) || is_used() {
            return Verdict::Passes;
        }
        refused(
            "adds a code block that the docs have none like: write the language alone behind the fence, such as ```js",
        )
    }
}

/// Whether a mark takes in a page that is judged by other rules than this one.
fn takes_other_markup(kind: FileKind, mark: &str) -> bool {
    let is_markdown = |kind| matches!(kind, FileKind::Markdown | FileKind::Mdx | FileKind::Quarto);
    let names = mark.split(|c: char| c.is_whitespace() || "\"'`{}[]()<>:#=,".contains(c));
    names.map(FileKind::of).any(|other| {
        (other.is_page() || other == FileKind::Text)
            && other != kind
            && !(is_markdown(kind) && is_markdown(other))
    })
}

/// Whether a page has what is text in its own markup, and not in that of a page which may take it in.
fn is_other_markup(kind: FileKind, text: &str) -> bool {
    let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    match kind {
        // Macros, references and links of other markup have few signs of their own.
        FileKind::Markdown | FileKind::Mdx | FileKind::Quarto => {
            has(&[":", "{", "`", "|", "_", "+", "..", "<"])
        }
        FileKind::Rst | FileKind::AsciiDoc | FileKind::Text => {
            let is_tag = |(at, _): (usize, &str)| {
                text[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            };
            text.match_indices('<').any(is_tag)
                || has(&["{{", "![", "](", "++++", "}`", "```", ":::", "import ", "export "])
        }
        _ => false,
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

/// The first refusal, or else a note.
fn strictest(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut noted = Verdict::Passes;
    for verdict in verdicts {
        match verdict {
            Verdict::Passes => {}
            Verdict::Noted(..) => noted = verdict,
            Verdict::Refused(..) => return verdict,
        }
    }
    noted
}

fn refused(what: impl Into<String>) -> Verdict {
    Verdict::Refused(Rule::Remote, what.into())
}

/// A name as it may be shown.
fn short(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(30).collect()
}
