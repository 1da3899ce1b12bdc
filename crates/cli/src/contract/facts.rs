//! Collects facts and compares them with the recorded ones.

use std::collections::BTreeSet;
use std::path::Path;

/// Separates a subject and what it requires: `docwright key create requires --name`.
const REQUIRES: &str = " requires ";
const RECORD: &str = "DOCWRIGHT_RECORD";
const HEADER: &str = "\
# What users rely on, one fact a line. A line that stands here stays true in every later version.
# Record additions with DOCWRIGHT_RECORD=1 cargo test -p docwright contract
# Lines with `requires` are the other way around: they may go, and none may come for what exists already.
";

#[derive(Default)]
pub(super) struct Facts(BTreeSet<String>);

impl Facts {
    /// Something that users can rely on.
    pub(super) fn offer(&mut self, fact: impl Into<String>) {
        self.0.insert(fact.into());
    }

    /// Something that users must provide. `subject` is also a fact.
    pub(super) fn require(&mut self, subject: &str, requirement: &str) {
        self.0.insert(format!("{subject}{REQUIRES}{requirement}"));
    }

    #[track_caller]
    pub(super) fn check(self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract").join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let recorded = Self(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect());
        let broken = recorded.broken_by(&self);
        assert!(
            broken.is_empty(),
            "tests/contract/{name} records what users rely on, and this is no longer so:\n  {}\n\
             Add to the contract instead of changing it.",
            broken.join("\n  ")
        );
        if std::env::var_os(RECORD).is_some() {
            let lines: Vec<_> = self.0.into_iter().collect();
            std::fs::write(&path, format!("{HEADER}{}\n", lines.join("\n"))).unwrap();
        } else {
            assert!(!recorded.0.is_empty(), "{} is missing", path.display());
            let added = self.0.difference(&recorded.0).count();
            eprintln!("{name}: {added} facts are not recorded yet. {RECORD}=1 records them.");
        }
    }

    /// The recorded facts that `now` breaks.
    fn broken_by(&self, now: &Self) -> Vec<String> {
        let removed = self.0.difference(&now.0).filter(|fact| !fact.contains(REQUIRES));
        let removed = removed.map(|fact| format!("removed: {fact}"));
        let is_new_requirement =
            |fact: &&String| fact.split_once(REQUIRES).is_some_and(|(subject, _)| self.0.contains(subject));
        let requirements = now.0.difference(&self.0).filter(is_new_requirement);
        removed.chain(requirements.map(|fact| format!("new requirement: {fact}"))).collect()
    }
}

#[test]
fn a_fact_stays_and_a_requirement_may_only_be_removed() {
    let facts = |lines: &[&str]| Facts(lines.iter().map(|line| (*line).to_owned()).collect());
    let recorded = facts(&["a", "a --x", "a requires --x"]);
    let check = |now: &[&str], broken: &[&str]| assert_eq!(recorded.broken_by(&facts(now)), broken);
    check(&["a", "a --x", "a requires --x"], &[]);
    check(&["a", "a --x", "a --y", "b", "b requires --z"], &[]);
    check(&["a", "a requires --x"], &["removed: a --x"]);
    check(&["a", "a --x", "a --y", "a requires --y"], &["new requirement: a requires --y"]);
}
