# SPDX-License-Identifier: GPL-2.0-only
"""Base against head, metric by metric: same, better, worse or unknown.

Counts of virtual time are exact and are compared exactly. Two of them depend on where
code and data lie as well as on what is done, and need a smallest effect: instructions of
the kernel around the driver, and modelled cache misses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SAME, BETTER, WORSE, UNKNOWN = "same", "better", "worse", "unknown"

_EXACT = ("mmio_reads", "mmio_writes", "port_reads", "port_writes", "irqs", "polls")
_MISSES = ("l1d_misses", "l2_misses", "llc_misses")
DRIVER = "instructions_driver"
REST = "instructions_rest"
# Of the driver's own instructions per packet: half of one is no work that was added.
_DRIVER_LEAST = 0.5
# A snapshot made anew moves the kernel's by up to a quarter of a percent.
_REST_SHARE = 0.005
# Page placement moves first-level misses by up to a fifth.
_MISSES_SHARE, _MISSES_LEAST = 0.25, 1.0
# Results have six digits.
_ROUNDING = 5e-7
# A function that moved by less did not change.
_FUNCTION_LEAST = 0.05


@dataclass(frozen=True)
class Metric:
    """One figure per packet of both versions; all of these cost, so less is better."""

    name: str
    base: float | None
    head: float | None
    verdict: str
    reason: str = ""

    def delta(self) -> float | None:
        """Head less base."""
        if self.base is None or self.head is None:
            return None
        return round(self.head - self.base, 6)


def _judged(name: str, base: float | None, head: float | None, least: float) -> Metric:
    if base is None and head is None:
        return Metric(name, None, None, SAME, "neither version has it")
    if base is None or head is None:
        return Metric(name, base, head, UNKNOWN, "only one version has it")
    delta = head - base
    if abs(delta) <= least:
        return Metric(name, base, head, SAME)
    return Metric(name, base, head, WORSE if delta > 0 else BETTER)


def _group(entry: Mapping[str, Any], name: str) -> float:
    found = [g["instructions"] for g in entry["groups"] if g["name"] == name]
    return float(found[0] or 0.0) if found else 0.0


def metrics(base: Mapping[str, Any], head: Mapping[str, Any]) -> list[Metric]:
    """Of two entries of a bench under the same load."""
    before, after = base["per_packet"], head["per_packet"]
    found = [_judged(name, before[name], after[name], _ROUNDING) for name in _EXACT]
    own = [_group(entry, "driver") for entry in (base, head)]
    found.append(_judged(DRIVER, own[0], own[1], _DRIVER_LEAST))
    if before["instructions"] is not None and after["instructions"] is not None:
        rest = [
            round(entry["per_packet"]["instructions"] - part, 6)
            for entry, part in zip((base, head), own)
        ]
        found.append(_judged(REST, rest[0], rest[1], _REST_SHARE * abs(rest[0])))
    for name in _MISSES:
        least = max(_MISSES_LEAST, _MISSES_SHARE * abs(before[name] or 0.0))
        found.append(_judged(name, before[name], after[name], least))
    return found


def overall(found: Sequence[str]) -> str:
    """The verdict of many: what is worse anywhere is worse."""
    for verdict in (WORSE, UNKNOWN, BETTER):
        if verdict in found:
            return verdict
    return SAME


@dataclass(frozen=True)
class Change:
    """A function, or a line that accesses a register, whose cost per packet changed."""

    what: str
    kind: str
    base: float
    head: float
    source: str = ""

    def verdict(self) -> str:
        """More is worse."""
        return WORSE if self.head > self.base else BETTER


def _kind(base: float, head: float) -> str:
    if not base:
        return "new"
    if not head:
        return "gone"
    return "hotter" if head > base else "cooler"


def functions(base: Mapping[str, Any], head: Mapping[str, Any]) -> list[Change]:
    """The driver's functions whose instructions per packet changed, most first."""
    tables = [
        {
            f["name"]: float(f["instructions"] or 0.0)
            for f in entry["functions"]
            if f["group"] == "driver"
        }
        for entry in (base, head)
    ]
    found = []
    for name in sorted(tables[0].keys() | tables[1].keys()):
        before, after = (table.get(name, 0.0) for table in tables)
        if abs(after - before) >= _FUNCTION_LEAST:
            found.append(Change(name, _kind(before, after), before, after))
    return sorted(found, key=lambda c: -abs(c.head - c.base))


# File, line.
_Place = tuple[str, int]
# What a site is besides its line: context, function, operation, register, direction.
_Access = tuple[str, str, str, str, str]
_Costs = dict[tuple[_Place, _Access], float]


@dataclass(frozen=True)
class Line:
    """A line of a version, for its text."""

    file: str
    number: int
    of_head: bool


def _costs(entry: Mapping[str, Any], moved: Mapping[_Place, int]) -> _Costs:
    """Accesses per packet by place; a place that moved is named by where it went."""
    found: _Costs = {}
    for site in entry["sites"]:
        place = (site["file"], site["line"])
        place = (place[0], moved.get(place, place[1]))
        access = (
            *(site["context"], site["function"], site["op"]),
            *(site["register"], site["direction"]),
        )
        cost = found.get((place, access), 0.0) + float(site["per_packet"])
        found[place, access] = cost
    return found


def _rewritten(old: _Costs, new: _Costs) -> None:
    """Takes out what is on another line and costs the same: a line that was rewritten."""
    for (place, access), cost in sorted(old.items()):
        for other, there in sorted(new.items()):
            if (other[0][0], other[1]) != (place[0], access):
                continue
            if abs(there - cost) < _ROUNDING:
                del old[place, access], new[other]
                break


def lines(
    base: Mapping[str, Any],
    head: Mapping[str, Any],
    moved: Mapping[_Place, int | None],
) -> list[tuple[Change, Line]]:
    """Lines that are new, gone, hotter or cooler; those that only moved are none.

    @moved says where each line of base is in head, None where it is there no more;
    a line that it does not know is where it was.
    """
    where = {place: n for place, n in moved.items() if n is not None}
    # A line that is gone must not meet the one that has its number now.
    where |= {place: -place[1] for place, n in moved.items() if n is None}
    before, after = _costs(base, where), _costs(head, {})
    old = {key: cost for key, cost in before.items() if key not in after}
    new = {key: cost for key, cost in after.items() if key not in before}
    _rewritten(old, new)
    found = []
    for key in sorted((before.keys() & after.keys()) | old.keys() | new.keys()):
        costs = (before.get(key, 0.0), after.get(key, 0.0))
        if abs(costs[1] - costs[0]) >= _ROUNDING:
            found.append((_change_of(key, costs), _line_of(key, key in after)))
    return sorted(found, key=lambda pair: -abs(pair[0].head - pair[0].base))


def _line_of(key: tuple[_Place, _Access], of_head: bool) -> Line:
    file, number = key[0]
    return Line(file, abs(number), of_head)


def _change_of(key: tuple[_Place, _Access], costs: tuple[float, float]) -> Change:
    file, number = key[0]
    context, function, operation, register, _ = key[1]
    what = f"{file}:{abs(number)} {function}: {operation}({register}) in {context}"
    return Change(what, _kind(*costs), *costs)
