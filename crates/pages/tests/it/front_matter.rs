//! Front matter: its values and their ranges.

use pages::FrontMatter;

#[track_caller]
fn check(text: &str, body: &str, values: &[(&str, &str)]) {
    let front = FrontMatter::parse(text);
    assert_eq!(&text[front.body_start..], body);
    let found: Vec<_> = front.values.iter().map(|v| (v.key.as_str(), &text[v.range.clone()])).collect();
    assert_eq!(found, values);
}

#[test]
fn blocks_are_parsed() {
    check("# A\n", "# A\n", &[]);
    check("\u{feff}# A\n", "# A\n", &[]);
    check("---\ntitle: Use it # now\n---\n# A\n", "# A\n", &[("title", "Use it")]);
    check("\u{feff}---\r\ntitle: \"A: b\"\r\nid: x\r\n---\r\nB", "B", &[("title", "A: b"), ("id", "x")]);
    check("+++\ntitle = 'A'\n+++\nB", "B", &[("title", "A")]);
    check("---\ntags:\n  - one\n  - two\n---\n", "", &[("tags", "one"), ("tags", "two")]);
    check(
        "---\ndescription: >\n  one\n  two\ntags: [a, b]\n---\n",
        "",
        &[("description", "one"), ("description", "two")],
    );
    check("---\ntitle: A\n", "---\ntitle: A\n", &[]);
    check("---\n---\nB", "B", &[]);
}

#[test]
fn values_have_ranges() {
    check("+++\ntitle = \"A\"\n[extra]\nlabel = 'B'\n+++\n", "", &[("title", "A"), ("label", "B")]);
    check("---\ndescription: one\n  two\n---\n", "", &[("description", "one"), ("description", "two")]);
    check("---\ntitle: \"Ä\" # x\nid: 3\n...\nB", "B", &[("title", "Ä"), ("id", "3")]);
    // A value that is not written literally has no range, and neither has an item of a list in brackets.
    check("---\ntitle: \"say \\\"x\\\"\"\ntags: [a,\n  b]\n---\n", "", &[]);
    // A block that is more than plain data has no values.
    check("---\ntitle: &a A\nother: *a\n---\nB", "B", &[]);
    check("---\ntitle: A: b\n---\nB", "B", &[]);
}

#[test]
fn only_some_values_are_prose() {
    let text = "---\ntitle: a\nauthor: b\nhero:\n  name: c\n  actions:\n    - theme: d\n      text: e\n      link: /f\nhead:\n  - name: g\nscript: |\n  npm run h\ntags:\n  - i\nsidebarTitle: j\ntext: /k\n---\n";
    let prose = FrontMatter::parse(text).values.into_iter().filter(|value| value.is_prose(text));
    assert_eq!(prose.map(|value| &text[value.range]).collect::<Vec<_>>(), ["a", "c", "e", "i", "j"]);
}

#[test]
fn values_that_can_hold_a_text() {
    #[track_caller]
    fn check(line: &str, new: &str, expected: bool) {
        let front = FrontMatter::parse(&format!("---\n{line}\n---\n"));
        assert_eq!(front.values[0].can_hold(new), expected, "{line} {new}");
    }
    check("title: A", "b", true);
    check("title: A", "b: c", false);
    check("title: A", "[b", false);
    check("title: \"A\"", "b: c", true);
    check("title: \"A\"", "say \"b\"", false);
    check("title: 'A'", "it's", false);
    check("title: A", "b\nc: d", false);
}
