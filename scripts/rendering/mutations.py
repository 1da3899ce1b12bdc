"""Makes new cases of attack cases: lines moved, blocks wrapped, signs spelled otherwise, file kinds changed."""

import dataclasses
import os
import random

KINDS = (".md", ".mdx", ".rst", ".adoc", ".html")
FENCES = (
    "```", "````", "~~~", "```js", "```mdx-code-block", "```js-vue", "``` {.html}", "~~~~ html", "```{note}", ":::",
    "----", "....", "++++", "    ```", "\t```", "   ```", "`````",
)
# Texts around a block, with how its lines are indented.
WRAPS = (
    ("> ", "> ", ""), ("- ", "  ", ""), ("1. ", "   ", ""), ("* - ", "    ", ""), ("    ", "    ", ""),
    ("\t", "\t", ""), ("<details>\n\n", "", "\n</details>"), ("<div markdown>\n\n", "", "\n</div>"),
    ("<div markdown=\"1\">\n", "", "</div>"), ("<Note>\n", "  ", "</Note>"),
    ("<Card title=\"x\">\n\n", "", "\n</Card>"), ("!!! note\n    ", "    ", ""), ("=== \"Tab\"\n\n    ", "    ", ""),
    (":::note\n\n", "", "\n:::"), ("::: tip\n", "", ":::"), ("```{note}\n", "", "```"),
    ("| a | ", "", " |\n|---|---|"), ("```\n", "", "```"), ("~~~\n", "", "~~~"), ("````md\n", "", "````"),
    ("<!-- x -->\n", "", ""), ("<!--\n", "", "-->"), ("{/*\n", "", "*/}"), ("<pre>\n", "", "</pre>"),
    ("<p>", "", "</p>"), ("<table><tr><td>\n\n", "", "\n</td></tr></table>"), ("`", "", "`"), ("``", "", "``"),
    ("$$\n", "", "$$"), ("$", "", "$"), ("<svg>", "", "</svg>"), ("<math>", "", "</math>"),
    ("<textarea>", "", "</textarea>"), ("<title>", "", "</title>"), ("<xmp>", "", "</xmp>"),
    ("<![CDATA[", "", "]]>"), ("[^1]: ", "    ", "\n\nSee[^1]."), ("Term\n: ", "    ", ""), ("[x]: y\n", "", ""),
    ("---\ntitle: x\n---\n", "", ""), ("---\n", "", "---"), ("---js\n", "", "---"), ("+++\n", "", "+++"),
    ("{% raw %}\n", "", "{% endraw %}"), (".. note::\n\n   ", "   ", ""), ("====\n", "", "===="),
    ("|===\n|", "", "|==="), ("export const x = `\n", "", "`"), ("{`", "", "`}"), ("<code>", "", "</code>"),
)
INSERTED = (
    "", "", "Text.", "# Heading", "---", "```", "~~~", "<!--", "-->", "<div>", "</div>", "<pre>", "</pre>", "{", "}",
    "{/*", "*/}", "<", ">", "`", "``", "\\", "    ", "\t", "<details>", "</details>", "$$", "<script>", "</script>",
    "<style>", "</style>", ":::", "++++", "----", "|===", ".. ", "::", "export const a = 1", "<Card>", "</Card>",
    "[x]:", "&lt;", "{% raw %}", "{{", "}}",
)
UNSEEN = (
    "\u200b", "\u200d", "\ufeff", "\u00ad", "\u00a0", "\u2028", "\x0c", "\x0b", "\x85", "\x00", "\u2060", "\u180e",
    "\r", "\r\n",
)
SPELLED = {
    "<": ("&lt;", "&#60;", "\\<", "<<", "< ", "\uff1c", "\\x3c", "<\n", "<\\", "</>", "<!---->"),
    ">": ("&gt;", "/>", " >", "\n>", ">>"),
    "(": ("( ", "(<", "&lpar;", "\\("),
    ")": (" )", ">)", " 'x')"),
    ":": ("&colon;", "&#58;", ":\t", "\\:", "&#x3a;"),
    "=": (" = ", "=\n", "=\t", "&equals;", "\\="),
    "\"": ("'", "", "&quot;", "\u201d", "`", "{\"", "\\\""),
    "'": ("\"", "", "`"),
    "/": ("\\", "//", "&sol;", "/\t", "%2f"),
    "{": ("{{", "\\{", "{ ", "&#123;", "{\n", "${", "{(", "{% "),
    "}": ("}}", " }", "\n}", "&#125;", ")}", " %}"),
    "`": ("``", "\\`", "~", ""),
    ".": ("\u3002", "&period;", "?."),
    " ": ("\t", "\n", "  ", "/", "\u00a0", "\x0c", ""),
    "!": ("\\!", "! ", ""),
    "[": ("\\[", "[["),
    "]": ("\\]", "]]", "][]"),
    "-": ("--", "\u2011", ""),
    "#": ("\\#", "##"),
    "@": ("&commat;",),
    "_": ("\\_", "__"),
    "*": ("\\*", "**"),
}


def mutations(cases, count, seed):
    """So many new cases, each by one to four steps from one or two of these."""
    generator = random.Random(seed)
    for number in range(count):
        case = generator.choice(cases)
        edits = dict(case.edits)
        for _ in range(generator.choice((1, 1, 1, 2, 2, 3, 4))):
            texts = [path for path, text in edits.items() if text is not None]
            if not texts:
                break
            path = generator.choice(texts)
            step(generator, edits, path, cases)
        yield dataclasses.replace(case, name=f"{case.name} (mutation {number})", edits=edits)


def step(generator, edits, path, cases):
    if generator.random() < 0.06:
        stem, ending = os.path.splitext(path)
        changed = stem + generator.choice([kind for kind in KINDS if kind != ending])
        if changed not in edits:
            edits[changed] = edits.pop(path)
        return
    if generator.random() < 0.08:
        other = generator.choice(cases)
        texts = [text for text in other.edits.values() if text]
        edits[path] = splice(generator, edits[path], generator.choice(texts or ["Text.\n"]))
        return
    edits[path] = generator.choice(STEPS)(generator, edits[path])


def splice(generator, text, other):
    lines, others = text.split("\n"), other.split("\n")
    at, start = generator.randint(0, len(lines)), generator.randrange(len(others))
    return "\n".join(lines[:at] + others[start:] + lines[at:])


def wrap(generator, text):
    first, rest, last = generator.choice(WRAPS)
    lines = text.rstrip("\n").split("\n")
    start = generator.randrange(len(lines)) if generator.random() < 0.6 else 0
    end = generator.randint(start + 1, len(lines)) if generator.random() < 0.6 else len(lines)
    end_of_block = ("\n" if first.endswith("\n") else "") + last if last else ""
    block = first + ("\n" + rest).join(lines[start:end]) + end_of_block
    blank = [""] if generator.random() < 0.5 else []
    return "\n".join(lines[:start] + blank + block.split("\n") + blank + lines[end:]) + "\n"


def change_lines(generator, text):
    lines = text.split("\n")
    at, other = generator.randrange(len(lines)), generator.randrange(len(lines))
    match generator.randrange(6):
        case 0:
            lines.insert(at, generator.choice(INSERTED))
        case 1:
            del lines[at]
        case 2:
            lines.insert(other, lines[at])
        case 3:
            lines[at], lines[other] = lines[other], lines[at]
        case 4:
            lines[at:at + 2] = [generator.choice((" ", "")).join(lines[at:at + 2])]
        case 5:
            cut = generator.randint(0, len(lines[at]))
            lines[at:at + 1] = [lines[at][:cut], lines[at][cut:]]
    return "\n".join(lines)


def indent(generator, text):
    lines = text.split("\n")
    start = generator.randrange(len(lines))
    end = generator.randint(start, len(lines))
    blank = generator.choice((" ", "  ", "   ", "    ", "\t", "      ", "> ", "- ", ""))
    indented = [blank + line if blank else line.lstrip() for line in lines[start:end]]
    return "\n".join(lines[:start] + indented + lines[end:])


def fence(generator, text):
    lines = text.split("\n")
    marked = [at for at, line in enumerate(lines) if line.strip()[:3] in ("```", "~~~", ":::", "---", "+++")]
    at = generator.choice(marked) if marked and generator.random() < 0.7 else generator.randrange(len(lines))
    if marked and at in marked and generator.random() < 0.5:
        lines[at] = generator.choice(FENCES)
    else:
        lines.insert(at, generator.choice(FENCES))
    return "\n".join(lines)


def spell(generator, text):
    places = [at for at, char in enumerate(text) if char in SPELLED]
    if not places:
        return text
    at = generator.choice(places)
    return text[:at] + generator.choice(SPELLED[text[at]]) + text[at + 1:]


def add_unseen(generator, text):
    at = generator.randint(0, len(text))
    return text[:at] + generator.choice(UNSEEN) + text[at:]


def change_case(generator, text):
    start = generator.randint(0, len(text))
    end = min(len(text), start + generator.randint(1, 12))
    return text[:start] + text[start:end].swapcase() + text[end:]


def write_entity(generator, text):
    at = generator.randrange(len(text)) if text else 0
    form = generator.choice(("&#{};", "&#x{:x};", "&#0000{};", "\\u{:04x}", "&#{}", "%{:02x}"))
    return text[:at] + form.format(ord(text[at])) + text[at + 1:] if text else text


def change_ends(generator, text):
    return text.replace("\n", generator.choice(("\r\n", "\r", "\n\n", "\n \n", " \n", "\\\n")))


STEPS = (
    wrap, wrap, wrap, change_lines, change_lines, change_lines, indent, fence, fence, spell, spell, spell,
    add_unseen, change_case, write_entity, change_ends,
)
