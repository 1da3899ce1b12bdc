//! Tests the guard: attacks, each with its name in docs/security.md, and innocent changes that must pass.

mod attacks;
mod attacks_run;
mod cases;
mod fail_closed;
mod innocent;
mod innocent_code;
mod limits;
mod lost_redirects;
mod redirects;

use std::collections::BTreeMap;

use agent::{Allow, Change, Policy, Prompt, judge};
use pages::MemoryTree;

/// A random value that is no real key.
const KEY: &str = "kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ2vBt7MkWn5Rj8Lf3Hc6Dg1Sp";

/// A change, with defaults for everything.
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
    /// The refusals, one line each. Fatal ones begin with an exclamation mark.
    fn judge(&self) -> Vec<String> {
        let base = MemoryTree::new(self.base.iter().copied());
        let edits =
            self.edits.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec())));
        let edits: BTreeMap<_, _> = edits.collect();
        let Self { title, summary, .. } = *self;
        let instructions = &Prompt::instruction(self.asked).instructions();
        let change = Change {
            base: &base,
            vocabulary: &agent::Vocabulary::default(),
            edits: &edits,
            instructions,
            title,
            summary,
        };
        let allow = Allow::parse(self.allow.iter().copied()).unwrap();
        let policy = Policy { allow, docs_path: None, secrets: self.secrets };
        let lines = judge(&change, &policy).into_iter().map(|refusal| {
            let line = refusal.line.map(|line| format!(":{line}")).unwrap_or_default();
            assert!(refusal.message.ends_with('.'));
            for secret in self.secrets.iter().chain(&[KEY]) {
                assert!(
                    !format!("{refusal} {refusal:?}").contains(&secret[..20]),
                    "a message contains a secret"
                );
            }
            let mark = if refusal.fatal { "!" } else { "" };
            format!("{mark}{} {}{line}", refusal.rule.as_str(), refusal.path)
        });
        lines.collect()
    }
}

/// Whether any rule refuses a change at a position.
fn is_refused_at(refusals: &[String], position: &str) -> bool {
    refusals.iter().any(|refusal| refusal.starts_with('!') && refusal.ends_with(position))
}

/// The refusals of a page to which `text` is appended.
fn judge_appended(text: &str) -> Vec<String> {
    let page = format!("# Title\n\nText.\n{text}\n");
    Case { edits: &[("docs/a.md", &page)], ..Case::default() }.judge()
}
