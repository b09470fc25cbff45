# SPDX-License-Identifier: GPL-2.0-only
"""Write a report so that its path never holds half of one."""

import os
from pathlib import Path

from ringside.errors import CannotMeasure, UsageError
from ringside.report.figures import visible


def write_whole(path: Path, text: str) -> None:
    """Put the text in the file, or leave the file as it was.

    UsageError for a path that cannot be a file of this user, CannotMeasure when
    the write itself fails (full disk). A device or pipe is written to directly.
    """
    data = text.encode("utf-8", "backslashreplace")
    target = path.resolve()
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as error:
        line = f"cannot write {visible(str(path))}: {error.strerror}"
        if isinstance(
            error,
            (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError),
        ):
            raise UsageError(line) from error
        raise CannotMeasure(line) from error


def _replace(target: Path, data: bytes) -> None:
    # In the same directory: only there is the rename atomic.
    partial = target.with_name(f".{target.name[:200]}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
