# SPDX-License-Identifier: GPL-2.0-only
"""Compiles our own C programs into the cache, keyed by their sources and the compiler."""

import functools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ringside import cache
from ringside.errors import CannotMeasure

TREE = Path(__file__).resolve().parents[2]

_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")


@functools.cache
def compiler_version() -> str:
    """First line of the C compiler's version."""
    if not shutil.which("gcc"):
        raise CannotMeasure("gcc is not installed: run make setup")
    result = subprocess.run(
        ["gcc", "--version"], check=True, capture_output=True, text=True
    )
    return result.stdout.splitlines()[0]


def run_compiler(command: Sequence[str | Path]) -> None:
    """Runs a build command; its first error line goes into the message."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(words, check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotMeasure(f"{words[0]} is not installed: run make setup") from error
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "error" in line]
        why = (lines or result.stderr.splitlines() or ["no message"])[0]
        raise CannotMeasure(f"cannot build {command[-1]}: {why}")


def _source_key(sources: Sequence[Path], flags: Sequence[str]) -> str:
    # Headers that programs of several folders share lie with the selftests.
    folders = sorted({TREE / "selftests/lib", *[source.parent for source in sources]})
    headers = [path for folder in folders for path in sorted(folder.rglob("*.h"))]
    parts = [compiler_version(), *flags]
    for path in [*sources, *headers]:
        parts += [str(path.relative_to(TREE)), cache.file_hash(path)]
    return cache.key_of(*parts)


def program(name: str, sources: Sequence[str], *flags: str) -> Path:
    """The program built from sources (relative to the tree); built when not yet cached."""
    paths = [TREE / source for source in sources]

    def make(folder: Path) -> None:
        run_compiler(["gcc", *_FLAGS, *flags, *paths, "-o", folder / name])

    return cache.once("builds", _source_key(paths, flags), make) / name


def sender() -> Path:
    """The static sender that runs in the guest and on a lab machine."""
    library = ["frame.c", "interrupts.c", "load.c", "ring.c", "window.c"]
    return program(
        "sender",
        ["selftests/sender.c", *[f"selftests/lib/{name}" for name in library]],
        "-static",
    )


def agent() -> Path:
    """The lab's static program in the guest."""
    folder = "tools/qemu/guest"
    names = ["agent.c", "channel.c", "netdev.c"]
    return program("agent", [f"{folder}/{name}" for name in names], "-static")


def tally() -> Path:
    """The host's counter of traced device accesses."""
    return program("tally", ["tools/qemu/truth/tally.c"])


def plugin(api_version: int) -> Path:
    """The cost plugin for QEMU's plugin API of that version."""
    folder = TREE / "tools/qemu/plugin"
    flavour = 1 if api_version < 4 else 4
    name = f"cost-v{flavour}.so"
    key = _source_key([*sorted(folder.glob("*.c")), folder / "Makefile"], [name])

    def make(scratch: Path) -> None:
        run_compiler(["make", "-s", "-C", folder, f"OUT={scratch}", scratch / name])

    return cache.once("builds", key, make) / name
