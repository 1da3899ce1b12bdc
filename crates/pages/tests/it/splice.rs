//! Replacements of byte ranges.

use std::ops::Range;

use pages::{line_of, splice};

#[test]
fn ranges_are_replaced() {
    #[track_caller]
    fn check(replacements: &[(Range<usize>, &str)], expected: &str) {
        let owned = replacements.iter().map(|(range, new)| (range.clone(), (*new).to_owned()));
        assert_eq!(splice("one é two\r\n", owned.collect()), expected);
    }
    check(&[], "one é two\r\n");
    check(&[(7..10, "2"), (0..3, "1")], "1 é 2\r\n");
    check(&[(0..3, "1"), (1..5, "x")], "1 é two\r\n");
    check(&[(5..6, "x"), (50..60, "x")], "one é two\r\n");
}

#[test]
fn lines_count_from_one() {
    assert_eq!(line_of("a\nb", 0), 1);
    assert_eq!(line_of("a\nb", 2), 2);
    assert_eq!(line_of("a\nb", 99), 2);
}
