# SPDX-License-Identifier: GPL-2.0-only
"""Writes initramfs archives (cpio "newc"), so that no host tool or root is needed."""

import stat
from dataclasses import dataclass

_BLOCK = 4


@dataclass(frozen=True)
class Entry:
    """One file or directory of the archive; directories have no content."""

    path: str
    content: bytes = b""
    mode: int = stat.S_IFREG | 0o644


def directory(path: str) -> Entry:
    """A directory of the archive."""
    return Entry(path, mode=stat.S_IFDIR | 0o755)


def program(path: str, content: bytes) -> Entry:
    """An executable file of the archive."""
    return Entry(path, content, stat.S_IFREG | 0o755)


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _BLOCK)


def _record(inode: int, entry: Entry) -> bytes:
    name = entry.path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    # Documentation/driver-api/early-userspace/buffer-format.rst: inode, mode,
    # uid, gid, links, mtime, size, four device numbers, name size, check.
    fields = (
        [inode, entry.mode, 0, 0, links, 0, len(entry.content)]
        + [0] * 4
        + [
            len(name),
            0,
        ]
    )
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return _pad(header + name) + _pad(entry.content)


def archive(entries: list[Entry]) -> bytes:
    """The archive of the entries; the same entries give the same bytes."""
    records = [_record(number, entry) for number, entry in enumerate(entries, 1)]
    records.append(_record(0, Entry("TRAILER!!!", mode=0)))
    return b"".join(records)
