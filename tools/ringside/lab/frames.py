# SPDX-License-Identifier: GPL-2.0-only
"""Frames that the guest's agent sends: type, length, checksum, bytes."""

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from ringside.errors import CannotMeasure

_HEADER = re.compile(rb"\x01RSF ([a-z0-9.-]+) ([0-9]{1,9}) ([0-9a-f]{8})\n")
# A header that is still longer than this without its newline is no header.
_HEADER_BYTES = 96


@dataclass(frozen=True)
class Frame:
    """One message of the guest."""

    type: str
    data: bytes

    @property
    def text(self) -> str:
        """The message as text; bytes that are no UTF-8 show as replacement."""
        return self.data.decode("utf-8", "replace")


class Reader:
    """Takes whole frames from the growing file that the guest's channel writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._pending = b""

    def poll(self) -> list[Frame]:
        """Frames completed since the last call; none while the file is not there."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(data)
        self._pending += data
        frames = []
        while frame := self._take():
            frames.append(frame)
        return frames

    def _take(self) -> Frame | None:
        if not self._pending:
            return None
        match = _HEADER.match(self._pending)
        if not match:
            if b"\n" in self._pending or len(self._pending) > _HEADER_BYTES:
                raise CannotMeasure("the guest sent something that is not a frame")
            return None
        end = match.end() + int(match[2])
        if len(self._pending) <= end:
            return None
        data = self._pending[match.end() : end]
        if (
            zlib.crc32(data) != int(match[3], 16)
            or self._pending[end : end + 1] != b"\n"
        ):
            raise CannotMeasure("a frame of the guest arrived damaged")
        self._pending = self._pending[end + 1 :]
        return Frame(match[1].decode(), data)
