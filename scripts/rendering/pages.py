"""Renders pages with the renderers that are written in Python: one JSON value a line, in their order.

`mkdocs` is Python-Markdown as MkDocs Material sets it up, `mkdocs-more` has more extensions, and `mkdocs-macros` is
`mkdocs` behind Jinja. `myst` and `docutils` have the settings of Sphinx, and `gfm` is cmark-gfm that lets HTML through.
A file that a page includes is reported, and not read.
"""

import functools
import io
import json
import pathlib
import re
import signal
import sys
import urllib.request

import cmarkgfm
import docutils.core
import docutils.io
import docutils.utils
import jinja2
import jinja2.sandbox
import markdown
import myst_parser.mocking
import pymdownx.emoji
import pymdownx.snippets
from cmarkgfm.cmark import Options
from docutils.parsers.rst import Directive, directives
from docutils.parsers.rst.directives import tables
from jinja2 import nodes
from mkdocs.utils import meta as mkdocs_meta
from myst_parser.docutils_ import Parser as MystParser

MAX_SECONDS = 2
EXTENSIONS = [
    "extra", "attr_list", "md_in_html", "admonition", "toc", "pymdownx.superfences", "pymdownx.tabbed",
    "pymdownx.details", "pymdownx.snippets", "pymdownx.tasklist", "pymdownx.emoji", "pymdownx.inlinehilite",
    "pymdownx.highlight",
]
# What others switch on, too. Some of it takes markup apart that would act without it.
MORE_EXTENSIONS = [
    "pymdownx.mark", "pymdownx.critic", "pymdownx.keys", "pymdownx.smartsymbols", "pymdownx.magiclink",
    "pymdownx.arithmatex", "pymdownx.caret", "pymdownx.tilde",
]
SETTINGS = {
    "pymdownx.tabbed": {"alternate_style": True},
    "pymdownx.emoji": {"emoji_generator": pymdownx.emoji.to_alt},
    "pymdownx.arithmatex": {"generic": True},
    "toc": {"permalink": True},
}
MYST = {
    "myst_enable_extensions": [
        "colon_fence", "attrs_inline", "attrs_block", "html_image", "html_admonition", "linkify", "dollarmath",
        "deflist", "tasklist", "fieldlist", "strikethrough", "replacements", "smartquotes",
    ],
}
DOCUTILS = {
    "raw_enabled": True, "file_insertion_enabled": True, "embed_stylesheet": False, "stylesheet_path": None,
    "stylesheet": "", "halt_level": 5, "report_level": 5, "traceback": True, "_disable_config": True,
    "math_output": "LaTeX",
}
# Directives of Sphinx and its extensions that run something, or read a file.
SPHINX_INCLUDES = ("literalinclude", "graphviz", "inheritance-diagram", "mdinclude", "mermaid-file", "download")
SPHINX_ACTING = (
    "ifconfig", "plot", "doctest", "testcode", "testsetup", "jupyter-execute", "program-output", "command-output", "ipython", "exec", "execute_code", "runblock", "autoprogram",
    "exec_code", "code-cell", "raw-html", "cssclass-script",
)
SPHINX_LOADING = (
    "automodule", "autoclass", "autofunction", "autosummary", "autodata", "automethod", "autoattribute", "autoexception",
    "autoproperty", "autodecorator",
)
SPHINX_MODULES = ("module", "currentmodule", "py:module", "py:currentmodule")
# Names that mkdocs-macros and MyST give to pages, and that lead out of them.
MACROS = {
    "config", "environment", "env", "plugin", "git", "files", "navigation", "context", "macros_info", "include_file",
    "self", "cycler", "joiner", "namespace", "lipsum", "url_for", "request", "open", "eval",
}
found, current_module = [], []


def report(kind, detail):
    found.append([kind, detail])


def name_snippet(_, path):
    report("included", path)


def name_download(_, url):
    report("included", url)
    return []


# The original keeps what it found; there is nothing to keep here.
name_snippet.cache_clear = name_download.cache_clear = lambda: None


class IncludedInput(docutils.io.FileInput):
    """Stands for a file that a directive reads."""

    def __init__(self, source=None, source_path=None, *rest, **named):
        report("included", docutils.utils.relative_path(".", str(source_path)))
        super().__init__(io.StringIO("included"), "included.txt")


class IncludedPath(pathlib.PosixPath):
    """Stands for a file that a directive of MyST reads."""

    def read_text(self, *_, **__):
        report("included", str(self))
        return "included"


def open_address(address, *_):
    report("included", str(address))
    return io.BytesIO(b"included")


class IncludingStub(Directive):
    has_content, optional_arguments, final_argument_whitespace = True, 100, True
    option_spec = None

    def run(self):
        report("included", " ".join(self.arguments) or "nothing")
        return []


class ActingStub(IncludingStub):
    def run(self):
        report("active", f"directive {self.name} {' '.join(self.arguments)} {' '.join(self.content)}")
        return []


class LoadingStub(IncludingStub):
    """Stands for a directive that describes code: Sphinx loads its package, or that of the current module."""

    def run(self):
        names = self.content if self.name == "autosummary" else self.arguments[:1]
        for name in (name.strip().lstrip("~") for name in names if name.strip()):
            is_bare = name.isidentifier() and self.name != "automodule"
            modules = [name] if not is_bare else [name, *current_module] if self.name == "autosummary" else current_module
            for module in modules:
                report("active", f"directive that loads {re.split('[.:(]', module)[0]}")
        return []


class ModuleStub(IncludingStub):
    def run(self):
        current_module[:] = self.arguments[:1]
        return []


class AnyOption(dict):
    def __missing__(self, _):
        return directives.unchanged


def prepare():
    pymdownx.snippets.SnippetPreprocessor.get_snippet_path = name_snippet
    pymdownx.snippets.SnippetPreprocessor.download = name_download
    docutils.io.FileInput = tables.FileInput = IncludedInput
    urllib.request.urlopen = tables.urlopen = open_address
    myst_parser.mocking.Path = IncludedPath
    IncludingStub.option_spec = AnyOption()
    for name in SPHINX_INCLUDES:
        directives.register_directive(name, IncludingStub)
    for name in SPHINX_ACTING:
        directives.register_directive(name, ActingStub)
    for name in SPHINX_LOADING:
        directives.register_directive(name, LoadingStub)
    for name in SPHINX_MODULES:
        directives.register_directive(name, ModuleStub)


@functools.cache
def converter(has_more):
    extensions = EXTENSIONS + (MORE_EXTENSIONS if has_more else [])
    settings = {name: setting for name, setting in SETTINGS.items() if name in extensions}
    return markdown.Markdown(extensions=extensions, extension_configs=settings)


def mkdocs(text, has_more=False):
    text, _ = mkdocs_meta.get_data(text)
    convert = converter(has_more).reset().convert
    return convert(text)


def mkdocs_macros(text):
    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.ChainableUndefined, keep_trailing_newline=True)
    tree = environment.parse(text)
    for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        report("included", str(getattr(node.template, "value", "a name")))
    for node in tree.find_all((nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Filter)):
        name = name_in(node)
        is_path_out = name.startswith("_") or name in MACROS and isinstance(node, nodes.Name)
        if is_path_out or name == "attr" and isinstance(node, nodes.Filter):
            report("active", f"Jinja reads {name}")
    rendered = environment.from_string(text).render()
    # `mkdocs` renders a page without macros.
    return mkdocs(rendered) if rendered != text else ""


def name_in(node):
    """What a node of Jinja reads."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return str(node.name if hasattr(node, "name") else getattr(node.arg, "value", ""))


def html(text, parser):
    settings = {**DOCUTILS, **(MYST if parser != "rst" else {})}
    given = {"parser": MystParser()} if parser != "rst" else {}
    return docutils.core.publish_string(text, writer="html5", settings_overrides=settings, **given).decode()


def gfm(text):
    extensions = ["table", "autolink", "strikethrough", "tasklist"]
    return cmarkgfm.markdown_to_html_with_extensions(text, Options.CMARK_OPT_UNSAFE, extensions)


RENDERERS = {
    "mkdocs": mkdocs,
    "mkdocs-more": functools.partial(mkdocs, has_more=True),
    "mkdocs-macros": mkdocs_macros,
    "docutils": functools.partial(html, parser="rst"),
    "myst": functools.partial(html, parser="myst"),
    "gfm": gfm,
    "html": lambda text: text,
}


def stop(*_):
    raise TimeoutError("rendering takes too long")


def main():
    prepare()
    answers, sys.stdout = sys.stdout, sys.stderr
    signal.signal(signal.SIGALRM, stop)
    for line in sys.stdin:
        request = json.loads(line)
        found.clear()
        current_module.clear()
        answer = {}
        signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
        try:
            answer["html"] = RENDERERS[request["renderer"]](request["text"])
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"[:200]
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps({**answer, "found": found}), file=answers, flush=True)


if __name__ == "__main__":
    main()
