//! Lists the copying mistakes ("slips") of models. Each is made alone.

use super::hunks::Hunk;
use super::mistakes::*;

/// An edit with a slip, and its expected result.
pub(super) struct Slipped {
    pub text: String,
    pub after: String,
    pub old: String,
    pub new: String,
}

pub(super) struct Slip {
    pub name: &'static str,
    /// The words of the old text are wrong, so the edit must be refused.
    pub must_miss: bool,
    /// `None` if the slip can't be made in a hunk.
    pub make: fn(&Hunk) -> Option<Slipped>,
}

const fn slip(name: &'static str, make: fn(&Hunk) -> Option<Slipped>) -> Slip {
    Slip { name, must_miss: false, make }
}

const fn miss(name: &'static str, make: fn(&Hunk) -> Option<Slipped>) -> Slip {
    Slip { name, must_miss: true, make }
}

pub(super) const SLIPS: &[&[Slip]] = &[
    &[slip("none", |hunk| Some(hunk.unchanged()))],
    INDENTATION,
    NEWLINES,
    BLANK_LINES,
    CHARACTERS,
    ARTIFACTS,
    WRONG_WORDS,
];

const INDENTATION: &[Slip] = &[
    slip("not indented", |hunk| not_indented(hunk, BOTH)),
    slip("old not indented", |hunk| not_indented(hunk, OLD)),
    slip("new not indented", |hunk| not_indented(hunk, NEW)),
    slip("indented by 2 more", |hunk| written(hunk, |line| indented("  ", line))),
    slip("indented by 4 more", |hunk| written(hunk, |line| indented("    ", line))),
    slip("indented by a tab more", |hunk| written(hunk, |line| indented("\t", line))),
    slip("old indented by 4 more", |hunk| whole(hunk, OLD, |text| each(text, |line| indented("    ", line)))),
    slip("new indented by 4 more", |hunk| whole(hunk, NEW, |text| each(text, |line| indented("    ", line)))),
    slip("first line not indented", |hunk| whole(hunk, BOTH, without_first_indent)),
    slip("old: first line not indented", |hunk| whole(hunk, OLD, without_first_indent)),
    slip("new: first line not indented", |hunk| whole(hunk, NEW, without_first_indent)),
    slip("trimmed", |hunk| whole(hunk, BOTH, trimmed)),
    slip("old trimmed", |hunk| whole(hunk, OLD, trimmed)),
    slip("new trimmed", |hunk| whole(hunk, NEW, trimmed)),
    slip("indentation doubled", |hunk| written(hunk, |line| format!("{}{line}", indent(line)))),
    slip("indentation halved", half_indented),
    slip("list items indented by 2 more", |hunk| {
        written(hunk, |line| if is_item(line) { indented("  ", line) } else { line.to_owned() })
    }),
    slip("tabs become spaces", |hunk| written(hunk, |line| reindented(line, "\t", "    "))),
    slip("spaces become tabs", spaces_to_tabs),
];

const NEWLINES: &[Slip] = &[
    slip("no final newline", |hunk| whole(hunk, BOTH, without_newline)),
    slip("old without final newline", |hunk| whole(hunk, OLD, without_newline)),
    slip("new without final newline", |hunk| whole(hunk, NEW, without_newline)),
    slip("file without final newline", |hunk| without_final_newline(hunk, BOTH)),
    slip("file without final newline, old with", |hunk| without_final_newline(hunk, NEW)),
    slip("file without final newline, new with", |hunk| without_final_newline(hunk, OLD)),
    slip("CRLF in the file", |hunk| endings(hunk, true)),
    slip("CRLF in old and new", |hunk| endings(hunk, false)),
    slip("spaces at line ends dropped", |hunk| copied(hunk, |line| line.trim_end().to_owned())),
    slip("spaces at line ends added", |hunk| copied(hunk, |line| format!("{line} "))),
];

const BLANK_LINES: &[Slip] = &[
    slip("blank lines around", |hunk| whole(hunk, BOTH, |text| format!("\n{text}\n"))),
    slip("blank line before old", |hunk| whole(hunk, OLD, |text| format!("\n{text}"))),
    slip("blank line before new", |hunk| whole(hunk, NEW, |text| format!("\n{text}"))),
    slip("blank line after old", |hunk| whole(hunk, OLD, |text| format!("{text}\n"))),
    slip("blank line after new", |hunk| whole(hunk, NEW, |text| format!("{text}\n"))),
    slip("a blank line more", |hunk| blank_line(hunk, true)),
    slip("a blank line less", |hunk| blank_line(hunk, false)),
    slip("blank lines doubled", |hunk| blank_lines(hunk, 2)),
    slip("blank lines dropped", |hunk| blank_lines(hunk, 0)),
];

const CHARACTERS: &[Slip] = &[
    slip("curly quotes become straight", |hunk| {
        swapped(hunk, &[("“", "\""), ("”", "\""), ("’", "'"), ("‘", "'")])
    }),
    slip("straight quotes become curly", |hunk| swapped(hunk, &[("\"", "”"), ("'", "’")])),
    slip("dashes become hyphens", |hunk| swapped(hunk, &[("–", "-"), ("—", "-")])),
    slip("hyphens become dashes", |hunk| swapped(hunk, &[(" - ", " – "), ("-", "‑")])),
    slip("no-break spaces become spaces", |hunk| swapped(hunk, &[("\u{a0}", " ")])),
    slip("a space becomes no-break", |hunk| {
        copied(hunk, |line| line.trim_end().replacen(". ", ".\u{a0}", 1))
    }),
    slip("ellipses become dots", |hunk| swapped(hunk, &[("…", "...")])),
    slip("dots become ellipses", |hunk| swapped(hunk, &[("...", "…")])),
    slip("full-width punctuation", |hunk| swapped(hunk, &[(":", "："), ("(", "（"), (")", "）")])),
    slip("wrapped at 50", |hunk| wrapped(hunk, 50)),
    slip("wrapped at 120", |hunk| wrapped(hunk, 120)),
];

const ARTIFACTS: &[Slip] = &[
    slip("line numbers in both", |hunk| numbered(hunk, true)),
    slip("line numbers in old", |hunk| numbered(hunk, false)),
    slip("in a fence", |hunk| whole(hunk, BOTH, |text| format!("```md\n{text}```\n"))),
    slip("in a fence, no final newline", |hunk| {
        whole(hunk, BOTH, |text| format!("```\n{}\n```", without_newline(text)))
    }),
    slip("escaped", |hunk| {
        whole(hunk, BOTH, |text| swap(text, &[("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\"", "\\\"")]))
    }),
    slip("entities", |hunk| {
        whole(hunk, BOTH, |text| swap(text, &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")]))
    }),
];

const WRONG_WORDS: &[Slip] = &[
    miss("a wrong word", |hunk| wrong(hunk, |word| format!("{word}zebra"))),
    miss("a word left out", |hunk| wrong(hunk, |_| String::new())),
    miss("a word twice", |hunk| wrong(hunk, |word| format!("{word} {word}"))),
];
