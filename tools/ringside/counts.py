# SPDX-License-Identifier: GPL-2.0-only
"""From the counts of runs to figures per packet, with the checks that make them trusted."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ringside import groups
from ringside.lab.run import Outcome
from ringside.lab.snapshot import BarRange, Snapshot
from ringside.profiles import Profile

PORT = "port0"
GENERATOR = "gen0"

PER_PACKET = (
    "mmio_reads",
    "mmio_writes",
    "port_reads",
    "port_writes",
    "irqs",
    "polls",
    "instructions",
    "l1d_misses",
    "l2_misses",
    "llc_misses",
)
_MISSES = ("l1d_misses", "l2_misses", "llc_misses")

Functions = dict[tuple[str, str], Counter[str]]


@dataclass(frozen=True, order=True)
class Region:
    """A region of the port under test, as one of its BARs shows it."""

    name: str
    space: str
    bar: int


@dataclass
class Counts:
    """Totals of one window, for the port under test unless said otherwise."""

    regions: dict[Region, Counter[str]] = field(default_factory=dict)
    irqs: int = 0
    polls: int = 0
    packets_per_poll: Counter[int] = field(default_factory=Counter)
    functions: Functions = field(default_factory=dict)

    def total(self, key: str) -> int:
        """Sum of an access count or of a column of the functions."""
        if key in ("irqs", "polls"):
            return int(getattr(self, key))
        if key in PER_PACKET[:4]:
            space, _, what = key.partition("_")
            return sum(c[what] for r, c in self.regions.items() if r.space == space)
        return sum(columns[key] for columns in self.functions.values())


def plugin_mmio(window: dict[str, Any], bar: BarRange) -> tuple[int, int]:
    """Reads and writes that the plugin saw on the pages of a BAR."""
    reads = writes = 0
    for page in window["mmio"]:
        if (
            bar.start <= (int(page["phys"], 16) | 0xFFF)
            and int(page["phys"], 16) < bar.start + bar.length
        ):
            reads += page["reads"]
            writes += page["writes"]
    return reads, writes


def regions(
    snapshot: Snapshot, profile: Profile, outcome: Outcome
) -> dict[Region, Counter[str]]:
    """Device truth by region; where two BARs show one region, the plugin tells them apart."""
    found = {
        Region(r["name"], r["space"], r["bar"]): Counter(
            reads=r["reads"], writes=r["writes"]
        )
        for r in outcome.regions
        if r["port"] == PORT
    }
    ranges = {bar.index: bar for bar in snapshot.bars if bar.port == PORT}
    for bar in profile.bars:
        if bar.alias_of is None or bar.index not in ranges or not outcome.window:
            continue
        reads, writes = plugin_mmio(outcome.window, ranges[bar.index])
        for region in [r for r in found if r.bar == bar.alias_of]:
            shown = Region(region.name, bar.space, bar.index)
            found[shown] = Counter(reads=reads, writes=writes)
            found[region].subtract(found[shown])
    return {
        region: columns for region, columns in found.items() if any(columns.values())
    }


def _functions(window: dict[str, Any]) -> Functions:
    functions: Functions = {}
    for entry in window["functions"]:
        if entry["instructions"] is None:
            continue
        key = (entry["module"] or "", entry["name"])
        columns = functions.setdefault(key, Counter())
        columns["instructions"] += entry["instructions"]
        for miss in _MISSES:
            columns[miss] += entry[miss] or 0
    return functions


def port_interrupts(outcome: Outcome, lines: frozenset[str]) -> int:
    """Interrupts on those lines, from /proc/interrupts."""
    total = 0
    for value in outcome.values("irq"):
        line, risen, _ = value.split(":", 2)
        if line in lines:
            total += int(risen)
    return total


def count(snapshot: Snapshot, profile: Profile, outcome: Outcome) -> Counts:
    """The window's totals."""
    assert outcome.window is not None
    counts = Counts(
        regions=regions(snapshot, profile, outcome),
        irqs=port_interrupts(outcome, snapshot.irqs[PORT]),
        functions=_functions(outcome.window),
    )
    for poll in outcome.window["polls"]:
        if poll["napi"] and snapshot.napi.get(int(poll["napi"], 16)) == PORT:
            counts.polls += poll["polls"]
            for packets, times in poll["packets"]:
                counts.packets_per_poll[packets] += times
    return counts


_Key = TypeVar("_Key")


def _less(
    left: dict[_Key, Counter[str]], right: dict[_Key, Counter[str]], key: _Key
) -> Counter[str]:
    """Columns of an entry of left without those of the same entry of right."""
    columns = Counter(left.get(key, Counter()))
    columns.subtract(right.get(key, Counter()))
    return columns


def minus(left: Counts, right: Counts) -> Counts:
    """left without right, each figure on its own."""
    result = Counts(irqs=left.irqs - right.irqs, polls=left.polls - right.polls)
    for region in sorted(left.regions.keys() | right.regions.keys()):
        result.regions[region] = _less(left.regions, right.regions, region)
    result.packets_per_poll = Counter(left.packets_per_poll)
    result.packets_per_poll.subtract(right.packets_per_poll)
    for key in left.functions.keys() | right.functions.keys():
        result.functions[key] = _less(left.functions, right.functions, key)
    return result


def _rounded(value: float) -> float:
    return round(value, 6) + 0.0


def per_packet(counts: Counts, packets: int) -> dict[str, float]:
    """Each figure divided by the packets."""
    return {key: _rounded(counts.total(key) / packets) for key in PER_PACKET}


def regions_table(counts: Counts, packets: int) -> list[dict[str, Any]]:
    """runs[].regions of the result."""
    return [
        {
            "name": region.name,
            "space": region.space,
            "bar": region.bar,
            "reads": columns["reads"],
            "writes": columns["writes"],
            "reads_per_packet": _rounded(columns["reads"] / packets),
            "writes_per_packet": _rounded(columns["writes"] / packets),
        }
        for region, columns in counts.regions.items()
    ]


def functions_table(
    counts: Counts, packets: int, modules: frozenset[str]
) -> list[dict[str, Any]]:
    """runs[].functions of the result: what is left per packet, dearest first."""
    rows = []
    for (module, name), columns in counts.functions.items():
        if any(columns.values()):
            row = {"name": name, "module": module or None}
            row["group"] = groups.group_of(module, name, modules)
            for key in ("instructions", *_MISSES):
                row[key] = _rounded(columns[key] / packets)  # type: ignore[assignment]
            rows.append(row)
    return sorted(rows, key=lambda row: (-float(row["instructions"] or 0), row["name"]))


def groups_table(functions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """runs[].groups of the result: the functions' sums."""
    counting = [g for g in groups.COUNTING if any(f["group"] == g for f in functions)]
    sums = {group: Counter[str]() for group in (*groups.GROUPS, *counting)}
    for row in functions:
        for key in ("instructions", *_MISSES):
            sums[row["group"]][key] += row[key]
    return [
        {"name": group, **{k: _rounded(columns[k]) for k in ("instructions", *_MISSES)}}
        for group, columns in sums.items()
    ]


def poll_histogram(counts: Counts) -> list[dict[str, int]]:
    """runs[].packets_per_poll of the result."""
    return [
        {"packets": packets, "polls": polls}
        for packets, polls in sorted(counts.packets_per_poll.items())
        if polls
    ]
