"""The files of a release, and the tarball of them."""

import pathlib
import subprocess
import tempfile

from support import ROOT

from . import bill
from .archives import Archive

SHELLS = {"bash": "docwright", "zsh": "_docwright", "fish": "docwright.fish"}


class Tree:
    """The program, and what belongs to it, each by its name."""

    def __init__(self, program):
        self.program = program.read_bytes()
        self.completions = {shell: subprocess.check_output([program, "completions", shell]) for shell in SHELLS}
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "man", "--dir", folder], check=True)
            self.pages = {page.name: page.read_bytes() for page in pathlib.Path(folder).iterdir()}
        self.docs = {path: (ROOT / path).read_bytes() for path in ("README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")}
        self.docs |= {f"docs/{page.name}": page.read_bytes() for page in (ROOT / "docs").iterdir() if page.is_file()}
        self.licenses = {name: (ROOT / name).read_bytes() for name in ("LICENSE-APACHE", "LICENSE-MIT")}
        self.licenses["LICENSES-DEPENDENCIES"] = bill.licenses().encode()
        self.deploy = {file.name: file.read_bytes() for file in (ROOT / "deploy").iterdir() if file.is_file()}


def make(tree, out):
    archive, top = Archive(), out.name.removesuffix(".tar.gz")
    archive.add(f"{top}/docwright", tree.program, 0o755)
    for shell, script in tree.completions.items():
        archive.add(f"{top}/completions/{SHELLS[shell]}", script)
    for name, page in tree.pages.items():
        archive.add(f"{top}/man/{name}", page)
    for name, file in {**tree.docs, **tree.licenses}.items():
        archive.add(f"{top}/{name}", file)
    for name, file in tree.deploy.items():
        archive.add(f"{top}/deploy/{name}", file)
    out.write_bytes(archive.compressed())
    return out
