//! Tests that the guard refuses what it can't read, list or decide.

use std::collections::BTreeMap;

use agent::{Change, Policy, Prompt, Vocabulary, judge};
use pages::{Entry, FilesError, Kind, Tree};

/// A tree with one page that fails to list or to read.
#[derive(Default)]
struct Broken {
    cannot_list: bool,
    cannot_read: bool,
    old: Vec<u8>,
}

impl Tree for Broken {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let entry = Entry { path: "docs/a.mdx".to_owned(), kind: Kind::File };
        if self.cannot_list { Err(FilesError::TooManyFiles) } else { Ok(vec![entry]) }
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        match path {
            "docs/a.mdx" if self.cannot_read => Err(FilesError::Tree("the disk is gone".into())),
            "docs/a.mdx" if self.old.len() > at_most => Err(FilesError::TooLarge(path.to_owned())),
            "docs/a.mdx" => Ok(self.old.clone()),
            _ => Err(FilesError::NotFound(path.to_owned())),
        }
    }
}

fn is_refused(base: &Broken, new: &[u8]) -> bool {
    is_refused_by(&Vocabulary::default(), base, new)
}

fn is_refused_by(vocabulary: &Vocabulary, base: &Broken, new: &[u8]) -> bool {
    let edits = BTreeMap::from([("docs/a.mdx".to_owned(), Some(new.to_vec()))]);
    let instructions = &Prompt::instruction("Correct it").instructions();
    let change = Change { base, vocabulary, edits: &edits, instructions, title: "", summary: "" };
    judge(&change, &Policy::default()).iter().any(|refusal| refusal.fatal)
}

#[test]
fn unreadable_files_are_refused() {
    let base = || Broken { old: b"# A\n\n<Card title=\"x\" />\n".to_vec(), ..Broken::default() };
    let same = b"# A\n\n<Card title=\"x\" />\n\n<Card title=\"y\" />\n";
    assert!(!is_refused(&base(), same));
    assert!(!is_refused(&base(), b"# A\n\nText.\n"));
    assert!(is_refused(&base(), &b"text ".repeat(430_000)), "2.1 MiB");
    assert!(is_refused(&base(), b"# \xe9tude\n"), "Latin-1");
    assert!(is_refused(&Broken { old: b"\xe9".to_vec(), ..base() }, b"# A\n"), "Latin-1 before");
    assert!(is_refused(&Broken { old: b"text ".repeat(430_000), ..base() }, b"# A\n"), "2.1 MiB before");
    assert!(is_refused(&Broken { cannot_read: true, ..base() }, b"# A\n"), "a page that cannot be read");
    assert!(is_refused(&Broken { cannot_list: true, ..base() }, same), "a list that fails");
    assert!(!is_refused(&Broken { cannot_list: true, ..base() }, b"# A\n\nText.\n"), "prose needs no list");
}

#[test]
fn a_vocabulary_is_read_once_and_marked_if_partial() {
    let page = b"# A\n\n<Card title=\"x\" />\n";
    let more = b"# A\n\n<Card title=\"x\" />\n\n<Card title=\"y\" />\n";
    let base = |cannot_list| Broken { old: page.to_vec(), cannot_list, ..Broken::default() };
    let vocabulary = Vocabulary::default();
    assert!(!is_refused_by(&vocabulary, &base(false), more));
    assert!(!vocabulary.is_partial() && vocabulary.size() > 0);
    assert!(!is_refused_by(&vocabulary, &base(true), more), "the pages were not read again");
    let vocabulary = Vocabulary::default();
    assert!(is_refused_by(&vocabulary, &base(true), more));
    assert!(vocabulary.is_partial());
}
