"""Docs sites of several generators with two renamed pages, and the job that adds their redirects."""

import contextlib
import os
import re
import shutil
import subprocess
from typing import NamedTuple

import support

MKDOCS = ["mkdocs==1.6.1", "mkdocs-redirects==1.2.3"]
DOCUSAURUS = [f"@docusaurus/{name}@3.10.2" for name in ("core", "theme-classic", "plugin-content-docs", "plugin-client-redirects")]
DOCUSAURUS += ["react@19", "react-dom@19"]
DOCUSAURUS_SETTINGS = """\
module.exports = {
  title: 'Kettle',
  url: 'https://kettle.example',
  baseUrl: '/',
  onBrokenLinks: 'warn',
  themes: ['@docusaurus/theme-classic'],
  plugins: [
    ['@docusaurus/plugin-content-docs', { routeBasePath: '/' }],
    [
      '@docusaurus/plugin-client-redirects',
      {
        redirects: [],
      },
    ],
  ],
};
"""
HUGO_PAGE = "<!doctype html><title>{{ .Title }}</title><h1>{{ .Title }}</h1>{{ .Content }}"
JEKYLL_SETTINGS = "title: Kettle\npermalink: pretty\nplugins:\n  - jekyll-redirect-from\n"
RENAMED = {"install": "guide/install-the-kettle", "usage": "guide/boil-water-for-tea"}
TITLES = {"install": "Install the kettle", "usage": "Boil water for tea"}


def plain(title, text):
    return f"# {title}\n\n{text}\n"


def with_front_matter(title, text):
    return f"---\ntitle: {title}\n---\n\n{text}\n"


class Site(NamedTuple):
    name: str
    files: dict
    build: object
    docs: str = "docs/"
    index: str = "index"
    page: object = plain
    slash: str = "/"
    # Whether the redirect is a page of the site, which needs a browser, or an answer of the server.
    by_page: bool = True
    servers: tuple = ("nginx",)
    # Where the site is served below its host.
    prefix: str = ""

    @property
    def expected(self):
        for old, new in RENAMED.items():
            yield f"{self.prefix}/{old}{self.slash}", f"{self.prefix}/{new}{self.slash}", TITLES[old]

    def before(self):
        pages = {f"{self.docs}{self.index}.md": self.page("Kettle", "Start here.")}
        for old, title in TITLES.items():
            pages[f"{self.docs}{old}.md"] = self.page(title, f"{title}, step by step. " * 5)
        return {**self.files, **pages}


def build_mkdocs(work, out):
    program = support.python_with("mkdocs-" + MKDOCS[1].replace("==", "-"), *MKDOCS) / "mkdocs"
    quiet = {**os.environ, "DISABLE_MKDOCS_2_WARNING": "true"}
    subprocess.run([program, "build", "--quiet", "--site-dir", out], cwd=work, env=quiet, check=True)


def build_docusaurus(work, out):
    modules = support.node_with("docusaurus-3.10.2", *DOCUSAURUS)
    (work / "node_modules").symlink_to(modules)
    # It names the folder of the site that was built last.
    shutil.rmtree(modules / ".cache", ignore_errors=True)
    quiet = {**os.environ, "DOCUSAURUS_NO_TELEMETRY": "1"}
    build = [modules / ".bin/docusaurus", "build", "--out-dir", out]
    subprocess.run(build, cwd=work, env=quiet, check=True, stdout=subprocess.DEVNULL)


def build_hugo(work, out):
    subprocess.run(["hugo", "--quiet", "--source", work, "--destination", out], check=True)


def build_jekyll(work, out):
    build = ["jekyll", "build", "--quiet", "--source", work, "--destination", out]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)


def build_by_hand(work, out):
    """As VitePress with clean addresses names its files."""
    for page in (work / "docs").rglob("*.md"):
        made = out / page.relative_to(work / "docs").with_suffix(".html")
        made.parent.mkdir(parents=True, exist_ok=True)
        title, text = page.read_text().removeprefix("# ").split("\n", 1)
        made.write_text(f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}</p>")


MKDOCS_SETTINGS = "site_name: Kettle\nplugins:\n  - search\n  - redirects:\n      redirect_maps: {}\n"
HUGO_FILES = {"layouts/_default/single.html": HUGO_PAGE, "layouts/_default/list.html": HUGO_PAGE}
JEKYLL_FILES = {"_layouts/default.html": "<h1>{{ page.title }}</h1>{{ content }}", "Gemfile": "gem 'jekyll-redirect-from'\n"}
PREFIX = "/kettle"


def jekyll_page(title, text):
    return f"---\ntitle: {title}\nlayout: default\n---\n\n{text}\n"


SHORT = (
    Site("mkdocs", {"mkdocs.yml": MKDOCS_SETTINGS}, build_mkdocs),
    Site("mkdocs-below", {"mkdocs.yml": f"site_url: https://tea.github.io{PREFIX}/\n{MKDOCS_SETTINGS}"}, build_mkdocs, prefix=PREFIX),
    Site("vitepress-below", {"docs/.vitepress/config.mts": f"export default {{ base: '{PREFIX}/', cleanUrls: true }}\n"}, build_by_hand,
         slash="", by_page=False, servers=("nginx", "caddy"), prefix=PREFIX),
    Site("vitepress", {"docs/.vitepress/config.mts": "export default { title: 'Kettle', cleanUrls: true }\n"}, build_by_hand,
         slash="", by_page=False, servers=("nginx", "caddy")),
)
LONG = (
    Site("docusaurus", {"docusaurus.config.js": DOCUSAURUS_SETTINGS, "package.json": '{ "private": true }\n'}, build_docusaurus, slash=""),
    Site("docusaurus-below", {"docusaurus.config.js": DOCUSAURUS_SETTINGS.replace("baseUrl: '/'", f"baseUrl: '{PREFIX}/'"),
                              "package.json": '{ "private": true }\n'}, build_docusaurus, slash="", prefix=PREFIX),
    Site("hugo", {"hugo.toml": 'baseURL = "/"\ntitle = "Kettle"\n', **HUGO_FILES}, build_hugo, docs="content/", index="_index",
         page=with_front_matter),
    Site("hugo-below", {"hugo.toml": f'baseURL = "{PREFIX}/"\ntitle = "Kettle"\n', **HUGO_FILES}, build_hugo, docs="content/",
         index="_index", page=with_front_matter, prefix=PREFIX),
    Site("jekyll", {"_config.yml": JEKYLL_SETTINGS, **JEKYLL_FILES}, build_jekyll, docs="", page=jekyll_page),
    Site("jekyll-below", {"_config.yml": f"baseurl: {PREFIX}\n{JEKYLL_SETTINGS}", **JEKYLL_FILES}, build_jekyll, docs="",
         page=jekyll_page, prefix=PREFIX),
)


@contextlib.contextmanager
def merged(site, folder):
    """A clone of the site after its job was merged, and what the job said for web servers."""
    work, bare, data = folder / "work", folder / "docs.git", folder / "data"
    support.repository(work, site.before())
    for old, new in RENAMED.items():
        (work / site.docs / new).parent.mkdir(parents=True, exist_ok=True)
        git(work, "mv", f"{site.docs}{old}.md", f"{site.docs}{new}.md")
    git(work, "commit", "--quiet", "--message=Move pages into the guide")
    git(folder, "clone", "--quiet", "--bare", str(work), str(bare))
    support.docwright(data, "org", "create", "--name", "Kettle")
    project = support.docwright(data, "project", "create", "--name", "Docs", "--repository", str(bare))["id"]
    key = support.docwright(data, "key", "create", "--name", "redirects")["key"]
    with support.serving(data, folder / "log") as url:
        paths = " and ".join(f"`{site.prefix}/{old}`" for old in RENAMED)
        path = f"/v2/agent/{project}/job"
        job = support.ask(url, key, "POST", path, {"prompt": f"Add redirects for {paths}."})
        job = support.settled(url, key, f"{path}/{job['id']}")
        said = support.ask(url, key, "GET", f"{path}/{job['id']}/events")[-1]["report"]["summary"]
        if job["prLink"]:
            support.docwright(data, "pull", "merge", project, job["prLink"].rsplit("/", 1)[1])
    after = folder / "after"
    git(folder, "clone", "--quiet", str(bare), str(after))
    blocks = re.findall(r"```(\w+)\n(.*?)```", said, re.DOTALL)
    yield after, dict(blocks)


def git(folder, *arguments):
    who = ["-c", "user.name=Docs", "-c", "user.email=docs@example.com"]
    subprocess.run(["git", *who, "-C", folder, *arguments], check=True)
