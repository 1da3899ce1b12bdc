//! Finds the places of a text as a whole word or phrase.

use std::ops::Range;

/// The places of a text in a page, told apart by whether they stand alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) whole: Vec<Range<usize>>,
    /// Places inside of a longer word or name, which are left.
    pub(super) within_words: usize,
    /// Places that differ by case, which are left.
    pub(super) other_case: usize,
}

/// Whether words that are joined to others, as in `npm/x` and `--npm`, are names of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// In prose they are.
    Whole,
    /// In code everything is joined to something.
    Apart,
}

/// Looks for `old` in `range` of `text`. A place that is part of `new` already is none, so that
/// doing the same replacement twice changes nothing more.
pub(super) fn places(text: &str, range: Range<usize>, old: &str, new: &str, names: Names) -> Places {
    let mut places = Places::default();
    let (mut at, part_of_new) = (range.start, offsets_in(new, old));
    while let Some(found) = text[at..range.end].find(old) {
        let place = at + found..at + found + old.len();
        at = place.end;
        if part_of_new.iter().any(|offset| stands_at(text, place.start, *offset, new)) {
            continue;
        }
        match is_whole(text, &place, old) && (names == Names::Apart || !is_part_of_a_name(text, &place, old))
        {
            true => places.whole.push(place),
            false => places.within_words += 1,
        }
    }
    places.other_case = in_other_case(&text[range], old);
    places
}

fn offsets_in(new: &str, old: &str) -> Vec<usize> {
    new.match_indices(old).map(|(offset, _)| offset).collect()
}

fn stands_at(text: &str, place: usize, offset: usize, new: &str) -> bool {
    place.checked_sub(offset).and_then(|start| text.get(start..)).is_some_and(|rest| rest.starts_with(new))
}

fn is_whole(text: &str, place: &Range<usize>, old: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = text[..place.start].chars().next_back();
    let mut behind = text[place.end..].chars();
    let (next, after_next) = (behind.next(), behind.next());
    // `npm.md` and `@npm/x` are names of their own; `npm.` ends a sentence.
    let dotted = next == Some('.') && after_next.is_some_and(is_word);
    let begins = !old.starts_with(is_word) || !before.is_some_and(|c| is_word(c) || ".@$".contains(c));
    let ends = !old.ends_with(is_word) || !(next.is_some_and(is_word) || dotted);
    begins && ends
}

/// How often `old` stands in an address as a word: `npm` does so in `https://npm.dev/x`, and not in `pnpm.io`.
pub(super) fn count_words(address: &str, old: &str) -> usize {
    let is_apart = |(at, _): &(usize, &str)| {
        !address[..*at].ends_with(char::is_alphanumeric)
            && !address[at + old.len()..].starts_with(char::is_alphanumeric)
    };
    address.match_indices(old).filter(is_apart).count()
}

fn is_part_of_a_name(text: &str, place: &Range<usize>, old: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    (old.starts_with(is_word) && pages::name_goes_on_before(text, place.start))
        || (old.ends_with(is_word) && pages::name_goes_on_behind(text, place.end))
}

fn in_other_case(text: &str, old: &str) -> usize {
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
            let found = places(text, 0..text.len(), old, new, Names::Whole);
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
    fn names_in_code_are_made_of_words() {
        let found = places("npm/x npm@1 pnpm", 0..16, "npm", "yarn", Names::Apart);
        assert_eq!((found.whole.len(), found.within_words), (2, 1));
    }
}
