//! Facts, one a line, and how they are compared with the recorded ones.

use std::collections::BTreeSet;
use std::path::Path;

/// Between what is asked of a user and of whom: `docwright key create requires --name`.
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

    /// Something that users must give. `subject` is a fact of its own.
    pub(super) fn require(&mut self, subject: &str, what: &str) {
        self.0.insert(format!("{subject}{REQUIRES}{what}"));
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

    /// What `now` breaks of these.
    fn broken_by(&self, now: &Self) -> Vec<String> {
        let gone = self.0.difference(&now.0).filter(|fact| !fact.contains(REQUIRES));
        let gone = gone.map(|fact| format!("gone: {fact}"));
        let is_new_demand =
            |fact: &&String| fact.split_once(REQUIRES).is_some_and(|(subject, _)| self.0.contains(subject));
        let demands = now.0.difference(&self.0).filter(is_new_demand);
        gone.chain(demands.map(|fact| format!("new demand: {fact}"))).collect()
    }
}

#[test]
fn a_fact_stays_and_a_demand_may_only_go() {
    let facts = |lines: &[&str]| Facts(lines.iter().map(|line| (*line).to_owned()).collect());
    let recorded = facts(&["a", "a --x", "a requires --x"]);
    let check = |now: &[&str], broken: &[&str]| assert_eq!(recorded.broken_by(&facts(now)), broken);
    check(&["a", "a --x", "a requires --x"], &[]);
    check(&["a", "a --x", "a --y", "b", "b requires --z"], &[]);
    check(&["a", "a requires --x"], &["gone: a --x"]);
    check(&["a", "a --x", "a --y", "a requires --y"], &["new demand: a requires --y"]);
}
