//! Problems of a single page, by kind.

use pages::ProblemKind::{
    Brace, Comment, DuplicateId, DuplicateKey, Fence, FrontMatter, Statement, Table, Tag,
};
use pages::{ProblemKind, check};

use crate::overlay;

/// The problems of some kinds in one page, as `line what`.
fn problems(kinds: &[ProblemKind], path: &str, text: &str) -> Vec<String> {
    let problems = check(&overlay(&[(path, text)])).unwrap();
    let problems = problems.iter().filter(|problem| kinds.contains(&problem.kind));
    problems.map(|problem| format!("{} {}", problem.line, problem.what)).collect()
}

fn front_matter(text: &str) -> Vec<String> {
    problems(&[FrontMatter, DuplicateKey], "a.md", text)
}

#[test]
fn good_front_matter() {
    for lines in [
        "title: A",
        "title: \"A: b\" # c",
        "title: 'it''s: so'",
        "title: \"say \\\"x\\\"\"",
        "title: A # b: c",
        "url: https://a.b:80/c",
        "time: 10:30",
        "module: std::",
        "title: \"one\n  two: three\"\nid: x",
        "description: >\n  a: b\n\n  c\ntags: [a, b]\nhero:\n  title: x\n  title: y",
        "tags:\n- a\n- b: c\nid: x",
        "head:\n  - - meta\n    - name: a",
        "title: {{ title }}: x",
        "a b: c\ntitle: x",
        "\"quoted\": x",
        "title:",
        "",
        "Some words between two rules.",
        "key: *alias\nother: &anchor x",
        "list: [\n  a,\n]\nid: x",
    ] {
        assert_eq!(front_matter(&format!("---\n{lines}\n---\nB\n")), Vec::<String>::new(), "{lines}");
        assert_eq!(
            front_matter(&format!("---\r\n{}\r\n---\r\nB", lines.replace('\n', "\r\n"))),
            Vec::<String>::new()
        );
    }
    for text in
        ["---\n\nA rule: and words\n", "---\n", "# A\n", "---\nNote: well\n", "+++\na = 1\n[b]\na = 1\n+++\n"]
    {
        assert_eq!(front_matter(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn bad_front_matter() {
    #[track_caller]
    fn bad(lines: &str, expected: &[&str]) {
        assert_eq!(front_matter(&format!("---\n{lines}\n---\nB\n")), expected, "{lines}");
    }
    bad("title: A: b", &["2 title"]);
    bad("id: x\ntitle: A b:", &["3 title"]);
    bad("title: \"A\nid: x", &["2 title"]);
    bad("title: 'it's'", &["2 title"]);
    bad("title: \"A\" b", &["2 title"]);
    bad("title: @a", &["2 title"]);
    bad("title: A\njust words", &["3 just words"]);
    bad("title: A\nid: x\ntitle: B", &["4 title"]);
    bad("hero:\n  text: a: b", &["3 hero"]);
    bad("tags:\n  - \"a\nid: x", &["3 tags"]);
    assert_eq!(front_matter("---\ntitle: A\n\n# A\n"), ["1 not closed"]);
    assert_eq!(front_matter("+++\na = 1\na = 2\n+++\n"), ["3 a"]);
}

#[test]
fn explicit_anchors_that_are_set_twice() {
    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(problems(&[DuplicateId], path, text), expected, "{text}");
    }
    check("a.md", "## A {#a}\n\n## B {#b}\n", &[]);
    check("a.md", "## A {#a}\n\n## B {#a}\n", &["3 a"]);
    check("a.md", "<a id=\"a\"></a>\n\n## B { #a }\n", &["3 a"]);
    check("a.mdx", "<div id='a'/>\n\ntext <span id=\"a\">x</span>\n", &["3 a"]);
    check("a.md", "## A {#a}\n\n```\n## B {#a}\n<a id=\"a\">\n```\n", &[]);
    check("a.md", "## A\n\n## A\n", &[]);
    check("a.mdx", "<Tab id=\"a\"/>\n\n<Tab id=\"a\"/>\n", &[]);
    check("a.mdx", "<div data-id=\"a\"/>\n\n<div data-id=\"a\"/>\n", &[]);
}

#[track_caller]
fn mdx(text: &str, expected: &[&str]) {
    assert_eq!(problems(&[Tag, Brace, Fence, Statement], "a.mdx", text), expected, "{text}");
}

#[test]
fn good_mdx() {
    for text in [
        "<Card title=\"x\">\n\ntext\n\n</Card>\n",
        "<Card icon={<Icon name=\"a\" />} />\n",
        "<>a</>",
        "a <br> b <img src=\"x\"> c",
        "`<Card>` and\n\n```\n<Card>\n```\n",
        "{list.map((x) => <li>{x}</li>)}\n",
        "<Tabs>\n  <Tab>\n    ```sh\n    a\n    ```\n  </Tab>\n</Tabs>\n",
        "1 \\< 2 and a \\{ brace",
        "import A from 'a'\nimport 'b'\nexport const c = {\n\n  d: 1,\n}\n\nText\n",
        "export default ({ children }) => <div>{children}</div>\n",
        "import your data\n".trim_start_matches("import "),
        "Then\nimport the data.\n",
        "## A {#id}\n",
        &format!("<Table rows={{[\n\n{}]}} />\n\ntext\n", "{ a: '<b>' },\n\n".repeat(1000)),
    ] {
        mdx(text, &[]);
    }
}

#[test]
fn bad_mdx() {
    mdx("<Card>\n\ntext\n", &["1 Card"]);
    mdx("text\n\n</Card>\n", &["3 /Card"]);
    mdx("<Tabs>\n<Tab>\n</Tabs>\n", &["2 Tab"]);
    mdx("<A>\n</B>\n", &["1 A", "2 /B"]);
    mdx("<Card title=\"x>\n\ntext\n", &["1 "]);
    mdx("a { b\n", &["1 {"]);
    mdx("import A from a\n\nText\n", &["1 import A from a"]);
    mdx("export A\n\nText\n", &["1 export A"]);
    mdx("a\n\n```js\nb\n", &["3 fence"]);
    mdx("export const a = {\n\nText\n", &["1 export const a = {"]);
}

/// Checks the lines of the problems.
#[track_caller]
fn markdown(text: &str, expected: &[usize]) {
    let found = problems(&[Fence, Comment, Table], "a.md", text);
    let lines = found.iter().map(|row| row.split(' ').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(lines.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn blocks_that_are_never_closed() {
    markdown("```\na\n```\n", &[]);
    markdown("```\na\n````", &[]);
    markdown("````md\n```\n````\n\ntext", &[]);
    markdown("- a\n\n  ```\n  b\n  ```\n", &[]);
    markdown("- ```\n  b\n  ```\n", &[]);
    markdown("> ```\n> a\n> ```\n", &[]);
    markdown("    ```\n", &[]);
    markdown("a\n\n```js\nb\n", &[3]);
    markdown("---\ntitle: a\n---\n\n```\n", &[5]);
    markdown("```\na\n```js\nb\n```\n\n```\nc\n```\n", &[]);
    markdown("```sh\na\n\n```sh\nb\n```\n\ntext\n\n```sh\nc\n```\n\n```\n", &[14]);
    markdown("````\na\n```\n", &[1]);
    markdown("~~~\na\n```\n", &[1]);
    markdown("<!-- a -->\n", &[]);
    markdown("<!--\na\n\nb\n-->\n", &[]);
    markdown("a\n\n<!-- b\n\nc\n", &[3]);
    markdown("`<!--` a\n", &[]);
    markdown("```\n<!--\n```\n", &[]);
}

#[test]
fn tables_with_mismatched_rows() {
    markdown("| a | b |\n|---|---|\n| 1 | 2 |\n", &[]);
    markdown("| a \\| c | b |\n|:--|--:|\n", &[]);
    markdown("| a | b\n|---|---\n", &[]);
    markdown("|a|\n|-|\n", &[]);
    markdown("|||\n|---|---|\n", &[]);
    markdown("```\n| a | b |\n|---|\n```\n", &[]);
    markdown("> | a |\n> |---|\n", &[]);
    markdown("| `a|b` |\n|---|\n", &[]);
    markdown("| a | b |\n|---|\n", &[2]);
    markdown("text\n\n| a |\n|---|---|\n", &[4]);
}
