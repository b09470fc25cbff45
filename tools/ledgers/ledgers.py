# SPDX-License-Identifier: GPL-2.0-only
"""Ledgers of a driver side by side, by how it was built or loaded; and all cross-checks.

Writes the tables of docs/ledger.md: `make ledgers`.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ringside import bench, builds, ledger, profiles, session
from ringside.errors import EXIT_GOOD, EXIT_NOT_GOOD, CannotMeasure
from ringside.lab import counted, kernel, source
from ringside.lab.kernel import LabKernel
from ringside.profiles import Profile
from ringside.report import pages

_PAGE = builds.TREE / "docs/ledger.md"
_LOAD = bench.Load(20000, 60, 2000, "rx")
# Of the cross-checks of all profiles: rate in packets per second, size in bytes.
LOADS = tuple(
    bench.Load(rate, size, 2000, "rx")
    for rate in (20000, 100000)
    for size in (60, 1514)
)
# Has as modules what the lab's usual kernel has built in, and cannot be counted there.
_OTHER_SERIES = "6.1"


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


def kernel_for(profile: Profile) -> LabKernel:
    """The lab's kernel, unless it has built in what the profile wants counted."""
    usual = kernel.find(None)
    if counted.built_in_helpers(usual, profile):
        return kernel.find(_OTHER_SERIES)
    return usual


def cross_checked(profile: Profile) -> tuple[LabKernel, list[dict[str, Any]]]:
    """The kernel that was taken, and the entries of all LOADS."""
    lab_kernel = kernel_for(profile)
    recipe = counted.Recipe(source.find(lab_kernel, None))
    built = counted.build(lab_kernel, profile, recipe)
    tasks = [
        ledger.counted(bench.Task(profile, load, 1, bench.DEFAULT_CACHE), "none", False)
        for load in LOADS
    ]
    return lab_kernel, session.measure_all(built, tasks, ledger.measure)


def cell(entry: dict[str, Any]) -> str:
    """Accesses that both saw, by direction; or what is wrong."""
    if entry["status"] == "error":
        return f"not measured: {entry['error']}"
    rows = entry["cross_check"]
    if any(row["ledger"] != row["device"] for row in rows):
        sums = [str(sum(row[side] for row in rows)) for side in ("ledger", "device")]
        return f"DIFFERS: {sums[0]}, device {sums[1]}"
    reads, writes = (
        sum(row["ledger"] for row in rows if row["direction"] == direction)
        for direction in ("read", "write")
    )
    failed = [c["name"] for c in entry["checks"] if c["result"] == "fail"]
    return f"{reads} + {writes}" + (f" (failed: {', '.join(failed)})" if failed else "")


def agreement(
    found: Mapping[str, tuple[LabKernel, list[dict[str, Any]]]]
) -> tuple[str, bool]:
    """The table of all cross-checks, and whether every one of them holds."""
    heads = [f"{load.rate_pps // 1000} kpps, {load.size} B" for load in LOADS]
    lines = [
        f"| NIC | Linux | {' | '.join(heads)} |",
        "|---|---|" + "---|" * len(heads),
    ]
    for nic, (lab_kernel, entries) in found.items():
        cells = " | ".join(cell(entry).replace("|", "\\|") for entry in entries)
        lines.append(f"| {nic} | {lab_kernel.release} | {cells} |")
    entries = [entry for _, of_nic in found.values() for entry in of_nic]
    good = sum(entry["status"] == "pass" for entry in entries)
    lines += ["", f"{good} of {len(entries)} loads: ledger and device agree exactly."]
    return "\n".join(lines) + "\n", good == len(entries)


def main() -> int:
    """Measures the tables into the page; 1 when a ledger and its device do not agree."""
    lab_kernel = kernel.find(None)
    for nic, builds_of in TABLES.items():
        entries = {
            n: _measure(lab_kernel, nic, build) for n, build in builds_of.items()
        }
        pages.write(_PAGE, f"ledgers {nic}", table(entries))
        print(f"wrote the ledgers of {nic} into {_PAGE.relative_to(builds.TREE)}")
    found = {}
    for profile in profiles.all_profiles():
        found[profile.name] = cross_checked(profile)
        cells = [cell(entry) for entry in found[profile.name][1]]
        print(f"{profile.name}: {'; '.join(cells)}", flush=True)
    text, good = agreement(found)
    pages.write(_PAGE, "ledgers all", text)
    print(f"wrote the cross-checks into {_PAGE.relative_to(builds.TREE)}")
    return EXIT_GOOD if good else EXIT_NOT_GOOD


if __name__ == "__main__":
    sys.exit(main())
