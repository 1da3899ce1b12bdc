//! Tests cases from text files: attacks that must be refused, ordinary changes that must pass, and ordinary changes
//! that need a person's approval. `scripts/renderers` also reads the attacks.
//!
//! A case begins with a line `== name`. In it, a line `base PATH`, `file PATH` or `asked` begins a section, whose text
//! ends at the next such line. `asked` is an instruction. A line `delete PATH` is a file that the change deletes.
//! `\u{200b}` is an escape for that character.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agent::{Change, Policy, Prompt, judge};
use pages::MemoryTree;

/// Files that every case has in addition.
const BASE: &[(&str, &str)] = &[
    ("docs/a.md", "# Title\n\nText.\n"),
    ("docs/a.mdx", "# Title\n\nText.\n"),
    ("docs/b.md", "![x](https://img.known.example/x.png)\n"),
];

#[derive(Default)]
struct FileCase {
    name: String,
    base: BTreeMap<String, String>,
    edits: BTreeMap<String, Option<String>>,
    instruction: String,
}

enum Section {
    Base(String),
    Edit(String),
    Instruction,
}

impl FileCase {
    fn add(&mut self, section: &Section, line: &str) {
        match section {
            Section::Base(path) => self.base.entry(path.clone()).or_default().push_str(line),
            Section::Edit(path) => {
                self.edits.entry(path.clone()).or_default().get_or_insert_default().push_str(line);
            }
            Section::Instruction => self.instruction.push_str(line),
        }
    }

    /// Blank lines between cases are not part of them.
    fn finish(mut self) -> Self {
        let text = |text: &str| unescape(&format!("{}\n", text.trim_end_matches('\n')));
        self.base.values_mut().for_each(|file| *file = text(file));
        self.edits.values_mut().flatten().for_each(|file| *file = text(file));
        self.instruction = unescape(self.instruction.trim());
        self
    }

    fn refusals(&self) -> Vec<String> {
        let defaults = BASE.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let base: BTreeMap<String, String> = defaults.chain(self.base.clone()).collect();
        let base = MemoryTree::new(base);
        let edits =
            self.edits.iter().map(|(path, text)| (path.clone(), text.clone().map(String::into_bytes)));
        let edits: BTreeMap<_, _> = edits.collect();
        let instructions = Prompt::instruction(self.instruction.as_str()).instructions();
        let change = Change {
            base: &base,
            vocabulary: &agent::Vocabulary::default(),
            edits: &edits,
            instructions: &instructions,
            title: "",
            summary: "",
        };
        let all = judge(&change, &Policy::default());
        all.into_iter().filter(|refusal| refusal.fatal).map(|refusal| refusal.message).collect()
    }
}

fn unescape(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| match part.split_once('}') {
        Some((hex, rest))
            if u32::from_str_radix(hex, 16).is_ok_and(|code| char::from_u32(code).is_some()) =>
        {
            let c = char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap();
            format!("{plain}{c}{rest}")
        }
        _ => format!("{plain}\\u{{{part}"),
    })
}

fn parse(text: &str) -> Vec<FileCase> {
    let (mut cases, mut section): (Vec<FileCase>, _) = (Vec::new(), None);
    for line in text.split_inclusive('\n') {
        let mark = line.trim_end_matches(['\n', '\r']);
        let (word, path) = mark.split_once(' ').unwrap_or((mark, ""));
        if word == "==" {
            cases.push(FileCase { name: path.trim().to_owned(), ..FileCase::default() });
            section = None;
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let begins = match (word, path) {
            ("base", path) if !path.is_empty() => Section::Base(path.to_owned()),
            ("file", path) if !path.is_empty() => Section::Edit(path.to_owned()),
            ("asked", "") => Section::Instruction,
            ("delete", path) if !path.is_empty() => {
                case.edits.insert(path.to_owned(), None);
                section = None;
                continue;
            }
            _ => {
                if let Some(section) = &section {
                    case.add(section, line);
                }
                continue;
            }
        };
        case.add(&begins, "");
        section = Some(begins);
    }
    cases.into_iter().map(FileCase::finish).collect()
}

/// Returns the names of the cases in a folder that are not judged as expected, and the number of all cases.
fn wrong_verdicts(folder: &str, is_refused: bool) -> (Vec<String>, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        for case in parse(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            let refusals = case.refusals();
            if refusals.is_empty() == is_refused {
                let file = path.file_stem().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{file}: {} {}", case.name, refusals.first().map_or("", String::as_str)));
            }
        }
    }
    (wrong, count)
}

#[test]
fn attacks_are_refused() {
    let (wrong, count) = wrong_verdicts("attacks", true);
    assert!(count > 1_100, "{count}");
    assert!(wrong.is_empty(), "{} passed: {wrong:#?}", wrong.len());
}

#[test]
fn ordinary_changes_pass() {
    let (wrong, count) = wrong_verdicts("innocent", false);
    assert!(count > 400, "{count}");
    assert!(wrong.is_empty(), "{} refused: {wrong:#?}", wrong.len());
}

/// Each of these can be an ordinary change or an attack, so a person makes the change, or allows the path.
#[test]
fn changes_that_need_approval_are_refused() {
    let (wrong, count) = wrong_verdicts("strict", true);
    assert!(count > 30, "{count}");
    assert!(wrong.is_empty(), "{} passed: {wrong:#?}", wrong.len());
}
