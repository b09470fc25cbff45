# SPDX-License-Identifier: GPL-2.0-only
"""Archives of cpio.py, unpacked by busybox, which the guest's kernel agrees with."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from ringside.lab import cpio

ENTRIES = [
    cpio.directory("bin"),
    cpio.directory("etc"),
    cpio.program("bin/tool", b"#!/bin/sh\n"),
    *[cpio.Entry(f"etc/{'n' * n}", bytes(range(n))) for n in range(1, 10)],
    cpio.Entry("etc/empty"),
    cpio.Entry("etc/big", b"\xa5" * 100_001),
    cpio.Entry("etc/last", b"end"),
]


@pytest.fixture(name="unpacked")
def _unpacked(tmp_path: Path) -> Path:
    busybox = shutil.which("busybox")
    assert busybox, "busybox is needed, as for a bench"
    subprocess.run(
        [busybox, "cpio", "-i", "-m"],
        input=cpio.archive(ENTRIES),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    return tmp_path


def test_every_file_comes_out_as_it_went_in(unpacked: Path) -> None:
    """All remainders of name and content lengths to the block size of four."""
    files = [entry for entry in ENTRIES if stat.S_ISREG(entry.mode)]
    found = [path for path in unpacked.rglob("*") if path.is_file()]
    assert {str(path.relative_to(unpacked)): path.read_bytes() for path in found} == {
        entry.path: entry.content for entry in files
    }


def test_modes_are_kept(unpacked: Path) -> None:
    """The kernel runs /init only when it is executable."""
    for entry in ENTRIES:
        assert (unpacked / entry.path).stat().st_mode == entry.mode, entry.path
    assert (unpacked / "bin/tool").stat().st_mode & 0o777 == 0o755
    assert (unpacked / "etc/last").stat().st_mode & 0o777 == 0o644


def test_equal_entries_give_equal_bytes() -> None:
    """The key of a snapshot is a hash of the archive: no time, no inode of the host."""
    assert cpio.archive(list(ENTRIES)) == cpio.archive(list(ENTRIES))


def test_inodes_differ() -> None:
    """Equal inode numbers would make the kernel link one file to the other."""
    data = cpio.archive(ENTRIES[2:4])
    second = data.index(b"070701", 6)
    assert data[6:14] != data[second + 6 : second + 14]
