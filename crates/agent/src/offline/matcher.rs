//! Finds a text as a whole word or phrase.

use std::ops::Range;

/// The matches of a text, and the number of occurrences that don't count.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    pub(super) whole: Vec<Range<usize>>,
    /// Occurrences within a longer word or name.
    pub(super) within_words: usize,
    /// Occurrences that differ by case.
    pub(super) other_case: usize,
}

/// Whether words that are joined to others, as in `npm/x` and `--npm`, match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinedWords {
    /// In prose, they are other names.
    Excluded,
    /// In code, most words are joined to something.
    Included,
}

/// Finds `old` in `range` of `text`. An occurrence that is already part of `new` doesn't match, so that repeating a
/// replacement changes nothing.
pub(super) fn find_matches(
    text: &str,
    range: Range<usize>,
    old: &str,
    new: &str,
    joined: JoinedWords,
) -> Matches {
    let mut matches = Matches::default();
    let (mut at, part_of_new) = (range.start, offsets_in(new, old));
    while let Some(offset) = text[at..range.end].find(old) {
        let found = at + offset..at + offset + old.len();
        at = found.end;
        if part_of_new.iter().any(|offset| is_part_of(text, found.start, *offset, new)) {
            continue;
        }
        let may_be_joined = joined == JoinedWords::Included;
        match is_whole(text, &found, old) && (may_be_joined || !is_part_of_name(text, &found, old)) {
            true => matches.whole.push(found),
            false => matches.within_words += 1,
        }
    }
    matches.other_case = count_other_case(&text[range], old);
    matches
}

fn offsets_in(new: &str, old: &str) -> Vec<usize> {
    new.match_indices(old).map(|(offset, _)| offset).collect()
}

fn is_part_of(text: &str, start: usize, offset: usize, new: &str) -> bool {
    start.checked_sub(offset).and_then(|start| text.get(start..)).is_some_and(|rest| rest.starts_with(new))
}

fn is_whole(text: &str, found: &Range<usize>, old: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = text[..found.start].chars().next_back();
    let mut after = text[found.end..].chars();
    let (next, after_next) = (after.next(), after.next());
    // `npm.md` and `@npm/x` are other names. `npm.` ends a sentence.
    let dotted = next == Some('.') && after_next.is_some_and(is_word);
    let begins = !old.starts_with(is_word) || !before.is_some_and(|c| is_word(c) || ".@$".contains(c));
    let ends = !old.ends_with(is_word) || !(next.is_some_and(is_word) || dotted);
    begins && ends
}

/// Counts `old` as a word in an address: `npm` is one in `https://npm.dev/x`, but not in `pnpm.io`.
pub(super) fn count_words(address: &str, old: &str) -> usize {
    let is_word = |(at, _): &(usize, &str)| {
        !address[..*at].ends_with(char::is_alphanumeric)
            && !address[at + old.len()..].starts_with(char::is_alphanumeric)
    };
    address.match_indices(old).filter(is_word).count()
}

fn is_part_of_name(text: &str, found: &Range<usize>, old: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    (old.starts_with(is_word) && pages::name_continues_before(text, found.start))
        || (old.ends_with(is_word) && pages::name_continues_after(text, found.end))
}

fn count_other_case(text: &str, old: &str) -> usize {
    let (bytes, wanted) = (text.as_bytes(), old.as_bytes());
    if !old.is_ascii() || wanted.is_empty() {
        return 0;
    }
    let differs = |window: &&[u8]| window.eq_ignore_ascii_case(wanted) && *window != wanted;
    bytes.windows(wanted.len()).filter(differs).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_and_phrases() {
        #[track_caller]
        fn check(text: &str, old: &str, new: &str, whole: usize, within: usize, other: usize) {
            let found = find_matches(text, 0..text.len(), old, new, JoinedWords::Excluded);
            assert_eq!(
                (found.whole.len(), found.within_words, found.other_case),
                (whole, within, other),
                "{text}"
            );
        }
        check("npm, npm. (npm) \"npm\" npm's npm: x", "npm", "pnpm", 6, 0, 0);
        check("npm-like --npm npm@1 npm/x npm:foo npm=1 npm() x/npm", "npm", "pnpm", 0, 8, 0);
        check("pnpm npmrc npm_x npm.md @npm/a", "npm", "yarn", 0, 5, 0);
        check("pnpm npm", "npm", "pnpm", 1, 0, 0);
        check("Acme Docs and Docs", "Docs", "Acme Docs", 1, 0, 0);
        check("Log in or log in", "log in", "sign in", 1, 0, 1);
        check("aaa", "aa", "b", 0, 1, 0);
        check("100% sure", "100%", "all", 1, 0, 0);
        check("über uber", "uber", "x", 1, 0, 0);
        check("C++ and C", "C", "D", 1, 1, 0);
    }

    #[test]
    fn words_in_addresses() {
        assert_eq!(count_words("https://npm.dev/npm-x/pnpm/npmjs", "npm"), 2);
    }

    #[test]
    fn joined_words_match_in_code() {
        let found = find_matches("npm/x npm@1 pnpm", 0..16, "npm", "yarn", JoinedWords::Included);
        assert_eq!((found.whole.len(), found.within_words), (2, 1));
    }
}
