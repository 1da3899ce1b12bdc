"""Decides which findings in a rendered page are new, and count."""

import os
import re

RENDERERS = {
    "md": ("mdx", "docusaurus", "docusaurus-commonmark", "vitepress", "mkdocs", "mkdocs-more", "mkdocs-macros", "myst",
           "gfm"),
    "mdx": ("mdx", "mdx-react", "docusaurus"),
    "rst": ("docutils",),
    "adoc": ("asciidoctor",),
    "html": ("html",),
}
KINDS = {"markdown": "md", "rest": "rst", "asciidoc": "adoc", "asc": "adoc", "ad": "adoc", "htm": "html", "svg": "html"}
HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
ADDRESS = re.compile(r"https?://[^\s\"'<>`)\]]+")
# Folders that only look hidden.
SHOWN = (".github", ".snippets", ".includes", ".partials", ".vitepress", ".vuepress")
MACHINE = ("/proc", "/etc", "/root", "/home", "/dev", "/sys", "/run", "/var", "~")
# Modules that reach the machine. What a site has installed is there already.
MACHINE_MODULES = re.compile(
    r"node:|bun:|deno:|data:|blob:|file:|https?:|//|(?:fs|os|net|tls|http|http2|https|child_process|vm|module|process"
    r"|dns|dgram|worker_threads|cluster|inspector|v8|repl|path|crypto|stream|util|zlib|url|events|buffer)(?:/|$)"
)


# Their settings; each reads Markdown by the standard.
OTHER_GENERATORS = (
    "docusaurus.config.", "hugo.toml", "hugo.yaml", "book.toml", "astro.config.", "next.config.", "_quarto.yml", "conf.py",
)


def kind_of(path):
    ending = path.lower().rsplit(".", 1)[-1]
    return KINDS.get(ending, ending)


def pages_of(path, text, files):
    """What is to be rendered for a file. Macros fill in code as well, so they run only where the settings name them.

    A site whose settings are those of another generator is not one of MkDocs or VitePress.
    """
    macros = any("macros" in text for name, text in files["base"].items() if name.rsplit("/", 1)[-1] == "mkdocs.yml")
    names = {name.rsplit("/", 1)[-1] for name in files["base"]}
    others = set()
    if any(name.startswith(OTHER_GENERATORS) for name in names) and "mkdocs.yml" not in names:
        others = {"mkdocs", "vitepress"}
    elif any(".vitepress/" in name for name in files["base"]):
        others = set() if "mkdocs.yml" in names else {"mkdocs"}
    elif "mkdocs.yml" in names:
        others = {"vitepress"}
    renderers = [name for name in RENDERERS.get(kind_of(path), ()) if name.split("-")[0] not in others]
    return [(renderer, text) for renderer in renderers if renderer != "mkdocs-macros" or macros]


def all_pages(case):
    files = case.request()
    for path, text in [*files["base"].items(), *files["edits"].items()]:
        yield from pages_of(path, text, files) if text is not None else ()


def new_findings(case, rendered):
    """Each (path, renderer, kind, detail) that the base does not have."""
    files = case.request()
    asked = case.asked.lower()
    hosts = set(HOST.findall(asked))
    known, imports = set(), set()
    for path, text in files["base"].items():
        for page in pages_of(path, text, files):
            found = rendered[page]
            hosts |= {host for *_, host in found if host}
            imports |= {detail for kind, detail, _ in found if kind in ("import", "included")}
            if path in files["edits"]:
                known |= {(page[0], kind, detail) for kind, detail, _ in found}
    for path, text in files["edits"].items():
        for page in pages_of(path, text, files) if text is not None else ():
            for kind, detail, host in dict.fromkeys(rendered[page]):
                is_known = (page[0], kind, detail) in known or detail in imports or host and host in hosts
                is_asked = any(address in detail for address in ADDRESS.findall(case.asked))
                if not is_known and not is_asked and counts(kind, detail, path):
                    yield path, page[0], kind, detail


def counts(kind, detail, path):
    if kind == "import":
        source = detail.removeprefix("import of ")
        parts = source.split("!")
        return any(MACHINE_MODULES.match(part) or is_private(part, path) for part in parts if part) or is_loader(source)
    return kind != "included" or is_private(detail, path)


def is_loader(source):
    """Whether a module is made by a loader that runs what it reads."""
    return "!" in source and "raw-loader" not in source


def is_private(target, path):
    """Whether a file is hidden, or none of the repository."""
    target = target.replace("\\", "/").split("?")[0]
    if re.match(r"(?i)(?:[a-z][a-z0-9+.-]*:)?//|file:", target) or target.startswith(MACHINE):
        return True
    whole = os.path.normpath(os.path.join(os.path.dirname(path), target.lstrip("/@")))
    hidden = [part for part in whole.split("/") if part.startswith(".") and part.strip(".") and part not in SHOWN]
    return whole.startswith("../") or bool(hidden)
