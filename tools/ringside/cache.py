# SPDX-License-Identifier: GPL-2.0-only
"""What is kept between runs, outside the tree, under a key of everything that decides it."""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ringside.errors import CannotMeasure


# In each folder: what it holds, to see damage.
_LISTING = ".made"


def root() -> Path:
    """The cache folder: $RINGSIDE_CACHE, else ringside below the user's cache folder."""
    named = os.environ.get("RINGSIDE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "ringside"


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_of(*parts: str | bytes) -> str:
    """A key that changes whenever a part changes (hexadecimal)."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:32]


def _locked(path: Path) -> IO[str]:
    """The lock file, open and locked; closing it lets go."""
    while True:
        file = path.open("w", encoding="ascii")
        fcntl.flock(file, fcntl.LOCK_EX)
        # Whoever held it may have removed it, and another have locked a new one.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Holds a lock file, which is gone afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _listing(folder: Path) -> str:
    """Names, sizes and times of the files in a folder, for _is_whole()."""
    lines = []
    for path in sorted(folder.rglob("*")):
        if path.name != _LISTING and path.is_file() and not path.is_symlink():
            state = path.stat()
            name = path.relative_to(folder)
            lines.append(f"{state.st_size} {state.st_mtime_ns} {name}\n")
    return "".join(lines)


def _is_whole(folder: Path) -> bool:
    """Whether the folder's files are as they were made."""
    try:
        listing = (folder / _LISTING).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return listing == _listing(folder)


def once(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder of that kind and key, made by make() when it is not there or not whole.

    Two makers at once: one makes, the other waits and takes the result. A maker
    that fails or is interrupted leaves nothing.
    """
    folder = root() / kind / key
    if _is_whole(folder):
        return folder
    with told_when_full(), lock(root() / kind / f"{key}.lock"):
        if _is_whole(folder):
            return folder
        # What is damaged would fail every run until somebody looks for it.
        shutil.rmtree(folder, ignore_errors=True)
        for stale in (root() / kind).glob(f".{key}.*"):
            # The lock is ours, so whoever made this was killed.
            shutil.rmtree(stale, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=root() / kind))
        try:
            make(scratch)
            (scratch / _LISTING).write_text(_listing(scratch), encoding="utf-8")
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def prune(kind: str, keep: int) -> None:
    """Removes the folders of a kind that were used longest ago, but keeps so many."""
    folders = [path for path in (root() / kind).glob("[!.]*") if path.is_dir()]
    for path in sorted(folders, key=lambda path: path.stat().st_mtime)[:-keep]:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for one run, gone afterwards."""
    with told_when_full():
        path = Path(tempfile.mkdtemp(prefix="ringside-"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def told_when_full() -> Iterator[None]:
    """Turns the system's refusals to write into one line for the user."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            # A copy names what it read first, then what it could not write.
            where = error.filename2 or error.filename or root()
            raise CannotMeasure(
                f"no space left on the disk of {where}: free some, or set"
                " RINGSIDE_CACHE and TMPDIR to a disk with room"
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise CannotMeasure(
                f"cannot write {error.filename}: {error.strerror}; set"
                " RINGSIDE_CACHE to a folder that you may write"
            ) from error
        raise
