# SPDX-License-Identifier: GPL-2.0-only
"""The runs of both versions, each kept: what was measured once is not measured again."""

import functools
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside import bench, builds, cache, ledger
from ringside.bench import Load, Task
from ringside.compare.build import Built
from ringside.lab import qemu
from ringside.lab.kernel import LabKernel
from ringside.profiles import Profile

# Everything of ours that a run goes through; documents and tests do not change one.
_OURS = (
    "tools/ringside",
    "tools/qemu",
    "selftests",
    "drivers/iotally",
    "drivers/quirks",
)
_SOURCES = (".py", ".c", ".h", ".S", ".sh", "")
_RESULT = "entry.json"
_KEPT = 400


@dataclass(frozen=True)
class Runs:
    """Of one version under one load: the bench's entry, and the ledger's if there is one."""

    bench: dict[str, Any]
    ledger: dict[str, Any] | None


@functools.cache
def _tool_hash() -> str:
    parts = []
    for folder in _OURS:
        for path in sorted((builds.TREE / folder).rglob("*")):
            if path.is_file() and path.suffix in _SOURCES:
                parts.append(f"{path.relative_to(builds.TREE)} {cache.file_hash(path)}")
    return cache.key_of(*parts)


def _kept(kind: str, kernel: LabKernel, task: Task) -> dict[str, Any]:
    """The entry of a task, from the cache if it was measured before.

    Entries that could not be measured are not kept: the reason may be gone.
    """
    modules = [
        f"{name} {cache.file_hash(path)}" for name, path in kernel.replaced.items()
    ]
    key = cache.key_of(
        *(kind, kernel.key, task.profile.hash, repr(task.load), repr(task.settings)),
        *(json.dumps(task.cache_model), qemu.find().version_text, _tool_hash()),
        *modules,
    )

    def make(folder: Path) -> None:
        if kind == "ledger":
            entry = ledger.measure(kernel, task, lambda part: None)
        else:
            entry = bench.measure(kernel, task, lambda part: None)
        (folder / _RESULT).write_text(json.dumps(entry), encoding="utf-8")

    folder = cache.once("compare", key, make)
    text = (folder / _RESULT).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    if found["status"] == "error":
        (folder / _RESULT).unlink()
    return found


def measure(
    profile: Profile, loads: Sequence[Load], sides: Sequence[Built]
) -> list[list[Runs]]:
    """Runs by side and load; sides take turns, and a result that is kept is taken."""
    wanted: list[tuple[str, LabKernel, Task]] = []
    for load in loads:
        for side in sides:
            task = Task(profile, load, 1, bench.DEFAULT_CACHE)
            wanted.append(("bench", side.plain, task))
            if side.counted:
                wanted.append(
                    ("ledger", side.counted, ledger.counted(task, "none", False))
                )
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        entries = list(pool.map(lambda one: _kept(*one), wanted))
    cache.prune("compare", _KEPT)
    found: list[list[Runs]] = [[] for _ in sides]
    queue = iter(entries)
    for _ in loads:
        for number, side in enumerate(sides):
            plain = next(queue)
            found[number].append(Runs(plain, next(queue) if side.counted else None))
    return found
