"""Installs the files of a release on clean systems, and uses them there. Needs root.

- The tarball's program runs on Debian 11, which has an older C library than this machine. On Debian 12, it shows the
  demo, and serves.
- The package is installed, does a job as a hardened service, upgrades the data of version 0.1.0 with every recorded
  answer, refuses the data of a newer version, serves HTTPS at port 443, is removed, and is purged: the data stays.
- The image's layers serve from a read-only root as a user without rights, and again after a restart on the same volume.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time

from support import ROOT

from . import machine, recorded
from .container import Container

TOOLS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container", "bwrap": "bubblewrap", "skopeo": "skopeo", "umoci": "umoci"}
FIXTURES = ROOT / "crates/server/tests/fixtures"
# By systemd's own scale, 0 is locked up and 10 is open.
MAX_EXPOSURE = 1.5


def run(files, is_portable):
    """Each step says what it saw. `is_portable`: the program runs with older C libraries, too."""
    missing = [package for program, package in TOOLS.items() if not shutil.which(program)]
    if missing:
        sys.exit(f"install these packages first: {' '.join(missing)}")
    if os.getuid() != 0:
        sys.exit("only root can boot a clean system: run this as root")
    tarball, *others = files
    prove_tarball(tarball, is_portable)
    if not others:
        return
    package, image, _ = others
    try:
        prove_package(package)
    except machine.CannotBoot as why:
        skip(f"the package on a clean system, because this machine cannot boot one: {why}")
    prove_image(image)


def skip(what):
    """`scripts/test` repeats it at its end."""
    print(f"skipped: {what}", flush=True)
    if file := os.environ.get("DOCWRIGHT_SKIPPED"):
        with open(file, "a") as skipped:
            skipped.write(f"{what}\n")


def say(text):
    print(f"proved: {text}", flush=True)


def prove_tarball(tarball, is_portable):
    if is_portable:
        with untarred(tarball, machine.root("bullseye", "ca-certificates")) as container:
            glibc = container.shell("ldd --version").split("\n")[0].split()[-1]
            say(f"{container.run('--version')} runs with glibc {glibc}")
    with untarred(tarball, machine.root("bookworm")) as container:
        seconds = container.demo()
        with container.serving():
            container.run("org", "create", "--name", "Kept")
    say(f"the tarball's program shows the demo in {seconds:.1f} s, and serves")


@contextlib.contextmanager
def untarred(tarball, packed):
    """The tarball's program in a clean system."""
    with machine.unpacked(packed) as root:
        with tarfile.open(tarball) as archive:
            archive.extractall(root / "opt", filter="tar")
        (program,) = (root / "opt").glob("*/docwright")
        (root / "data").mkdir()
        yield Container(root, root / "data", f"/{program.relative_to(root)}", {"PATH": "/usr/bin:/bin", "HOME": "/data"})


def prove_package(package):
    with machine.unpacked(machine.root("bookworm")) as root:
        shutil.copy(package, root / "docwright.deb")
        with machine.booted(root) as debian:
            started = time.monotonic()
            debian.run("dpkg", "--install", "/docwright.deb")
            debian.wait_until_ready()
            say(f"the package is installed, and serves after {time.monotonic() - started:.1f} s")
            prove_unit(debian)
            prove_demo(debian)
            prove_job(debian)
            prove_upgrade(debian)
            prove_downgrade(debian)
            prove_tls(debian)
            prove_removal(debian)


def prove_unit(debian):
    wrong = [line for line in debian.run("systemd-analyze", "verify", "docwright.service", check=False).splitlines() if "man " not in line]
    if wrong:
        sys.exit("the unit is not as systemd wants it:\n" + "\n".join(wrong))
    level = debian.run("systemd-analyze", "security", "--no-pager", "docwright.service").splitlines()[-1]
    exposure = float(level.split(":")[1].split()[0])
    if exposure > MAX_EXPOSURE:
        sys.exit(f"the service is exposed by {exposure}, more than {MAX_EXPOSURE}")
    say(f"the unit is valid; its exposure is {exposure} of 10")


def prove_demo(debian):
    started = time.monotonic()
    shown = debian.docwright("demo", "--once")
    if "/pulls/1" not in shown:
        sys.exit(f"the demo opened no pull request:\n{shown}")
    say(f"the demo opens a pull request in {time.monotonic() - started:.1f} s")


def prove_job(debian):
    """A repository on the machine, which the unit must allow."""
    debian.run("install", "-d", "-o", "docwright", "-g", "docwright", "/srv/docs.git")
    script = """
        git init -q -b main /tmp/docs && cd /tmp/docs && printf 'Press one.\\n' > index.md && git add . &&
        git -c user.name=D -c user.email=d@example.com commit -qm Begin &&
        git -c safe.directory='*' clone -q --bare /tmp/docs /srv/docs.git && chown -R docwright: /srv/docs.git &&
        mkdir -p /etc/systemd/system/docwright.service.d &&
        printf '[Service]\\nReadWritePaths=/srv/docs.git\\n' > /etc/systemd/system/docwright.service.d/docs.conf &&
        systemctl daemon-reload && systemctl restart docwright
    """
    debian.run("sh", "-ec", script)
    debian.wait_until_ready()
    project = json.loads(debian.docwright("project", "create", "--name", "Docs", "--repository", "/srv/docs.git", "--json"))["id"]
    key = json.loads(debian.docwright("key", "create", "--name", "Proof", "--json"))["key"]
    ask = ["env", f"DOCWRIGHT_API_KEY={key}", "docwright", "job", "create", project, "--watch", "--json"]
    shown = debian.run(*ask, 'Replace "one" with "two".')
    if '"prLink"' not in shown or "/pulls/1" not in shown:
        sys.exit(f"the job opened no pull request:\n{shown}")
    say("a job of the hardened service opens a pull request in a repository on the machine")


def prove_upgrade(debian):
    """Puts the data that version 0.1.0 wrote in place of the server's, installs the package again, and asks."""
    fixture = FIXTURES / "0.1.0"
    debian.run("systemctl", "stop", "docwright")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "--extract", "--no-same-owner", "--file", fixture / "sqlite.tar.zst", "--directory", folder], check=True)
        shutil.rmtree(debian.folder / "var/lib/docwright/data")
        shutil.copytree(f"{folder}/data", debian.folder / "var/lib/docwright/data")
        shutil.copytree(f"{folder}/docs.git", debian.folder / "fixture/docs.git")
    debian.run("chown", "-R", "docwright:", "/var/lib/docwright", "/fixture")
    # Jobs that were active stay so: nothing does them.
    debian.run("sh", "-ec", "echo 'workers = 0' >> /etc/docwright/docwright.toml")
    debian.run("dpkg", "--install", "/docwright.deb")
    debian.run("systemctl", "start", "docwright")
    debian.wait_until_ready()
    compared, wrong = recorded.compare(debian, json.loads((fixture / "sqlite.json").read_text()))
    if wrong:
        sys.exit(f"{len(wrong)} answers changed with the upgrade:\n" + "\n".join(wrong[:20]))
    say(f"the data of version 0.1.0 is upgraded, and {compared} recorded answers are the same")


def prove_downgrade(debian):
    """Data that a newer version has written is refused, and stays as it is."""
    debian.run("systemctl", "stop", "docwright")
    database = debian.folder / "var/lib/docwright/data/docwright.db"
    version = set_schema(database, 9_999)
    before = database.read_bytes()
    debian.run("systemctl", "start", "docwright", check=False)
    sentence = "was written by a newer version of Docwright"
    debian.wait_until("the server does not refuse newer data", lambda: sentence in debian.run("journalctl", "--unit=docwright", "--no-pager"))
    debian.run("systemctl", "stop", "docwright")
    if database.read_bytes() != before:
        sys.exit("the data of a newer version was changed")
    set_schema(database, version)
    say("data of a newer version is refused with a sentence, and not changed")


def set_schema(database, version):
    """Returns what it was."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        (before,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version}")
    return before


def prove_tls(debian):
    """The drop-in is the one in docs/operating.md, and so is the command for the certificate."""
    page = (ROOT / "docs/operating.md").read_text()
    (drop_in,) = re.findall(r"```ini\n(# /etc/systemd/system/docwright\.service\.d/tls\.conf\n.*?)```", page, re.DOTALL)
    (debian.folder / "etc/systemd/system/docwright.service.d/tls.conf").write_text(drop_in)
    certificate, key = debian.folder / "etc/docwright/cert.pem", debian.folder / "etc/docwright/key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=docs"]
    subprocess.run([*make, "-keyout", key, "-out", certificate, "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
    debian.run("chown", "docwright:", "/etc/docwright/key.pem", "/etc/docwright/cert.pem")
    lines = ['listen = "0.0.0.0:443"', 'tls_cert = "/etc/docwright/cert.pem"', 'tls_key = "/etc/docwright/key.pem"']
    with (debian.folder / "etc/docwright/docwright.toml").open("a") as settings:
        settings.write("\n".join(["", *lines, ""]))
    debian.run("systemctl", "daemon-reload")
    debian.run("systemctl", "start", "docwright")
    debian.wait_until_ready("--config", "/etc/docwright/docwright.toml")
    ask = ["curl", "--silent", "--fail", "--cacert", certificate, "https://localhost/healthz"]
    subprocess.run([*debian.enter_network, *ask], check=True, stdout=subprocess.DEVNULL)
    say("the service serves HTTPS at port 443 with its own certificate")


def prove_removal(debian):
    debian.run("dpkg", "--remove", "docwright")
    if (debian.folder / "usr/bin/docwright").exists() or debian.run("systemctl", "is-active", "docwright", check=False) == "active":
        sys.exit("the package is removed, but the server is still there")
    said = debian.run("dpkg", "--purge", "docwright")
    left = [path for path in ("etc/docwright", "lib/systemd/system/docwright.service") if (debian.folder / path).exists()]
    if left or not (debian.folder / "var/lib/docwright/data/docwright.db").exists() or "/var/lib/docwright stays" not in said:
        sys.exit(f"after the purge, {left} is left, or the data is gone, or nobody says so:\n{said}")
    say("the package is removed and purged; the data stays, and the package says so")


def prove_image(image):
    with tempfile.TemporaryDirectory(prefix="docwright-image-") as folder:
        folder = pathlib.Path(folder)
        subprocess.run(["skopeo", "copy", "--quiet", f"oci-archive:{image}", f"oci:{folder}/oci:it"], check=True)
        subprocess.run(["umoci", "unpack", "--image", f"{folder}/oci:it", folder / "bundle"], check=True, stderr=subprocess.DEVNULL)
        config = json.loads((folder / "bundle/config.json").read_text())["process"]
        user = config["user"]
        if user["uid"] == 0:
            sys.exit("the image runs as root")
        (folder / "data").mkdir()
        environment = {name: value for name, value in (entry.split("=", 1) for entry in config["env"])}
        container = Container(folder / "bundle/rootfs", folder / "data", config["args"][0], environment, user["uid"], user["gid"])
        seconds = container.demo()
        with container.serving():
            container.run("org", "create", "--name", "Kept")
        with container.serving():
            if "Kept" not in container.run("org", "list"):
                sys.exit("the image lost its data with a restart")
    say(f"the image shows the demo in {seconds:.1f} s, serves from a read-only root, and keeps its volume ({image.stat().st_size / 1e6:.1f} MB)")
