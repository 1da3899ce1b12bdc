//! Tests that ordinary changes of docs pass.

use super::{Case, KEY, judge_appended};

#[test]
fn everyday_lines() {
    for text in [
        "See [the guide](https://other.example/docs/how-to-deploy-version-2#before-you-begin).",
        "```html\n<script src=\"https://cdn.example/x.js\"></script>\n```",
        "Add `<img src=\"https://cdn.example/x.png\">` to it.",
        "![x](https://img.known.example/y.png)",
        "![x](./x.png)",
        "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "OPENAI_API_KEY=sk-... npm start",
        "curl -H 'Authorization: token ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' https://api.github.com",
        "```yaml\npassword: ${{ secrets.PASSWORD }}\n```",
        "The `token` is a `string`; see `getAccessToken()` and `process.env.ACCESS_TOKEN`.",
        "git clone https://github.com/acme/docs && git checkout 9f86d081884c7d659a2feaa0c55ad0159f86d081",
        "sha256:9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015",
        "Family: 👨\u{200d}👩\u{200d}👧, warning: ⚠\u{fe0f}",
        "می\u{200c}خواهم",
        "<!-- prettier-ignore -->",
        "{/* truncate */}",
        "Set `id` to 3f2504e0-4f89-41d3-9a0c-0305e82c3301.",
        "`https://user:password@localhost:5432/db`",
        "- JavaScript: use the SDK (JavaScript: see below).\n- **JavaScript:** as above",
        "| JavaScript: yes | \"JavaScript: The Good Parts\" |",
        "[x](https://other.example/ \"JavaScript: The Good Parts\")",
    ] {
        assert_eq!(judge_appended(text), [""; 0], "{text}");
    }
}

#[test]
fn existing_content_can_be_moved_and_edited() {
    let old = format!("token: {KEY}\n<!-- keep me -->\n![x](https://old.example/p)\nZero\u{200b}width\n");
    let moved = format!("Hello!\n{}", old.replace("Zero", "No").replace("token: ", "The token: "));
    let base = [("docs/a.md", old.as_str()), ("docs/c.md", "")];
    let case = Case { base: &base, edits: &[("docs/a.md", &moved)], ..Case::default() };
    assert_eq!(case.judge(), [""; 0]);
    let case = Case { base: &base, edits: &[("docs/c.md", &moved)], ..Case::default() };
    assert!(!case.judge().is_empty(), "but not be copied to a page that did not have it");
}

/// If the operator allows a page of HTML, its additions are still judged.
#[test]
fn pages_of_html() {
    let page = |text: &str| {
        format!("<link rel=stylesheet href=/s.css>\n<script src=\"/a.js\"></script>\n<p>{text}\n")
    };
    let (old, new) = (page("One, two."), page("One."));
    let case = Case { base: &[("a.html", &old)], edits: &[("a.html", &new)], ..Case::default() };
    assert_eq!(case.judge(), ["!path a.html"]);
    let allowed = Case { allow: &["*.html"], ..case };
    assert_eq!(allowed.judge(), [""; 0]);
    let inline = page("<script>go()</script>");
    assert_eq!(Case { edits: &[("a.html", &inline)], ..allowed }.judge(), ["!remote a.html:3"]);
}

#[test]
fn allowed_samples_can_be_changed() {
    let page = "```js\nimport run from './run.js'\n```\nTake it from `run.js`.\n";
    for path in ["docs/examples/run.js", "docs/guides/run.js", "app/run.py"] {
        let edits = [("docs/a.mdx", page), (path, "go()\n")];
        let case = Case { edits: &edits, ..Case::default() };
        assert_eq!(case.judge(), [format!("!path {path}")]);
        assert_eq!(Case { allow: &["docs/**", "app/*.py"], ..case }.judge(), [""; 0], "{path}");
    }
}

/// Text around active content can change.
#[test]
fn pages_that_run_something_are_edited() {
    let page = |title: &str, word: &str| {
        format!(
            "# A\n\n{word} <iframe title=\"{title}\" src=\"/v\"></iframe> {word}\n\n<script>go()</script>\n\n\
            <p onclick=\"a()\">{word}</p> {{fetch('/a')}} {word}\n\n[x](javascript:a) {word}\n"
        )
    };
    let (old, new) = (page("Video", "recieve"), page("Video", "receive"));
    let case = Case { base: &[("a.mdx", &old)], edits: &[("a.mdx", &new)], ..Case::default() };
    assert_eq!(case.judge(), [""; 0]);
    let shown = "A\n\n.. code-block:: html\n\n   <script>go()</script>\n";
    assert_eq!(Case { edits: &[("a.rst", shown)], ..Case::default() }.judge(), [""; 0]);
}

/// Keys that a page shows can move with the page.
#[test]
fn pages_with_keys_are_renamed_and_split() {
    let key = format!("Set `ghp_{}`", &KEY[..36]);
    let (old, new) = (format!("# A\n\n{key}.\n\n# B\n"), format!("# A\n\n{key} there.\n"));
    let edits = [("docs/b.mdx", new.as_str()), ("docs/a.md", "# B\n")];
    assert_eq!(Case { base: &[("docs/a.md", &old)], edits: &edits, ..Case::default() }.judge(), [""; 0]);
    let (base, edits) = ([("run.yaml", old.as_str())], [("run.yaml", new.as_str())]);
    assert_eq!(Case { base: &base, edits: &edits, allow: &["*.yaml"], ..Case::default() }.judge(), [""; 0]);
}

#[test]
fn settings_and_front_matter_without_redirects_to_other_sites() {
    let old = "{\n  \"api\": { \"openapi\": \"https://acme.dev/o.json\" },\n  \"navigation\": [\"a\"]\n}\n";
    let new = old.replace(
        "[\"a\"]",
        "[\"a\", \"b\"],\n  \"redirects\": [{ \"source\": \"/c\", \"destination\": \"/b\" }]",
    );
    let page = "---\nredirect_to: https://acme.dev/a\ntitle: Tilte\n---\n";
    let mended = page.replace("Tilte", "Title");
    let inside = "---\ntitle: B\n---\n\nredirect_to: https://acme.dev/b\n";
    let base = [("docs.json", old), ("a.md", page)];
    let edits = [("docs.json", new.as_str()), ("a.md", &mended), ("b.md", inside)];
    assert_eq!(Case { base: &base, edits: &edits, ..Case::default() }.judge(), [""; 0]);
}

#[test]
fn navigation_is_data() {
    #[track_caller]
    fn check(path: &str, old: &str, new: &str) {
        let pages = ["index", "a", "a/b", "guides/a", "guides/b", "guides/c-d", "c", "d", "i", "new", "x"];
        let pages: Vec<String> = pages.iter().map(|page| format!("docs/{page}.md")).collect();
        let mut base: Vec<_> = pages.iter().map(|page| (page.as_str(), "# Page\n")).collect();
        base.extend((!old.is_empty()).then_some((path, old)));
        assert_eq!(Case { base: &base, edits: &[(path, new)], ..Case::default() }.judge(), [""; 0], "{new}");
    }
    let base = "site_name: A\nplugins:\n  - search\n# Pages\nnav:\n  - Home: index.md\n\nextra:\n  a: b\n";
    let more = "  - Home: index.md\n  # New\n  - 'It''s: new': a/b.md\n  - Guides & more:\n      - guides/c-d.md\n      - \"Two\": d.md\n";
    check("mkdocs.yml", base, &base.replace("  - Home: index.md\n", more));
    check("mkdocs.yml", "", "nav:\n  - Home: index.md\n  - Guides:\n      - guides/a.md\n");
    let base = "nav: # All of it\n- Home: index.md\n- Guides:\n  - a.md\nplugins:\n  - search\n";
    let more =
        "  - a.md # first\n  - C#: c.md\n  - 1. Intro: i.md\n  - What's new?: new.md\n  - -x flag: x.md\n";
    check("mkdocs.yml", base, &format!("# Settings\n{}", base.replace("  - a.md\n", more)));
    let nav = "module.exports = { docs: [\n  'a',\n  { type: 'doc', id: 'guides/b', label: 'B' },\n] };\n";
    check("sidebars.js", "module.exports = { docs: [\n  'a',\n] };\n", nav);
    let meta = "export default {\n  a: 'A',\n  'get-started': 'Get (it) started',\n}\n";
    check("pages/_meta.js", "export default {\n  a: 'A',\n}\n", meta);
    check("content/_meta.ts", "", meta);
}
