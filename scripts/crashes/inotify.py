"""Waits until a lock file is made in one of several folders: the moment at which a kill leaves it behind."""

import ctypes
import os
import select
import struct
import time

CREATE, NON_BLOCKING = 0x100, 0o4000
EVENT = struct.Struct("iIII")
MAX_BYTES = 1 << 16


class LockWatch:
    """Of inotify(7), since a lock is gone again within a millisecond."""

    def __init__(self, folders):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.handle = self.libc.inotify_init1(NON_BLOCKING)
        if self.handle < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        for folder in folders:
            self.libc.inotify_add_watch(self.handle, os.fsencode(folder), CREATE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.handle)

    def wait(self, seconds):
        """Whether one was made in time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.handle], [], [], left)[0] and any(name.endswith(b".lock") for name in self.names()):
                return True
        return False

    def names(self):
        events, at = os.read(self.handle, MAX_BYTES), 0
        while at < len(events):
            *_, length = EVENT.unpack_from(events, at)
            at += EVENT.size + length
            yield events[at - length:at].rstrip(b"\0")
