"""Long-lived processes that answer one JSON value a line: renderers, and the search of what they wrote."""

import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import threading
import zlib

from support import node_with, python_with

HERE = pathlib.Path(__file__).resolve().parent
NODE = ("@mdx-js/mdx@3.1.1", "react@19.3.1", "react-dom@19.3.1", "remark-gfm@4.0.1", "remark-directive@4.0.0",
        "remark-frontmatter@5.0.0", "@slorber/remark-comment@1.0.0", "rehype-raw@7.0.0", "vitepress@1.6.4",
        "@vue/compiler-dom@3.5.45", "gray-matter@4.0.3", "parse5@8.1.1")
PYTHON = ("mkdocs==1.6.1", "Markdown==3.11.3", "pymdown-extensions==13.0", "Pygments==2.21.0", "Jinja2==3.1.6",
          "docutils==0.22.4", "myst-parser==5.2.0", "linkify-it-py==2.2.0", "cmarkgfm==2025.10.22")
# Pages that name nothing: what a renderer loads for them is its own.
OWN = [
    ("asciidoctor", "= T\n\nText.\n"),
    ("asciidoctor", "= T\n:icons: font\n:stem:\n:source-highlighter: highlight.js\n\nstem:[x]\n\n[source,js]\n----\nx\n"
                    "----\n"),
]
# Requests that are written before their answers are read.
WINDOW = 32
MAX_SECONDS = 30


class Process:
    """Answers requests in their order; with an error, if a request ends it or takes too long."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, encoding="utf-8")
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def read(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def answer_all(self, requests):
        answers = []
        while len(answers) < len(requests):
            window = requests[len(answers):len(answers) + WINDOW]
            answers += self.answer_window(window)
        return answers

    def answer_window(self, requests):
        answers = []
        try:
            self.process.stdin.write("".join(json.dumps(request) + "\n" for request in requests))
            self.process.stdin.flush()
            while len(answers) < len(requests):
                line = self.lines.get(timeout=MAX_SECONDS)
                if line is None:
                    raise BrokenPipeError
                answers.append(json.loads(line))
        except (OSError, queue.Empty):
            self.stop()
            self.start()
            answers.append({"error": "the renderer ended or hung", "is_lost": True})
        return answers

    def stop(self):
        self.process.kill()
        self.process.wait()


def digest(packages):
    """Another version is installed beside the others."""
    return f"{zlib.crc32(' '.join(packages).encode()):08x}"


class Renderers:
    """All renderers, by name, and the search. What was rendered once is not rendered again."""

    def __init__(self, folder):
        if not shutil.which("asciidoctor"):
            sys.exit("asciidoctor is missing: install the package asciidoctor")
        if not shutil.which("node"):
            sys.exit("node is missing: install the packages nodejs and npm")
        modules = node_with(f"renderers-node-{digest(NODE)}", *NODE)
        python = python_with(f"renderers-python-{digest(PYTHON)}", *PYTHON) / "python"
        # Node looks for modules beside its program.
        for file in HERE.glob("*.mjs"):
            shutil.copy(file, folder)
        os.symlink(modules, folder / "node_modules")
        no_text = "--disallow-code-generation-from-strings"
        commands = {
            ("mdx", "mdx-react", "docusaurus", "docusaurus-commonmark"): ["node", no_text, "mdx.mjs"],
            ("vitepress",): ["node", "vitepress.mjs"],
            ("mkdocs", "mkdocs-more", "mkdocs-macros", "gfm", "html"): [python, HERE / "pages.py"],
            ("docutils", "myst"): [python, HERE / "pages.py"],
            ("asciidoctor",): ["ruby", HERE / "asciidoc.rb"],
        }
        self.processes = {names: Process(command, folder) for names, command in commands.items()}
        self.search = Process(["node", "search.mjs"], folder)
        self.known = {}
        self.counts = {name: [0, 0] for names in commands for name in names}
        self.lost = []
        self.own = set()
        self.own = {(page[0], *one) for page, found in self.render_all(OWN).items() for one in found}

    def render_all(self, pages):
        """The findings for each (renderer, text): a list of [kind, detail, host]."""
        new = list(dict.fromkeys(page for page in pages if page not in self.known))
        threads = [threading.Thread(target=self.render_some, args=(process, [page for page in new if page[0] in names]))
                   for names, process in self.processes.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rendered = [(page, self.known[page]) for page in new]
        written = [(page, answer) for page, answer in rendered if answer.get("html")]
        searched = self.search.answer_all([{"html": answer["html"]} for _, answer in written])
        for (page, answer), result in zip(written, searched):
            answer["found"] = answer.get("found", []) + result.get("found", [["active", "the search failed"]])
        for page, answer in rendered:
            found = [tuple(one) if len(one) == 3 else (*one, None) for one in answer.get("found", [])]
            self.known[page] = [one for one in found if (page[0], *one) not in self.own]
        return {page: self.known[page] for page in pages}

    def render_some(self, process, pages):
        requests = [{"renderer": renderer, "text": text} for renderer, text in pages]
        for page, answer in zip(pages, process.answer_all(requests)):
            self.counts[page[0]][0] += 1
            self.counts[page[0]][1] += "error" in answer
            if answer.get("is_lost"):
                self.lost.append(page)
            self.known[page] = answer

    def forget(self):
        """Texts of mutations hardly come again."""
        if len(self.known) > 50_000:
            self.known.clear()

    def stop(self):
        for process in [*self.processes.values(), self.search]:
            process.stop()
