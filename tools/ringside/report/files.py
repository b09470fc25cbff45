# SPDX-License-Identifier: GPL-2.0-only
"""Write a report so that its path never holds half of one."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ringside import output
from ringside.errors import CannotMeasure, UsageError, shortened
from ringside.report.figures import visible

STANDARD_OUTPUT = Path("/dev/stdout")
_NAMES_OF_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_LINKS = 40

# What the path is to blame for; all else is the machine's state, a full disk say.
_WRONG_PATH = (
    *(errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM),
    *(errno.ENAMETOOLONG, errno.EROFS, errno.ELOOP, errno.ENXIO, errno.EEXIST),
)


def _names(path: Path) -> Iterator[str]:
    """The path, and what its links lead to one by one."""
    name = os.path.abspath(path)
    for _ in range(_LINKS):
        yield name
        if not os.path.islink(name):
            break
        name = os.path.abspath(os.path.join(os.path.dirname(name), os.readlink(name)))


def is_standard_output(path: Path) -> bool:
    """Whether the path names standard output, itself or by links."""
    return any(name in _NAMES_OF_OUTPUT for name in _names(path))


def check(path: Path) -> None:
    """Refuse before a measurement what write_whole() would refuse after it."""
    if is_standard_output(path):
        return
    with _told(path):
        if _is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            _try_folder(_partial(path.resolve()))


def check_apart(first: Path, second: Path) -> None:
    """Refuse two reports in one place."""
    if os.path.realpath(first) == os.path.realpath(second) or (
        is_standard_output(first) and is_standard_output(second)
    ):
        raise UsageError(f"cannot write two reports to {_shown(second)}")


def write_whole(path: Path, text: str) -> None:
    """Put the text in the file, or leave the file as it was.

    UsageError for a path that cannot be a file of this user, CannotMeasure when
    the write itself fails (full disk). A device or pipe is written to directly.
    """
    data = text.encode("utf-8", "backslashreplace")
    if is_standard_output(path):
        output.show_bytes(data)
        return
    with _told(path):
        if _is_special(path):
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)


def _shown(path: Path) -> str:
    return visible(shortened(str(path), 160))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in one line what the system has against the path."""
    try:
        yield
    except OSError as error:
        line = f"cannot write {_shown(path)}: {error.strerror}"
        if error.errno in _WRONG_PATH:
            raise UsageError(line) from error
        raise CannotMeasure(line) from error


def _is_special(path: Path) -> bool:
    """Whether the path is a pipe or device; what can never be written to raises."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise FileNotFoundError(errno.ENOENT, "a link to nothing") from None
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise PermissionError(errno.EPERM, "a disk or socket")
    return not stat.S_ISREG(mode) or _is_open_file(path)


def _is_open_file(path: Path) -> bool:
    """Whether the path is an open file's number: what is open must keep its place."""
    folders = (os.path.realpath(os.path.dirname(name)) for name in _names(path))
    return any(re.fullmatch("/proc/[0-9]+(/task/[0-9]+)?/fd", f) for f in folders)


def _partial(target: Path) -> Path:
    """Where the text grows: in the same directory, for only there is a rename atomic."""
    return target.with_name(f".{target.name[:60]}.{os.getpid()}")


def _try_folder(partial: Path) -> None:
    try:
        partial.touch()
    finally:
        with suppress(OSError):
            partial.unlink()


def _replace(target: Path, data: bytes) -> None:
    partial = _partial(target)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
