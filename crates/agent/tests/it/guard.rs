//! Attacks on what leaves, each by the name it has in docs/security.md, and innocent changes that must pass.

mod attacks;
mod attacks_run;
mod cases;
mod fail_closed;
mod innocent;
mod innocent_code;
mod limits;

use std::collections::BTreeMap;

use agent::{Allow, Change, Policy, Prompt, judge};
use pages::MemoryTree;

/// Random, and nobody's.
const KEY: &str = "kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ2vBt7MkWn5Rj8Lf3Hc6Dg1Sp";

/// One change of one page, told the shortest way.
struct Case<'a> {
    base: &'a [(&'a str, &'a str)],
    edits: &'a [(&'a str, &'a str)],
    asked: &'a str,
    title: &'a str,
    summary: &'a str,
    secrets: &'a [&'a str],
    allow: &'a [&'a str],
}

impl Default for Case<'_> {
    fn default() -> Self {
        let base =
            &[("docs/a.md", "# Title\n\nText.\n"), ("docs/b.md", "![x](https://img.known.example/x.png)\n")];
        Self { base, edits: &[], asked: "", title: "", summary: "", secrets: &[], allow: &[] }
    }
}

impl Case<'_> {
    /// The objections, a line each: the fatal ones with an exclamation mark.
    fn judge(&self) -> Vec<String> {
        let base = MemoryTree::new(self.base.iter().copied());
        let edits =
            self.edits.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec())));
        let edits: BTreeMap<_, _> = edits.collect();
        let Self { title, summary, .. } = *self;
        let asked = &Prompt::instruction(self.asked).instructions();
        let change = Change {
            base: &base,
            vocabulary: &agent::Vocabulary::default(),
            edits: &edits,
            asked,
            title,
            summary,
        };
        let allow = Allow::parse(self.allow.iter().copied()).unwrap();
        let policy = Policy { allow, docs_path: None, secrets: self.secrets };
        let told = judge(&change, &policy).into_iter().map(|objection| {
            let line = objection.line.map(|line| format!(":{line}")).unwrap_or_default();
            assert!(objection.message.ends_with('.'));
            for secret in self.secrets.iter().chain(&[KEY]) {
                assert!(!format!("{objection} {objection:?}").contains(&secret[..20]), "a secret was told");
            }
            let mark = if objection.fatal { "!" } else { "" };
            format!("{mark}{} {}{line}", objection.rule.as_str(), objection.path)
        });
        told.collect()
    }
}

/// Whether a change is refused at a place, by whichever rule.
fn is_refused_at(reports: &[String], place: &str) -> bool {
    reports.iter().any(|report| report.starts_with('!') && report.ends_with(place))
}

/// What is said of a page after `text` was put behind it.
fn appended(text: &str) -> Vec<String> {
    let page = format!("# Title\n\nText.\n{text}\n");
    Case { edits: &[("docs/a.md", &page)], ..Case::default() }.judge()
}
