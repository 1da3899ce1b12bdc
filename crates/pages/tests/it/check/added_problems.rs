//! The problems that a change added.

use pages::{Problem, ProblemKind, added_problems};

#[test]
fn added_problems_are_those_that_were_not_there() {
    /// Problems written as `path line what`.
    fn problems(rows: &[&str]) -> Vec<Problem> {
        let problem = |row: &&str| {
            let parts: Vec<_> = row.split(' ').collect();
            let (path, line, what) = (parts[0].to_owned(), parts[1].parse().unwrap(), parts[2].to_owned());
            Problem { path, line, kind: ProblemKind::Link, what, message: String::new() }
        };
        rows.iter().map(problem).collect()
    }
    #[track_caller]
    fn check(before: &[&str], after: &[&str], expected: &[&str]) {
        assert_eq!(added_problems(&problems(before), &problems(after)), problems(expected));
    }
    check(&[], &[], &[]);
    check(&[], &["a 1 x"], &["a 1 x"]);
    check(&["a 1 x"], &[], &[]);
    check(&["a 1 x"], &["a 9 x"], &[]);
    check(&["a 1 x"], &["a 1 x", "a 2 x"], &["a 2 x"]);
    check(&["a 1 x"], &["a 1 y"], &["a 1 y"]);
    // The page, or a part of it, was moved.
    check(&["a 1 x"], &["b 1 x"], &[]);
    check(&["a 1 x"], &["b 1 x", "c 1 x"], &["c 1 x"]);
    // A problem that is still on its page did not move to another.
    check(&["a 1 x"], &["a 1 x", "b 1 x"], &["b 1 x"]);
    check(&["b 1 x"], &["a 1 x", "b 1 x"], &["a 1 x"]);
}
