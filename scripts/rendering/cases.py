"""Reads attack cases from text files.

A case begins with a line `== name`. Inside, a line `base PATH`, `file PATH` or `asked` at the margin begins a section,
and its text goes up to the next such line or case; a line `delete PATH` is a file that the change deletes. `\\u{200b}` in a text stands for that character.
"""

import dataclasses
import pathlib
import re

DEFAULTS = {
    "docs/a.md": "# Title\n\nText.\n",
    "docs/a.mdx": "# Title\n\nText.\n",
    "docs/b.md": "![x](https://img.known.example/x.png)\n",
}
SECTION = re.compile(r"(base|file|delete) (\S.*)|asked")
ESCAPE = re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}")
UNSEEN = re.compile(r"[^\x20-\x7e\n\t\u00a1-\u00ac\u00ae-\u02ff\u0370-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff]")


@dataclasses.dataclass
class Case:
    name: str
    base: dict = dataclasses.field(default_factory=dict)
    edits: dict = dataclasses.field(default_factory=dict)
    asked: str = ""

    def request(self):
        """The line that the verdict program reads."""
        return {"name": self.name, "base": {**DEFAULTS, **self.base}, "edits": self.edits, "asked": self.asked}

    def text(self):
        """The case as a file has it, to be run again."""
        sections = [f"== {self.name}\n"]
        for word, files in (("base", self.base), ("file", self.edits)):
            sections += [f"delete {path}\n" if text is None else f"{word} {path}\n{escape(text)}"
                         for path, text in files.items()]
        return "".join(sections + ([f"asked\n{escape(self.asked)}"] if self.asked else []))


def escape(text):
    """A text as a section has it: no line of it begins another section, and no line at its end is lost."""
    words = text.removesuffix("\n").rstrip("\n")
    text = words + "\\u{a}" * (len(text.removesuffix("\n")) - len(words))
    lines = UNSEEN.sub(lambda found: f"\\u{{{ord(found.group()):x}}}", text).split("\n")
    begins = [line.startswith("== ") or SECTION.fullmatch(line) for line in lines]
    lines = [f"\\u{{{ord(line[0]):x}}}{line[1:]}" if begin else line for line, begin in zip(lines, begins)]
    return "\n".join(lines) + "\n"


def unescape(text):
    return ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)


def parse(text, source):
    cases, section = [], None
    for number, line in enumerate(text.split("\n"), 1):
        begins = SECTION.fullmatch(line)
        if line.startswith("== "):
            cases.append(Case(line[3:].strip()))
            section = None
        elif begins and cases:
            section = (cases[-1], begins.group(1) or "asked", begins.group(2))
            add(section, "")
        elif section:
            add(section, line + "\n")
        elif line.strip() and not line.startswith("#"):
            raise SystemExit(f"{source}:{number}: a case begins with a line `== name`, and a text with its section")
    for case in cases:
        finish(case, source)
    return cases


def add(section, text):
    case, word, path = section
    if word == "asked":
        case.asked += text
    elif word == "delete":
        case.edits[path] = None
    else:
        files = case.base if word == "base" else case.edits
        files[path] = files.get(path, "") + text


def finish(case, source):
    """Blank lines between cases are not part of them."""
    if not case.edits:
        raise SystemExit(f"{source}: the case `{case.name}` changes no file")
    for files in (case.base, case.edits):
        for path, text in [entry for entry in files.items() if entry[1] is not None]:
            files[path] = unescape(text.rstrip("\n") + "\n") if text.strip("\n") else ""
    case.asked = unescape(case.asked.strip())


def read(paths):
    cases = []
    for path in map(pathlib.Path, paths):
        for case in parse(path.read_text(), path):
            case.name = f"{path.stem}: {case.name}"
            cases.append(case)
    return cases
