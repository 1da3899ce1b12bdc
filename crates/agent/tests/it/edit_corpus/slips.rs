//! Provides copying mistakes ("slips"), one at a time.

use super::hunks::{Hunk, Kind};

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

pub(super) const SLIPS: &[Slip] = &[
    slip("none", |hunk| Some(join(hunk, hunk.lines.clone()))),
    slip("spaces at line ends dropped", |hunk| copied(hunk, |line| line.trim_end().to_owned())),
    slip("spaces at line ends added", |hunk| copied(hunk, |line| format!("{line} "))),
    slip("indented by 2 more", |hunk| written(hunk, |line| indented("  ", line))),
    slip("indented by a tab more", |hunk| written(hunk, |line| indented("\t", line))),
    slip("not indented", not_indented),
    slip("first line not indented", first_not_indented),
    slip("tabs become spaces", |hunk| written(hunk, |line| reindented(line, "\t", "    "))),
    slip("spaces become tabs", spaces_to_tabs),
    slip("curly quotes become straight", |hunk| {
        copied(hunk, |line| swap(line, &[("“", "\""), ("”", "\""), ("’", "'"), ("‘", "'")]))
    }),
    slip("straight quotes become curly", |hunk| copied(hunk, |line| swap(line, &[("\"", "”"), ("'", "’")]))),
    slip("dashes become hyphens", |hunk| copied(hunk, |line| swap(line, &[("–", "-"), ("—", "-")]))),
    slip("hyphens become dashes", |hunk| copied(hunk, |line| swap(line, &[(" - ", " – "), ("-", "‑")]))),
    slip("no-break spaces become spaces", |hunk| copied(hunk, |line| swap(line, &[("\u{a0}", " ")]))),
    slip("a space becomes no-break", |hunk| {
        copied(hunk, |line| line.trim_end().replacen(". ", ".\u{a0}", 1))
    }),
    slip("ellipses become dots", |hunk| copied(hunk, |line| swap(line, &[("…", "...")]))),
    slip("dots become ellipses", |hunk| copied(hunk, |line| swap(line, &[("...", "…")]))),
    slip("full-width punctuation", |hunk| {
        copied(hunk, |line| swap(line, &[(":", "："), ("(", "（"), (")", "）")]))
    }),
    slip("wrapped at 50", |hunk| wrapped(hunk, 50)),
    slip("wrapped at 120", |hunk| wrapped(hunk, 120)),
    slip("a blank line more", |hunk| blank_line(hunk, true)),
    slip("a blank line less", |hunk| blank_line(hunk, false)),
    slip("blank lines around", |hunk| change_whole(hunk, |text| format!("\n{text}\n"))),
    slip("no final newline", |hunk| {
        change_whole(hunk, |text| text.strip_suffix('\n').unwrap_or(text).to_owned())
    }),
    slip("line numbers in both", |hunk| numbered(hunk, true)),
    slip("line numbers in old", |hunk| numbered(hunk, false)),
    slip("in a fence", |hunk| change_whole(hunk, |text| format!("```md\n{text}```\n"))),
    slip("escaped", |hunk| {
        change_whole(hunk, |text| swap(text, &[("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\"", "\\\"")]))
    }),
    slip("entities", |hunk| {
        change_whole(hunk, |text| swap(text, &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")]))
            .filter(changed(hunk))
    }),
    slip("CRLF in the file", |hunk| endings(hunk, true)),
    slip("CRLF in old and new", |hunk| endings(hunk, false)),
    Slip { name: "a wrong word", must_miss: true, make: |hunk| wrong(hunk, |word| format!("{word}zebra")) },
    Slip { name: "a word left out", must_miss: true, make: |hunk| wrong(hunk, |_| String::new()) },
    Slip { name: "a word twice", must_miss: true, make: |hunk| wrong(hunk, |word| format!("{word} {word}")) },
];

fn join(hunk: &Hunk, lines: Vec<(Kind, String)>) -> Slipped {
    let side =
        |not: Kind| lines.iter().filter(|(kind, _)| *kind != not).map(|(_, line)| line.as_str()).collect();
    Slipped {
        text: hunk.before.clone(),
        after: hunk.after.clone(),
        old: side(Kind::Added),
        new: side(Kind::Removed),
    }
}

fn changed(hunk: &Hunk) -> impl Fn(&Slipped) -> bool {
    let old = join(hunk, hunk.lines.clone()).old;
    move |slipped| slipped.old != old
}

fn each_line(hunk: &Hunk, added: bool, change: impl Fn(&str) -> String) -> Option<Slipped> {
    let line = |(kind, line): &(Kind, String)| {
        let words = line.trim_end_matches(['\n', '\r']);
        let changed = if *kind == Kind::Added && !added { words.to_owned() } else { change(words) };
        (*kind, format!("{changed}{}", &line[words.len()..]))
    };
    Some(join(hunk, hunk.lines.iter().map(line).collect())).filter(changed(hunk))
}

/// A slip in the lines that were copied from the file.
fn copied(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    each_line(hunk, false, change)
}

/// A slip in all lines.
fn written(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    each_line(hunk, true, change)
}

fn change_whole(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    let mut slipped = join(hunk, hunk.lines.clone());
    slipped.old = change(&slipped.old);
    slipped.new = change(&slipped.new);
    Some(slipped)
}

fn swap(line: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to))
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn indented(by: &str, line: &str) -> String {
    if line.trim().is_empty() { line.to_owned() } else { format!("{by}{line}") }
}

fn reindented(line: &str, from: &str, to: &str) -> String {
    let indent = indent(line);
    format!("{}{}", indent.replace(from, to), &line[indent.len()..])
}

fn not_indented(hunk: &Hunk) -> Option<Slipped> {
    let indents = hunk.lines.iter().filter(|(_, line)| !line.trim().is_empty()).map(|(_, line)| indent(line));
    let least = indents.min_by_key(|indent| indent.len())?.to_owned();
    written(hunk, |line| line.strip_prefix(least.as_str()).unwrap_or(line).to_owned())
}

fn first_not_indented(hunk: &Hunk) -> Option<Slipped> {
    change_whole(hunk, |text| text.trim_start_matches([' ', '\t']).to_owned()).filter(changed(hunk))
}

fn spaces_to_tabs(hunk: &Hunk) -> Option<Slipped> {
    let fours = hunk
        .lines
        .iter()
        .all(|(_, line)| indent(line).len().is_multiple_of(4) && !indent(line).contains('\t'));
    written(hunk, |line| reindented(line, "    ", "\t")).filter(|_| fours)
}

/// Wraps paragraphs again, in old and new: not in code, and only if all lines are plain text.
fn wrapped(hunk: &Hunk, width: usize) -> Option<Slipped> {
    let plain = |line: &str| line.is_empty() || line.starts_with(char::is_alphabetic);
    let code =
        hunk.before.lines().take(hunk.number).filter(|line| line.trim().starts_with("```")).count() % 2 == 1;
    let all = !code && hunk.lines.iter().all(|(_, line)| plain(line.trim_end()) && !line.ends_with("  \n"));
    change_whole(hunk, |text| wrap(text, width)).filter(changed(hunk)).filter(|_| all)
}

fn wrap(text: &str, width: usize) -> String {
    let paragraph = |paragraph: &str| {
        let mut lines = vec![String::new()];
        for word in paragraph.split_whitespace() {
            let structural = word.starts_with(['-', '*', '+', '#', '>', '|', '<', '`', '=', '_', ':', '~'])
                || word.starts_with(|ch: char| ch.is_ascii_digit());
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if structural || line.len() + word.len() < width => *line += &format!(" {word}"),
                _ => lines.push(word.to_owned()),
            }
        }
        lines.join("\n")
    };
    let paragraphs: Vec<_> = text.trim_end().split("\n\n").map(paragraph).collect();
    format!("{}\n", paragraphs.join("\n\n"))
}

/// Between two lines that stay, one more blank line or one less.
fn blank_line(hunk: &Hunk, more: bool) -> Option<Slipped> {
    let stays = |at: usize| hunk.lines.get(at).is_some_and(|(kind, _)| *kind == Kind::Same);
    let blank = |at: usize| hunk.lines[at].1.trim().is_empty();
    let mut positions = (1..hunk.lines.len()).filter(|at| stays(at - 1) && stays(*at) && blank(*at) != more);
    let mut lines = hunk.lines.clone();
    match more {
        true => lines.insert(positions.find(|at| !blank(at - 1))?, (Kind::Same, "\n".to_owned())),
        false => drop(lines.remove(positions.find(|at| at + 1 < hunk.lines.len())?)),
    }
    Some(join(hunk, lines))
}

fn numbered(hunk: &Hunk, both: bool) -> Option<Slipped> {
    let number = |text: &str| {
        let lines = text.split_inclusive('\n').enumerate();
        lines.map(|(at, line)| format!("{:>6}\t{line}", at + hunk.number)).collect::<String>()
    };
    let mut slipped = join(hunk, hunk.lines.clone());
    slipped.old = number(&slipped.old);
    slipped.new = if both { number(&slipped.new) } else { slipped.new };
    Some(slipped)
}

fn endings(hunk: &Hunk, in_file: bool) -> Option<Slipped> {
    let crlf = |text: &String| text.replace('\n', "\r\n");
    let Slipped { text, after, old, new } = join(hunk, hunk.lines.clone());
    match in_file {
        _ if text.contains('\r') => None,
        true => Some(Slipped { text: crlf(&text), after: crlf(&after), old, new }),
        false => Some(Slipped { old: crlf(&old), new: crlf(&new), text, after }),
    }
}

/// Changes the longest word of the old text.
fn wrong(hunk: &Hunk, change: impl Fn(&str) -> String) -> Option<Slipped> {
    let mut slipped = join(hunk, hunk.lines.clone());
    let words = slipped.old.split(|ch: char| !ch.is_alphanumeric());
    let word = words.max_by_key(|word| word.len()).filter(|word| word.len() > 3)?.to_owned();
    slipped.old = slipped.old.replacen(&word, &change(&word), 1);
    // Without its first word, the rest is still in the file, and is found.
    Some(slipped).filter(|slipped| !slipped.text.contains(slipped.old.trim()))
}
