//! Which findings a change brought in.

use pages::{Finding, FindingKind, worse};

#[test]
fn only_what_a_change_brought_in() {
    /// Findings written as `path line what`.
    fn findings(rows: &[&str]) -> Vec<Finding> {
        let finding = |row: &&str| {
            let parts: Vec<_> = row.split(' ').collect();
            let (path, line, what) = (parts[0].to_owned(), parts[1].parse().unwrap(), parts[2].to_owned());
            Finding { path, line, kind: FindingKind::Link, what, message: String::new() }
        };
        rows.iter().map(finding).collect()
    }
    #[track_caller]
    fn check(before: &[&str], after: &[&str], expected: &[&str]) {
        assert_eq!(worse(&findings(before), &findings(after)), findings(expected));
    }
    check(&[], &[], &[]);
    check(&[], &["a 1 x"], &["a 1 x"]);
    check(&["a 1 x"], &[], &[]);
    check(&["a 1 x"], &["a 9 x"], &[]);
    check(&["a 1 x"], &["a 1 x", "a 2 x"], &["a 2 x"]);
    check(&["a 1 x"], &["a 1 y"], &["a 1 y"]);
    // The page was moved, or a part of it was.
    check(&["a 1 x"], &["b 1 x"], &[]);
    check(&["a 1 x"], &["b 1 x", "c 1 x"], &["c 1 x"]);
    // What is still wrong on its page cannot have gone to another.
    check(&["a 1 x"], &["a 1 x", "b 1 x"], &["b 1 x"]);
    check(&["b 1 x"], &["a 1 x", "b 1 x"], &["a 1 x"]);
}
