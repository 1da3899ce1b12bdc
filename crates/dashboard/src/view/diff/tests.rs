//! Tests the parser with real diffs, truncated diffs and junk.

use super::*;

/// A parsed diff as text: one line per row, with marked words in brackets.
fn to_text(unified: &str) -> String {
    let mut text = String::new();
    for file in diff_files(unified) {
        let note = file.note.map(|note| format!(" ({note})")).unwrap_or_default();
        text += &format!("{}{note} +{} -{}\n", file.path, file.added, file.removed);
        for line in &file.lines {
            let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
            let pieces = line.pieces().into_iter();
            let pieces: String = pieces
                .map(|(marked, text)| if marked { format!("[{text}]") } else { text.to_owned() })
                .collect();
            text += &format!("{}|{}|{}|{pieces}\n", number(line.old), number(line.new), line.kind.class());
        }
    }
    text
}

#[track_caller]
fn check(unified: &str, expected: &str) {
    assert_eq!(to_text(unified), expected);
}

#[test]
fn an_edit_has_line_numbers_on_both_sides() {
    check(
        "diff --git a/docs/a.md b/docs/a.md\nindex 1..2 100644\n--- a/docs/a.md\n+++ b/docs/a.md\n\
         @@ -8,3 +8,4 @@ ## Install\n one\n-You recieve it.\n+You receive it.\n+More.\n three\n\\ No newline at end of file\n",
        "docs/a.md +2 -1\n||at|@@ -8,3 +8,4 @@ ## Install\n8|8|ctx|one\n9||del|You recieve it.\n\
         |9|add|You receive it.\n|10|add|More.\n10|11|ctx|three\n||aside|No newline at end of file\n",
    );
}

#[test]
fn runs_of_equal_length_are_paired() {
    check(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one teh\n-two teh\n+one the\n+two the\n",
        "x +2 -2\n||at|@@ -1,2 +1,2 @@\n1||del|one [teh]\n2||del|two [teh]\n|1|add|one [the]\n|2|add|two [the]\n",
    );
    check(
        "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-one teh\n+one the\n+more\n",
        "x +2 -1\n||at|@@ -1 +1,2 @@\n1||del|one teh\n|1|add|one the\n|2|add|more\n",
    );
}

#[test]
fn header_signs_inside_a_hunk_are_text() {
    check(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old rule\n+++ new rule\n ---\n",
        "x +1 -1\n||at|@@ -1,2 +1,2 @@\n1||del|[-- old] rule\n|1|add|[++ new] rule\n2|2|ctx|---\n",
    );
}

#[test]
fn new_deleted_renamed_and_binary_files_have_a_note() {
    let head = "diff --git a/x.md b/x.md\n";
    check(
        &format!("{head}new file mode 100644\n--- /dev/null\n+++ b/x.md\n@@ -0,0 +1 @@\n+a\n"),
        "x.md (new file) +1 -0\n||at|@@ -0,0 +1 @@\n|1|add|a\n",
    );
    check(
        &format!("{head}deleted file mode 100644\n--- a/x.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        "x.md (deleted) +0 -1\n||at|@@ -1 +0,0 @@\n1||del|a\n",
    );
    check(
        "diff --git a/old.md b/new.md\nsimilarity index 100%\nrename from old.md\nrename to new.md\n",
        "new.md (renamed from old.md) +0 -0\n",
    );
    check("diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n", "i.png (binary) +0 -0\n");
    check(
        "diff --git a/with space.md b/with space.md\nold mode 100644\nnew mode 100755\n",
        "with space.md +0 -0\n",
    );
    check("diff --git \"a/caf\\303\\251.md\" \"b/caf\\303\\251.md\"\nold mode 100644\n", "café.md +0 -0\n");
}

#[test]
fn files_are_listed_in_order_with_and_without_a_git_header() {
    let one = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n";
    let two = "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n";
    let paths = |unified: &str| diff_files(unified).into_iter().map(|file| file.path).collect::<Vec<_>>();
    assert_eq!(paths(&format!("{one}{two}")), ["a", "b"]);
    assert_eq!(paths(&format!("{two}{one}")), ["b", "a"]);
}

#[test]
fn invisible_characters_are_shown_as_code_points() {
    check(
        "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\u{202e}b\u{0}\tc\n",
        "x +1 -0\n||at|@@ -0,0 +1 @@\n|1|add|a⟨U+202E⟩b⟨U+0000⟩\tc\n",
    );
}

#[test]
fn a_large_diff_is_truncated_and_its_lines_are_counted() {
    let hunk = |path: &str, lines: usize| {
        format!("--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{}", "+x\n".repeat(lines))
    };
    let files = diff_files(&hunk("big", 1_000));
    assert_eq!((files[0].added, files[0].lines.len(), files[0].hidden), (1_000, MAX_FILE_LINES, 601));
    assert_eq!(files[0].hidden_lines().as_deref(), Some("601 more lines"));

    let many: String = (0..12).map(|n| hunk(&n.to_string(), 399)).collect();
    let files = diff_files(&many);
    assert_eq!(files.len(), 12);
    assert_eq!(files.iter().map(|file| file.lines.len()).sum::<usize>(), MAX_LINES);
    assert_eq!((files[11].added, files[11].lines.len()), (399, 0));

    let long = diff_files(&format!("--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+{}\n", "ä".repeat(5_000)));
    assert_eq!(long[0].lines[1].text.chars().count(), MAX_LINE_CHARS + 1);
}

#[test]
fn junk_is_ignored() {
    for junk in [
        "",
        "\n\n",
        "hello",
        "@@ -1 +1 @@\n+x",
        "+x\n-y",
        "\\",
        "diff --git ",
        "diff --git é",
        "--- ",
        "+++ \"",
        "--- \"a\\",
        "rename to x",
    ] {
        diff_files(junk);
    }
    check("@@ -1 +1 @@\n-a\n+b\n", "");
    check(
        "--- a/x\n@@ -1,4294967295 +1,4294967295 @@\n\\ y\n\né\n+z\n",
        "x +0 -0\n||at|@@ -1,4294967295 +1,4294967295 @@\n||aside|y\n1|1|ctx|\n",
    );
    check("--- a/x\n@@ -1,99999999999 +1 @@\n-a\n", "x +0 -0\n");
    check(
        "--- a/x\n@@ -4294967295,2 +4294967295,2 @@\n a\n b\n",
        "x +0 -0\n||at|@@ -4294967295,2 +4294967295,2 @@\n4294967295|4294967295|ctx|a\n4294967295|4294967295|ctx|b\n",
    );
}

/// Parses every prefix and suffix of a diff, and the diff with a character inserted at every position.
#[test]
fn no_part_of_a_diff_panics() {
    let whole = "diff --git \"a/\\303\\251\" \"b/\\303\\251\"\nrename from é\n--- a/é\n+++ b/é\n@@ -1,2 +1,2 @@ é\n-a é b\n+a è b\n é\n\\ No newline\n";
    for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        diff_files(&whole[at..]);
        diff_files(&whole[..at]);
        diff_files(&format!("{}\u{2028}{}", &whole[..at], &whole[at..]));
    }
}
