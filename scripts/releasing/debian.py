"""The Debian package: program, unit, settings, manual, completions. Its control scripts are in `debian/`."""

import gzip
import pathlib
import subprocess
import tempfile

from .archives import Archive
from .binary import ARCHITECTURE, GLIBC
from .tarball import SHELLS

SCRIPTS = pathlib.Path(__file__).parent / "debian"
COMPLETIONS = {"bash": "bash-completion/completions", "zsh": "zsh/vendor-completions", "fish": "fish/vendor_completions.d"}
CONTROL = """\
Package: docwright
Version: {version}
Architecture: {architecture}
Maintainer: The Docwright authors <docwright@localhost>
Installed-Size: {size}
Depends: libc6 (>= {glibc}), libgcc-s1, git (>= 1:2.38), ca-certificates, adduser
Section: web
Priority: optional
Description: edits documentation by pull request, and counts its readers
 An agent edits your docs repository and opens pull requests. Analytics show
 which readers are human and which are AI. One server for a documentation team,
 with a dashboard, an API and a command line.
"""


def make(tree, version, out):
    files = Archive()
    files.add("usr/bin/docwright", tree.program, 0o755)
    files.add("lib/systemd/system/docwright.service", tree.deploy["docwright.service"])
    files.add("etc/docwright/docwright.toml", tree.deploy["docwright.toml"])
    for name, file in tree.deploy.items():
        files.add(f"usr/share/doc/docwright/deploy/{name}", file)
    for shell, script in tree.completions.items():
        files.add(f"usr/share/{COMPLETIONS[shell]}/{SHELLS[shell]}", script)
    for name, page in tree.pages.items():
        files.add(f"usr/share/man/man1/{name}.gz", gzip.compress(page, 9, mtime=0))
    for name, file in {**tree.docs, **tree.licenses}.items():
        files.add(f"usr/share/doc/docwright/{name}", file)
    files.add("usr/share/doc/docwright/changelog.gz", gzip.compress(tree.docs["CHANGELOG.md"], 9, mtime=0))
    licenses = b"Docwright is licensed under MIT or Apache-2.0, at your option.\n\n" + tree.licenses["LICENSE-MIT"]
    files.add("usr/share/doc/docwright/copyright", licenses)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        root.mkdir()
        subprocess.run(["tar", "--extract", "--directory", root, "--no-same-owner"], input=files.bytes(), check=True)
        control = root / "DEBIAN"
        control.mkdir()
        size = sum(len(content) for _, content, _, _ in files.entries.values()) // 1024
        (control / "control").write_text(CONTROL.format(version=version, architecture=ARCHITECTURE, size=size, glibc=GLIBC))
        (control / "conffiles").write_text("/etc/docwright/docwright.toml\n")
        for script in SCRIPTS.iterdir():
            (control / script.name).write_bytes(script.read_bytes())
            (control / script.name).chmod(0o755)
        # It takes the times of files from SOURCE_DATE_EPOCH.
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, out], check=True, stdout=subprocess.DEVNULL)
    return out
