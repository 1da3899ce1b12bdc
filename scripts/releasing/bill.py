"""What is in the program: its dependencies with their versions and licenses, as an SBOM and as the texts of the licenses."""

import functools
import json
import pathlib
import re
import subprocess
import tomllib
import uuid

from support import ROOT

from .binary import TARGET

NAMES = re.compile(r"(licen[sc]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


@functools.cache
def metadata():
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", TARGET]
    return json.loads(subprocess.check_output(command, cwd=ROOT))


def program():
    return next(package for package in metadata()["packages"] if package["name"] == "docwright")


def version():
    return program()["version"]


@functools.cache
def dependencies():
    """The packages of others whose code is in the program, by name and version."""
    nodes = {node["id"]: node for node in metadata()["resolve"]["nodes"]}
    found, waiting = set(), [program()["id"]]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    packages = [package for package in metadata()["packages"] if package["id"] in found and package["source"]]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def make(version, out):
    """Writes a CycloneDX file."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True).strip()
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same commit gets the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'docwright {version} {commit}')}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "docwright", "version": version}},
        "components": [component(package, sums) for package in dependencies()],
    }
    out.write_text(json.dumps(bill, indent=2) + "\n")
    return out


def component(package, sums):
    name, version = package["name"], package["version"]
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        "hashes": [{"alg": "SHA-256", "content": sums[name, version]}],
    }


def licenses():
    """The texts of all licenses, each once, with the packages that it is for."""
    users = {}
    for package in dependencies():
        folder = pathlib.Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if file.is_file() and NAMES.match(file.name))
        for text in {file.read_text(errors="replace").strip() for file in files} or {f"({package['license']})"}:
            users.setdefault(text, []).append(f"{package['name']} {package['version']}")
    head = "Docwright contains the following packages. Each text is the license of the packages above it.\n"
    return "\n".join([head, *(f"{'=' * 78}\n{', '.join(names)}\n{'=' * 78}\n\n{text}\n" for text, names in sorted(users.items(), key=lambda entry: (entry[1], entry[0])))])
