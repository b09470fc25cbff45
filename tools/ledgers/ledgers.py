# SPDX-License-Identifier: GPL-2.0-only
"""Ledgers of a driver side by side, by how it was built or loaded.

Writes the tables of docs/ledger.md: `make ledgers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ringside import bench, builds, ledger, profiles
from ringside.errors import CannotMeasure
from ringside.lab import counted, kernel, source
from ringside.report import pages

_PAGE = builds.TREE / "docs/ledger.md"
_LOAD = bench.Load(20000, 60, 2000, "rx")


@dataclass(frozen=True)
class Build:
    """How a driver is built and loaded, besides as the kernel's configuration says."""

    options: Mapping[str, bool] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


# The tables by NIC, and their columns by heading.
TABLES: Mapping[str, Mapping[str, Build]] = {
    "tulip": {
        "NAPI, port": Build({"TULIP_NAPI": True, "TULIP_MMIO": False}),
        "NAPI, memory": Build({"TULIP_NAPI": True, "TULIP_MMIO": True}),
        "no NAPI, port": Build({"TULIP_NAPI": False, "TULIP_MMIO": False}),
        "no NAPI, memory": Build({"TULIP_NAPI": False, "TULIP_MMIO": True}),
    },
    "8139too": {
        "use_io=0": Build(parameters={"use_io": "0"}),
        "use_io=1": Build(parameters={"use_io": "1"}),
    },
}
# Lines that are the same register access in all builds differ in none of these.
_Line = tuple[str, str, str, str]


def _measure(lab_kernel: kernel.LabKernel, nic: str, build: Build) -> dict[str, Any]:
    (known,) = profiles.choose(nic)
    profile = replace(known, parameters=known.parameters | dict(build.parameters))
    recipe = counted.Recipe(source.find(lab_kernel, None), build.options)
    built = counted.build(lab_kernel, profile, recipe)
    plain = bench.Task(profile, _LOAD, 1, bench.DEFAULT_CACHE)
    task = ledger.counted(plain, "none", False)
    entry = ledger.measure(built, task, lambda part: None)
    if entry["status"] != "pass":
        raise CannotMeasure(f"{nic}: {entry['error']}")
    return entry


def by_line(entry: dict[str, Any]) -> dict[_Line, float]:
    """Accesses per packet of each line."""
    found: dict[_Line, float] = {}
    for site in entry["sites"]:
        place = f"{site['file']}:{site['line']}"
        key = (site["context"], place, site["op"], site["register"])
        found[key] = found.get(key, 0.0) + site["per_packet"]
    return {key: value for key, value in found.items() if value >= 0.005}


def _total(entry: dict[str, Any], space: str) -> float:
    return float(sum(s["per_packet"] for s in entry["sites"] if s["space"] == space))


def table(entries: Mapping[str, dict[str, Any]]) -> str:
    """The ledgers side by side; a line that a build lacks is left blank there."""
    columns = {name: by_line(entry) for name, entry in entries.items()}
    keys = sorted({key for column in columns.values() for key in column})
    lines = [f"| line | access | context | {' | '.join(columns)} |"]
    lines.append("|---|---|---|" + "---|" * len(columns))
    for key in keys:
        context, place, operation, register = key
        cells = [f"{c[key]:.2f}" if key in c else "" for c in columns.values()]
        access = f"`{operation}({register})`"
        lines.append(f"| {place} | {access} | {context} | {' | '.join(cells)} |")
    for space in ("mmio", "port"):
        totals = [f"**{_total(entry, space):.2f}**" for entry in entries.values()]
        lines.append(f"| **all by {space}** | | | {' | '.join(totals)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures the tables into the page."""
    lab_kernel = kernel.find(None)
    for nic, builds_of in TABLES.items():
        entries = {
            n: _measure(lab_kernel, nic, build) for n, build in builds_of.items()
        }
        pages.write(_PAGE, f"ledgers {nic}", table(entries))
        print(f"wrote the ledgers of {nic} into {_PAGE.relative_to(builds.TREE)}")


if __name__ == "__main__":
    main()
