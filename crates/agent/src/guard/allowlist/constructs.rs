//! Judges one added construct of a page.

use pages::{Ambiguity, Construct, ConstructKind, FileKind, Reading};

use super::context::Judge;
use super::verdict::{Verdict, refuse_remote, strictest};
use super::{
    addresses, attributes, code, comments, components, directives, front_matter, includes, literals,
};
use crate::guard::refusal::Rule;

impl Judge<'_, '_> {
    pub(super) fn judge_construct(&self, path: &str, kind: FileKind, construct: &Construct) -> Verdict {
        if self.is_plain_in_commonmark(construct) {
            return Verdict::Passes;
        }
        let is_in_docs = || self.vocabulary().is_some_and(|docs| docs.has(kind, construct));
        match &construct.kind {
            ConstructKind::Heading => Verdict::Passes,
            ConstructKind::Link(address) if path.ends_with("SUMMARY.md") && !pages::is_external(address) => {
                self.judge_book_entry(address)
            }
            ConstructKind::Link(address)
                if kind == FileKind::AsciiDoc && addresses::has_attribute_in_scheme(address) =>
            {
                refuse_remote("links to an address with an attribute in its scheme")
            }
            ConstructKind::Link(address) => {
                strictest([self.judge_linked_file(path, kind, address), self.judge_link(address)])
            }
            ConstructKind::Image(address)
                if kind == FileKind::AsciiDoc
                    && address.contains('{')
                    && !addresses::is_below_attribute(address) =>
            {
                refuse_remote("loads an image from an address with an attribute in it")
            }
            ConstructKind::Image(address) => {
                strictest([self.judge_image_file(path, kind, address), self.judge_image(address)])
            }
            ConstructKind::Definition { label, address } => match self.vocabulary() {
                Some(docs) if !docs.has_image_label(label) => {
                    strictest([self.judge_linked_file(path, kind, address), self.judge_link(address)])
                }
                _ => self.judge_image(address),
            },
            ConstructKind::Code { info, text } => code::judge(self, kind, info, text),
            ConstructKind::Html(element) | ConstructKind::Attributes(element) => {
                match strictest([self.judge_image_tag(path, kind, element), attributes::judge(self, element)])
                {
                    Verdict::Refused(..) if !attributes::is_active(element) && is_in_docs() => {
                        Verdict::Passes
                    }
                    verdict => verdict,
                }
            }
            ConstructKind::Component(element) => match components::judge(self, element) {
                Verdict::Refused(..) if is_in_docs() => Verdict::Passes,
                verdict => verdict,
            },
            ConstructKind::Directive { name, arguments } => {
                match directives::judge(self, path, kind, name, arguments) {
                    Verdict::Refused(..) if is_in_docs() => Verdict::Passes,
                    verdict => verdict,
                }
            }
            ConstructKind::Math(formula) if !formula.contains('{') => Verdict::Passes,
            ConstructKind::Math(_) if self.vocabulary().is_some_and(|docs| docs.has_math) => Verdict::Passes,
            ConstructKind::Math(_) => refuse_remote(
                "adds a formula, and no page of the docs has one: a generator can treat braces as code",
            ),
            ConstructKind::Expression(code) if literals::is_text(code) || is_in_docs() => Verdict::Passes,
            ConstructKind::Expression(_) => refuse_remote(
                "adds an expression in braces, which runs when the docs are built; write text instead",
            ),
            ConstructKind::Esm(_) if is_in_docs() => Verdict::Passes,
            ConstructKind::Esm(_) => refuse_remote("adds an import or export that no page of the docs has"),
            ConstructKind::Include(directive)
                if includes::names_other_markup(kind, directive) && !is_in_docs() =>
            {
                refuse_remote("includes a page of another markup")
            }
            ConstructKind::Include(directive) if is_in_docs() || self.may_include(path, kind, directive) => {
                Verdict::Passes
            }
            ConstructKind::Include(_) => {
                refuse_remote("includes a file in a way that no page of the docs does")
            }
            ConstructKind::Template(_) if is_in_docs() => Verdict::Passes,
            ConstructKind::Template(_) => {
                refuse_remote("adds a tag of a template language that no page of the docs has")
            }
            ConstructKind::TemplateInCode { text, is_fenced } => match self.site() {
                Some(site) if !site.fills_in(text, *is_fenced || kind == FileKind::Mdx) || is_in_docs() => {
                    Verdict::Passes
                }
                _ => refuse_remote(
                    "adds a tag of a template language to code, where the site's generator also fills it in",
                ),
            },
            ConstructKind::FrontMatter(entry) => match front_matter::judge(self, path, entry) {
                Verdict::Refused(..) if front_matter::is_copyable(entry) && is_in_docs() => Verdict::Passes,
                verdict => verdict,
            },
            // `data::judge` judges data files as a whole.
            ConstructKind::Setting(_) => Verdict::Passes,
            ConstructKind::Comment(text) if comments::is_directive(text) => Verdict::Passes,
            ConstructKind::Comment(_) => {
                Verdict::Noted(Rule::Hidden, "adds a comment, which readers of the site don't see")
            }
            ConstructKind::Unknown(_) if kind.is_data() => Verdict::Passes,
            ConstructKind::Unknown(_) if is_in_docs() => Verdict::Passes,
            ConstructKind::Unknown(_) => refuse_remote(
                "adds something that is not text, a list, a table, a link or code, and that no page of the docs has",
            ),
        }
    }

    /// Whether the construct exists only for renderers that don't follow CommonMark, and the site's generator does.
    fn is_plain_in_commonmark(&self, construct: &Construct) -> bool {
        let is_doubtful = matches!(construct.reading, Reading::Ambiguous(Ambiguity::Escaped | Ambiguity::InHtml | Ambiguity::NonPythonFence))
                // CommonMark has no directives, so their reading says nothing about it.
                && !matches!(construct.kind, ConstructKind::Directive { .. });
        let site = || self.site().filter(|site| site.is_commonmark);
        // Vue also fills in templates in code spans.
        is_doubtful
            && site().is_some_and(|site| {
                !matches!(&construct.kind, ConstructKind::Template(text) if site.fills_in(text, false))
            })
    }

    /// Judges an entry of mdBook's table of contents. mdBook publishes every file that it names.
    fn judge_book_entry(&self, address: &str) -> Verdict {
        let is_inside = !address.contains("..") && !address.starts_with('/');
        match is_inside && self.site().is_some_and(|site| address.is_empty() || site.is_page(address)) {
            true => Verdict::Passes,
            false => {
                refuse_remote("adds an entry to the table of contents that is not a page of the repository")
            }
        }
    }
}
