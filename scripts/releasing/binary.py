"""Builds the program so that older systems can run it, and so that two builds are equal."""

import os
import re
import subprocess
import sys

import support
from support import CACHE, ROOT, python_with

# Red Hat Enterprise Linux 8 and Debian 10 have this version.
GLIBC = "2.28"
TARGET = "x86_64-unknown-linux-gnu"
ZIGBUILD, ZIG = "0.24.0", "0.17.0"


def build():
    """The path of the program. zig links against old versions of glibc's functions; its C compiler is needed for that."""
    tools = python_with(f"zig-{ZIG}", f"cargo-zigbuild=={ZIGBUILD}", f"ziglang=={ZIG}")
    folder = CACHE / "release-target"
    registry = f"{os.environ.get('CARGO_HOME', os.path.expanduser('~/.cargo'))}/registry/src"
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(folder),
        # No path of this machine goes into the program.
        "RUSTFLAGS": f"--remap-path-prefix={ROOT}=/docwright --remap-path-prefix={registry}=/registry",
        "CFLAGS": f"-ffile-prefix-map={registry}=/registry",
    }
    command = ["cargo", "zigbuild", "--release", "--locked", "--target", f"{TARGET}.{GLIBC}"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    program = folder / TARGET / "release/docwright"
    check_glibc(program)
    return program


def debug():
    """A debug build for this machine, without its debug information."""
    support.build()
    program = CACHE / "stripped/docwright"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", program, support.BINARY], check=True)
    return program


def check_glibc(program):
    needed = subprocess.check_output(["objdump", "-T", program], text=True)
    newest = max(map(numbers, re.findall(r"GLIBC_([0-9.]+)", needed)))
    if newest > numbers(GLIBC):
        sys.exit(f"the program needs glibc {'.'.join(map(str, newest))}, which is newer than {GLIBC}")


def numbers(version):
    return [int(part) for part in version.split(".")]
