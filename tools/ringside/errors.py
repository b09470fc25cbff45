# SPDX-License-Identifier: GPL-2.0-only
"""The ways a command can end badly, each with its exit status (docs/method.md)."""

EXIT_GOOD = 0
EXIT_NOT_GOOD = 1
EXIT_USAGE = 2
EXIT_CANNOT_MEASURE = 3
EXIT_SKIP = 4

_ECHOED = 60


def shortened(text: str, limit: int = _ECHOED) -> str:
    """The user's words as a message repeats them: the end of long ones is left out."""
    return text if len(text) <= limit else f"{text[:limit - 3]}..."


class RingsideError(Exception):
    """A failure told to the user in one line: what is wrong and what to do."""

    status = EXIT_CANNOT_MEASURE


class UsageError(RingsideError):
    """The command line asks for something that cannot be meant."""

    status = EXIT_USAGE


class CannotMeasure(RingsideError):
    """Something outside the driver under test is missing or broke."""

    status = EXIT_CANNOT_MEASURE


class NotGood(RingsideError):
    """Measured, and the driver under test is at fault."""

    status = EXIT_NOT_GOOD
