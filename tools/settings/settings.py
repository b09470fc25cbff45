# SPDX-License-Identifier: GPL-2.0-only
"""Measures the reference driver in each setting, beside the in-tree drivers of its chips.

Writes the tables of docs/reference-driver.md: `make settings`.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ringside import bench, builds, cache, profiles
from ringside.errors import CannotMeasure
from ringside.lab import kernel
from ringside.report import pages

_PAGE = builds.TREE / "docs/reference-driver.md"
_LOAD = bench.Load(20000, 60, 2000, "rx")
# Kinds of the cache that a measurement only reads or adds to.
_SHARED = ("kernels", "headers", "qemu", "checkpatch", "builds", "modules", "symbols")

# The reference driver's profile of a chip, by the in-tree driver's.
_CHIPS = {
    "8139cp": "ringside-8139cp",
    "8139too": "ringside-8139too",
    "e1000": "ringside-e1000",
    "e1000e": "ringside-82574",
    "tulip": "ringside-tulip",
}

# Private flags that differ from the driver's defaults, by the setting's name.
_LEAN = {"rx-page-pool": True, "gro": False}
_SETTINGS: dict[str, dict[str, bool]] = {
    "napi": {},
    "napi, readback": {"mask-readback": True},
    "napi, map": {"rx-map": True},
    "napi, page pool": {"rx-page-pool": True},
    "napi, page pool, no GRO": _LEAN,
    "napi, copy, no GRO": {"rx-copy": True, "gro": False},
    "napi, port I/O": {"port-io": True},
    "irq": {"napi": False},
    "irq, work loop": {"napi": False, "work-loop": True},
    "irq, auto-mask": {"napi": False, "auto-mask": True},
    "napi, page pool, no GRO, auto-mask": _LEAN | {"auto-mask": True},
    "napi, page pool, no GRO, mitigation": _LEAN | {"mitigation": True},
    "napi, page pool, no GRO, auto-mask, mitigation": _LEAN
    | {"auto-mask": True, "mitigation": True},
}
# The in-tree drivers whose chip has what a flag switches; others have it all.
# Where it is not the only scheme, rx-copy is what small frames get anyway.
_BUFFER_PER_FRAME = ("8139cp", "e1000", "e1000e", "tulip")
_CHIPS_WITH = {
    "rx-copy": ("8139too",),
    "rx-map": _BUFFER_PER_FRAME,
    "rx-page-pool": _BUFFER_PER_FRAME,
    "port-io": ("8139cp", "8139too", "tulip"),
    "mitigation": ("e1000", "e1000e"),
    "auto-mask": ("e1000e",),
}


@dataclass(frozen=True)
class Row:
    """What one setting costs; accesses are by memory and by port together."""

    name: str
    entry: dict[str, Any]

    def reads(self) -> float:
        """Register reads per packet."""
        figures = self.entry["per_packet"]
        return float(figures["mmio_reads"] + figures["port_reads"])

    def writes(self) -> float:
        """Register writes per packet."""
        figures = self.entry["per_packet"]
        return float(figures["mmio_writes"] + figures["port_writes"])

    def accesses(self) -> float:
        """Register accesses per packet."""
        return self.reads() + self.writes()

    def instructions(self) -> float:
        """Instructions per packet."""
        return float(self.entry["per_packet"]["instructions"])

    def cells(self, best: bool) -> str:
        """The row of the table."""
        figures = self.entry["per_packet"]
        name = f"**{self.name}**" if best else self.name
        words = [name, f"{self.reads():.2f}", f"{self.writes():.2f}"]
        words += [f"{figures['irqs']:.2f}", f"{figures['polls']:.2f}"]
        words += [f"{self.instructions():.0f}"]
        words += [f"{self.entry['delivered']}/{self.entry['sent']}"]
        return f"| {' | '.join(words)} |"


def best_of(rows: list[Row]) -> Row | None:
    """The setting with the fewest instructions among those that cost no more than rows[0]."""
    limit = rows[0]
    good = [
        row
        for row in rows[1:]
        if row.accesses() <= limit.accesses()
        and row.instructions() <= limit.instructions()
    ]
    return min(good, key=Row.instructions) if good else None


@contextmanager
def _own_cache() -> Iterator[None]:
    """A cache of its own, so that these many guests do not push out the bench's."""
    real = cache.root()
    with tempfile.TemporaryDirectory(prefix=".settings-", dir=real) as name:
        for kind in _SHARED:
            (real / kind).mkdir(parents=True, exist_ok=True)
            (Path(name) / kind).symlink_to(real / kind)
        os.environ["RINGSIDE_CACHE"] = name
        try:
            yield
        finally:
            os.environ["RINGSIDE_CACHE"] = str(real)


def wanted(chip: str, names: list[str]) -> dict[str, dict[str, bool]]:
    """The settings that a chip has, among those named; all for no names."""
    return {
        name: flags
        for name, flags in _SETTINGS.items()
        if (not names or name in names)
        and all(chip in _CHIPS_WITH.get(flag, (chip,)) for flag in flags)
    }


def _measure(
    lab_kernel: kernel.LabKernel, nic: str, name: str, flags: dict[str, bool]
) -> Row:
    (known,) = profiles.choose(nic)
    profile = replace(known, private_flags=flags)
    task = bench.Task(profile, _LOAD, 1, bench.DEFAULT_CACHE)
    entry = bench.measure(lab_kernel, task, lambda part: None)
    if entry["status"] != "pass":
        raise CannotMeasure(f"{nic}, {name}: {entry['error']}")
    print(f"{nic}: {name}", file=sys.stderr)
    return Row(name, entry)


def table(rows: list[Row]) -> str:
    """The table of one chip; the in-tree driver is the first row."""
    best = best_of(rows)
    lines = [
        "| setting | reads | writes | irqs | polls | instructions | delivered |",
        "|---|---|---|---|---|---|---|",
        *[row.cells(row == best) for row in rows],
    ]
    return "\n".join(lines) + "\n"


def measure(lab_kernel: kernel.LabKernel, chip: str, names: list[str]) -> str:
    """The table of a chip in the named settings, in all of them for no names."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = [
            pool.submit(_measure, lab_kernel, chip, f"in-tree {chip}", {}),
            *[
                pool.submit(_measure, lab_kernel, _CHIPS[chip], name, flags)
                for name, flags in wanted(chip, names).items()
            ],
        ]
        return table([future.result() for future in futures])


def main() -> None:
    """Measures chips into the page, or the settings that were named onto the terminal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chip", action="append", choices=_CHIPS, default=[])
    parser.add_argument("--setting", action="append", choices=_SETTINGS, default=[])
    arguments = parser.parse_args()
    lab_kernel = kernel.find(None)
    # One for all chips: where QEMU is, is looked up once.
    with _own_cache():
        for chip in arguments.chip or _CHIPS:
            text = measure(lab_kernel, chip, arguments.setting)
            if arguments.setting:
                print(text, end="")
                continue
            pages.write(_PAGE, f"settings {chip}", text)
            print(f"wrote the table of {chip} into {_PAGE.relative_to(builds.TREE)}")


if __name__ == "__main__":
    main()
