"""Holds recorded requests against the crate `gitlab`: called by scripts/hosts.

No registry carries GitLab's own description of its API. The crate has one endpoint a file, with its method,
its path and the name of every parameter in it, and GitLab passes over a name that it does not know in silence.
"""

import json
import pathlib
import re
import sys
from urllib.parse import parse_qsl, urlsplit

ROOT = "/api/v4/"
PAGING = {"page", "per_page"}


def endpoints(source):
    """Method, pattern of the path, and the text that names the parameters."""
    for file in sorted(pathlib.Path(source).rglob("*.rs")):
        text = file.read_text()
        method = re.search(r"fn method\(&self\) -> Method \{\s*Method::(\w+)", text)
        path = re.search(r'fn endpoint\(&self\)[^"]*"([^"]+)"', text)
        if method and path:
            yield method[1], re.compile(re.sub(r"\\\{\w*\\\}", "[^/]+", re.escape(path[1]))), text


def check(known, asked):
    url = urlsplit(asked["path"])
    path = url.path.removeprefix(ROOT)
    fits = [text for method, pattern, text in known if method == asked["method"] and pattern.fullmatch(path)]
    assert fits, "there is no such endpoint"
    names = {name for name, _ in parse_qsl(url.query)} | set(asked["body"] or {})
    if any("impl Pageable for" in text for text in fits):
        names -= PAGING
    unknown = {name for name in names if not any(has(text, name) for text in fits)}
    assert not unknown, f"it knows no {unknown}"


def has(text, name):
    """As it is sent, or as a test of the endpoint has it."""
    return re.search(rf'"{name}(\[\])?"|["&]{name}(%5B%5D)?=', text)


def main(source, recorded):
    known = list(endpoints(source))
    seen = json.loads(pathlib.Path(recorded).read_text())
    wrong = 0
    for one in seen:
        try:
            check(known, one)
        except AssertionError as error:
            wrong += 1
            print(f"gitlab: {one['method']} {one['path']} {json.dumps(one['body'])}: {error}")
    print(f"gitlab: {len(seen) - wrong} of {len(seen)} requests have names that its {len(known)} endpoints know")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
