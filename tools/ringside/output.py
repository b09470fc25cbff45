# SPDX-License-Identifier: GPL-2.0-only
"""Standard output and its ends: a full disk is told, a reader that left is not."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ringside.errors import CannotMeasure


@contextmanager
def told() -> Iterator[None]:
    """Says in one line why a stream does not take more, unless its reader left."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotMeasure(f"cannot write the output: {error.strerror}") from error


def show(text: str, stream: TextIO | None = None) -> None:
    """Prints at once, so that what is wrong with the stream is told as such."""
    with told():
        print(text, end="", file=stream or sys.stdout, flush=True)


def show_bytes(data: bytes) -> None:
    """Puts a file's content on standard output."""
    show("")
    with told():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def give_up() -> None:
    """Throws away what a stream does not take: Python would complain at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
