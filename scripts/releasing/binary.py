"""Builds the program so that older systems can run it, and so that two builds are equal."""

import os
import platform
import re
import subprocess
import sys

import support
from support import CACHE, ROOT, python_with

# Red Hat Enterprise Linux 8 and Debian 10 have this version.
GLIBC = "2.28"
MACHINE = platform.machine()
TARGET = f"{MACHINE}-unknown-linux-gnu"
MUSL_TARGET = f"{MACHINE}-unknown-linux-musl"
# What Debian and container images call it.
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(MACHINE, MACHINE)
ZIGBUILD, ZIG = "0.24.0", "0.17.0"


def build(is_static):
    """The path of the program. zig links against old versions of glibc's functions, or `is_static` against none, with musl."""
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
    target = MUSL_TARGET if is_static else TARGET
    command = ["cargo", "zigbuild", "--release", "--locked", "--target", target if is_static else f"{target}.{GLIBC}"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    program = folder / target / "release/docwright"
    check_libraries(program, is_static)
    return program


def debug():
    """A debug build for this machine, without its debug information."""
    support.build()
    program = CACHE / "stripped/docwright"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", program, support.BINARY], check=True)
    return program


def check_libraries(program, is_static):
    if is_static:
        if "NEEDED" in subprocess.check_output(["objdump", "-p", program], text=True):
            sys.exit("the program needs libraries, although it should be static")
        return
    needed = subprocess.check_output(["objdump", "-T", program], text=True)
    newest = max(map(numbers, re.findall(r"GLIBC_([0-9.]+)", needed)))
    if newest > numbers(GLIBC):
        sys.exit(f"the program needs glibc {'.'.join(map(str, newest))}, which is newer than {GLIBC}")


def numbers(version):
    return [int(part) for part in version.split(".")]
