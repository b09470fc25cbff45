# SPDX-License-Identifier: GPL-2.0-only
"""The static list: register accesses in the interrupt and poll path, read from object code."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringside import bench, cache, ledger, object_code
from ringside.errors import CannotMeasure, UsageError, shortened
from ringside.lab.counted import COUNTER
from ringside.lab.kernel import LabKernel, module_image
from ringside.object_code import Code
from ringside.profiles import Profile

_NOTHING_RAN = "static list: nothing was run"
_INLINE = (
    "read from a module that is not counted: readl(), writel() and the like are plain"
    " mov instructions there and are not in this list"
)
_NO_LINE = "the module's object code does not tell"
_GUESSED = "handlers were found by their names, no registration shows them"
_INDIRECT = "calls by a pointer are not followed"
_COUNTS = ("count", "idle_count", "per_packet", "per_irq", "ns_median")


def _reached(code: Code, context: str) -> dict[str, str]:
    """Functions that a handler reaches by calls, and the shortest way to each."""
    ways = {name: name for name in sorted(code.handlers[context])}
    queue = deque(ways)
    while queue:
        name = queue.popleft()
        for called in sorted(code.functions[name].calls):
            if called not in ways and called in code.functions:
                ways[called] = f"{ways[name]} > {called}"
                queue.append(called)
    return ways


def _rows(module: str, code: Code) -> Iterator[dict[str, Any]]:
    for context in ("irq", "poll"):
        for name, way in _reached(code, context).items():
            accesses = code.functions[name].accesses
            for access in sorted(accesses, key=lambda a: (a.file or "", a.line or 0)):
                yield {
                    "module": module,
                    "file": access.file,
                    "line": access.line,
                    "function": name,
                    "op": access.operation,
                    "register": access.register,
                    "context": context,
                    "space": access.space,
                    "bar": None,
                    "direction": access.direction,
                    **dict.fromkeys(_COUNTS),
                    "reached_by": way,
                }


def _read(path: Path) -> Code:
    try:
        return object_code.read(module_image(path))
    except ValueError as error:
        raise UsageError(
            f"{shortened(str(path), 160)} is no kernel module for x86-64"
            f" ({shortened(str(error))})"
        ) from error


def _entry(
    kernel: LabKernel, profile: Profile, files: dict[str, Path]
) -> dict[str, Any]:
    """The entry of these modules together."""
    codes = {name: _read(path) for name, path in files.items()}
    names = ", ".join(sorted(codes))
    places = sum(len(f.accesses) for c in codes.values() for f in c.functions.values())
    if not places:
        raise CannotMeasure(
            f"no site in {names} that object code shows: an inline readl() is no call,"
            " drivers/iotally/build makes a module that tells"
        )
    if not any(found for c in codes.values() for found in c.handlers.values()):
        raise CannotMeasure(f"no interrupt handler and no poll function in {names}")
    task = bench.Task(profile, bench.Load(1, 60, 1, "rx"), 0, bench.DEFAULT_CACHE)
    entry = bench.unmeasured(kernel, task, CannotMeasure(_NOTHING_RAN), "pass")
    entry = ledger.unlisted(entry, static=True)
    whole = all(code.counted for code in codes.values())
    notes = [_INDIRECT, *([] if whole else [_INLINE])]
    if any(code.guessed for code in codes.values()):
        notes.append(_GUESSED)
    entry["reasons"] |= dict.fromkeys(_COUNTS, _NOTHING_RAN)
    entry["reasons"] |= {"sites": "; ".join(notes)}
    if not whole:
        entry["reasons"] |= dict.fromkeys(("file", "line", "register"), _NO_LINE)
    rows = [row for name in sorted(codes) for row in _rows(name, codes[name])]
    return entry | {"error": None, "places": places, "sites": rows}


def of_nic(kernel: LabKernel, profile: Profile) -> dict[str, Any]:
    """The entry of a NIC whose driver the kernel has counted."""
    files = {n: path for n, path in kernel.replaced.items() if n != COUNTER}
    return _entry(kernel, profile, files)


def of_file(kernel: LabKernel, path: Path) -> dict[str, Any]:
    """The entry of one module by itself."""
    if not path.is_file():
        raise UsageError(f"--module {shortened(str(path), 160)}: no such file")
    name = path.name.split(".ko")[0].replace("-", "_")
    alone = Profile(name, name, name, str(path), "none", (), cache.file_hash(path))
    return _entry(replace(kernel, replaced={name: path}), alone, {name: path})
