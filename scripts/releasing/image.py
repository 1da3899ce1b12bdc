"""The container image, as an OCI archive, made without a daemon: a layer of Debian's packages, and one of the program.

The first layer has only what the program and git need: the C library, git with its libraries, a shell for git, and the
certificates of authorities. `skopeo copy oci-archive:FILE docker-daemon:docwright` or `podman load -i FILE` takes it.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import time

from .archives import Archive
from .binary import ARCHITECTURE

PACKAGES = ["libc6", "libgcc-s1", "zlib1g", "libpcre2-8-0", "dash", "git", "ca-certificates"]
# Of git, the program itself is enough: it contains the commands, and our own code speaks HTTP to hosts.
WANTED = {
    "dash": ["bin/dash", "bin/sh"],
    "git": ["usr/bin/git", "usr/bin/git-upload-pack", "usr/bin/git-receive-pack", "usr/lib/git-core/git"],
    "libc6": ["lib", "lib64"],
    "libgcc-s1": ["lib"],
    "zlib1g": ["lib"],
    "libpcre2-8-0": ["usr/lib"],
}
# The user of the server in the image. It owns /data.
USER = 10001


def make(program, version, out):
    with tempfile.TemporaryDirectory() as folder:
        system, packages = debian_layer(pathlib.Path(folder))
    layers = [system.bytes(), program_layer(program).bytes()]
    image = Archive()
    described = [blob(image, layer, "application/vnd.oci.image.layer.v1.tar+gzip") for layer in layers]
    config = blob(image, encode(configuration(version, layers, packages)), "application/vnd.oci.image.config.v1+json", False)
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": described}
    index = blob(image, encode(manifest), manifest["mediaType"], False)
    # The name that `podman load` gives it.
    index["annotations"] = {"org.opencontainers.image.ref.name": f"docwright:{version}"}
    image.add("index.json", encode({"schemaVersion": 2, "manifests": [index]}))
    image.add("oci-layout", encode({"imageLayoutVersion": "1.0.0"}))
    out.write_bytes(image.bytes())
    return out


def configuration(version, layers, packages):
    health = ["CMD", "/usr/bin/docwright", "health"]
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/docwright"],
            "Cmd": ["serve"],
            "Env": ["PATH=/usr/bin:/bin", "HOME=/data", "DOCWRIGHT_DATA=/data", "DOCWRIGHT_LISTEN=0.0.0.0:4747"],
            "ExposedPorts": {"4747/tcp": {}},
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": {
                "org.opencontainers.image.title": "docwright",
                "org.opencontainers.image.version": version,
                "docwright.packages": " ".join(packages),
            },
            # Seconds are counted in nanoseconds here.
            "Healthcheck": {"Test": health, "Interval": 30 * 10**9, "Timeout": 10 * 10**9, "StartPeriod": 10 * 10**9},
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
    }


def debian_layer(folder):
    """The layer, and the versions of the packages in it."""
    layer, versions = Archive(), []
    subprocess.run(["apt-get", "download", "--quiet", *PACKAGES], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for deb in sorted(folder.glob("*.deb")):
        name, version = subprocess.check_output(["dpkg-deb", "--show", "--showformat=${Package}\n${Version}", deb], text=True).splitlines()
        versions.append(f"{name}={version}")
        add_package(layer, name, subprocess.check_output(["dpkg-deb", "--fsys-tarfile", deb]))
    layer.add("etc/passwd", f"root:x:0:0::/root:/bin/sh\ndocwright:x:{USER}:{USER}::/data:/bin/sh\n".encode())
    layer.add("etc/group", f"root:x:0:\ndocwright:x:{USER}:\n".encode())
    layer.add("etc/nsswitch.conf", b"hosts: files dns\n")
    layer.folders("data", 0o700, USER)
    layer.folders("tmp", 0o1777)
    # A container runtime mounts something there, and cannot make them in a read-only root.
    for folder in ("dev", "proc", "run", "sys"):
        layer.folders(folder)
    return layer, versions


def add_package(layer, name, content):
    certificates = []
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for entry in archive:
            path = entry.name.removeprefix("./")
            is_wanted = any(path == wanted or path.startswith(f"{wanted}/") for wanted in WANTED.get(name, []))
            is_copyright = path == f"usr/share/doc/{name}/copyright"
            if path.startswith("usr/share/ca-certificates/mozilla/") and entry.isfile():
                certificates.append(archive.extractfile(entry).read())
            elif not (is_wanted or is_copyright):
                continue
            elif entry.isfile() or entry.islnk():
                layer.add(path, archive.extractfile(entry).read(), entry.mode)
            elif entry.issym():
                layer.link(path, entry.linkname)
    if certificates:
        layer.add("etc/ssl/certs/ca-certificates.crt", b"".join(certificates))


def program_layer(program):
    layer = Archive()
    layer.add("usr/bin/docwright", program.read_bytes(), 0o755)
    return layer


def blob(image, content, kind, compress=True):
    if compress:
        content = gzip.compress(content, 9, mtime=0)
    name = digest(content)
    image.add(f"blobs/sha256/{name.removeprefix('sha256:')}", content)
    return {"mediaType": kind, "digest": name, "size": len(content)}


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def encode(value):
    return json.dumps(value, sort_keys=True).encode()
