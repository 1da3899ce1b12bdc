"""Writes tar files whose bytes depend on nothing but their content."""

import gzip
import io
import os
import tarfile


class Archive:
    """Files by path, written in order of their paths, as root's, with the time of the commit."""

    def __init__(self):
        self.entries = {}

    def add(self, path, content, mode=0o644, owner=0):
        self.folders(os.path.dirname(path))
        self.entries[path] = (tarfile.REGTYPE, content, mode, owner)

    def link(self, path, to):
        self.folders(os.path.dirname(path))
        self.entries[path] = (tarfile.SYMTYPE, to, 0o777, 0)

    def folders(self, path, mode=0o755, owner=0):
        if path:
            self.folders(os.path.dirname(path))
            default = (mode, owner) == (0o755, 0)
            if not default or path not in self.entries:
                self.entries[path] = (tarfile.DIRTYPE, b"", mode, owner)

    def bytes(self):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, (kind, content, mode, owner) in sorted(self.entries.items()):
                entry = tarfile.TarInfo(path)
                entry.type, entry.mode, entry.uid, entry.gid = kind, mode, owner, owner
                entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
                if kind == tarfile.SYMTYPE:
                    entry.linkname = content
                    archive.addfile(entry)
                else:
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()

    def compressed(self):
        return gzip.compress(self.bytes(), compresslevel=9, mtime=0)
