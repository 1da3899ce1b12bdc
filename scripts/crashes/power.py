"""File systems in image files whose power can be cut: what was not synced is gone when they are mounted again."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

# `_IOR('X', 125, __u32)`, the same for ext4 and XFS, and the flag that keeps the journal from being written first.
SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
NO_LOG_FLUSH = 2
SIZE = 1 << 30
# A journal that is committed every five seconds would hide a missing fsync. XFS has no such option; it takes 30 seconds.
KINDS = {
    "ext4": (["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"], ["commit=300"]),
    "xfs": (["mkfs.xfs", "-q"], []),
}
LAYOUTS = ("same", "apart")
UNMOUNT_SECONDS = 20


def missing(kind="ext4"):
    """Why the power cannot be cut on this machine; `None` if it can."""
    if os.getuid() != 0:
        return "only root can mount a file system"
    if not shutil.which(KINDS[kind][0][0]):
        return f"{KINDS[kind][0][0]} is not installed"
    try:
        with Disk(kind) as disk:
            disk.cut()
            disk.remount()
    except (subprocess.CalledProcessError, OSError) as why:
        detail = getattr(why, "stderr", None) or str(why)
        return f"a loop device with {kind} cannot be mounted and shut down ({detail.strip()})"
    return None


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Disk:
    """One file system in an image, mounted in a folder of its own."""

    def __init__(self, kind):
        self.kind, self.mounted = kind, False
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="docwright-crash-disk-"))
        self.image, self.root = self.folder / "image", self.folder / "root"
        self.root.mkdir()

    def __enter__(self):
        try:
            with open(self.image, "wb") as image:
                image.truncate(SIZE)
            run(*KINDS[self.kind][0], self.image)
            self.mount()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.mounted:
            self.unmount()
        shutil.rmtree(self.folder)

    def mount(self):
        options = ",".join(["loop", *KINDS[self.kind][1]])
        run("mount", "-t", self.kind, "-o", options, self.image, self.root)
        self.mounted = True

    def sync(self):
        run("sync", "--file-system", self.root)

    def cut(self):
        """Nothing reaches the image from now on."""
        root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(root, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(root)

    def unmount(self):
        """Waits for the last process that has a file open. The loop device goes with the mount."""
        until = time.monotonic() + UNMOUNT_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.CalledProcessError):
                run("umount", self.root)
                self.mounted = False
                return
            time.sleep(0.01)
        subprocess.run(["umount", "--lazy", self.root], check=False)
        self.mounted = False
        raise OSError(f"{self.root} was still in use after {UNMOUNT_SECONDS} s")

    def remount(self):
        """Replays the journal."""
        self.unmount()
        self.mount()


class Disks:
    """The file system of the data directory and the one of the repositories: one and the same, or two."""

    def __init__(self, kind, layout):
        self.kind, self.layout = kind, layout

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.data = stack.enter_context(Disk(self.kind))
            self.repositories = stack.enter_context(Disk(self.kind)) if self.layout == "apart" else self.data
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *failed):
        self.stack.close()

    def each(self):
        return [self.data] if self.layout == "same" else [self.data, self.repositories]

    def cut(self):
        """The data directory first: nothing can be acknowledged after that."""
        for disk in self.each():
            disk.cut()

    def remount(self):
        for disk in self.each():
            disk.remount()

    def sync(self):
        for disk in self.each():
            disk.sync()
