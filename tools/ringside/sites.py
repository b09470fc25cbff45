# SPDX-License-Identifier: GPL-2.0-only
"""The counts of a counted driver by line, as drivers/iotally lists them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ringside.counts import PORT
from ringside.errors import CannotMeasure
from ringside.lab.snapshot import BarRange

_FIRST = "# iotally 1"
_COLUMNS = (
    *("module", "file", "line", "function", "operation", "space", "direction"),
    *("address", "register", "context", "count", "bytes"),
)
CONTEXTS = ("irq", "poll", "transmit", "timer", "control")
# Context of a site that has no count.
_NEVER = "-"
_ESCAPES = {r"\t": "\t", r"\n": "\n", r"\\": "\\"}
_NUMBER = re.compile(r"[0-9]{1,19}")
_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}|0")


@dataclass(frozen=True, order=True)
class Site:
    """A place of the source, in one context and behind one BAR (None: not the port's)."""

    context: str
    module: str
    file: str
    line: int
    function: str
    operation: str
    register: str
    space: str
    direction: str
    bar: int | None = None


# A place of the source whatever ran it: module, file, line, function, operation,
# direction, register.
Place = tuple[str, str, int, str, str, str, str]

NO_IRQ = "no interrupt of the port in the window"


def place_of(site: Site) -> Place:
    """The place that a site is at."""
    return (
        *(site.module, site.file, site.line, site.function),
        *(site.operation, site.direction, site.register),
    )


@dataclass(frozen=True)
class Per:
    """What counts are divided by: packets, and the port's interrupts."""

    packets: int
    irqs: int


@dataclass(frozen=True)
class Listing:
    """Counts of all sites that have some, and how many places the driver has in all."""

    counts: dict[Site, int]
    places: int


def _unescaped(text: str) -> str:
    return re.sub(r"\\[tn\\]", lambda match: _ESCAPES[match[0]], text)


def _wrong(number: int, why: str) -> CannotMeasure:
    return CannotMeasure(f"the counts by line arrived damaged: line {number}: {why}")


def _bar(bars: Iterable[BarRange], space: str, address: str) -> int | None:
    if not _ADDRESS.fullmatch(address):
        return None
    value = int(address, 16)
    for bar in bars:
        if bar.port == PORT and bar.space == space:
            if bar.start <= value < bar.start + bar.length:
                return bar.index
    return None


def _row(number: int, line: str) -> dict[str, str]:
    words = line.split("\t")
    if len(words) != len(_COLUMNS):
        raise _wrong(number, f"{len(words)} columns, not {len(_COLUMNS)}")
    row = dict(zip(_COLUMNS, words))
    for name in ("line", "count", "bytes"):
        if not _NUMBER.fullmatch(row[name]):
            raise _wrong(number, f"{name} is no number")
    if row["address"] != _NEVER and not _ADDRESS.fullmatch(row["address"]):
        raise _wrong(number, "address is no number")
    allowed = {
        "space": ("mmio", "port", "config"),
        "direction": ("read", "write"),
        "context": (*CONTEXTS, _NEVER),
    }
    for name, known in allowed.items():
        if row[name] not in known:
            raise _wrong(number, f"{name} is none of {', '.join(known)}")
    return row


def parse(text: str, bars: Iterable[BarRange]) -> Listing:
    """The listing; what is not one raises CannotMeasure and names the line.

    The same place may come more than once (a header that several files use).
    """
    lines = text.split("\n")
    if lines[0] != _FIRST or lines[-1] != "":
        raise _wrong(1, f"it does not begin with '{_FIRST}' or does not end")
    if lines[1] != "# " + "\t".join(_COLUMNS):
        raise _wrong(2, "the columns are not those that were agreed")
    bars = list(bars)
    counts: dict[Site, int] = {}
    places = set()
    for number, line in enumerate(lines[2:-1], 3):
        row = _row(number, line)
        place = (row["module"], row["file"], row["line"], row["operation"])
        places.add((*place, row["register"]))
        if row["context"] == _NEVER or row["count"] == "0":
            continue
        site = Site(
            context=row["context"],
            module=row["module"],
            file=_unescaped(row["file"]),
            line=int(row["line"]),
            function=row["function"],
            operation=row["operation"],
            register=_unescaped(row["register"]),
            space=row["space"],
            direction=row["direction"],
            bar=_bar(bars, row["space"], row["address"]),
        )
        counts[site] = counts.get(site, 0) + int(row["count"])
    return Listing(counts, len(places))


_TIMES_FIRST = "# iotally-histograms 1"
_TIMES_COLUMNS = (
    *("module", "file", "line", "function", "operation", "direction", "register"),
    *("calls", "median_ns", "cycles"),
)


def parse_times(text: str) -> dict[Place, float]:
    """Median ns of a call by place, from the counter's file histograms.

    What is not such a file raises CannotMeasure and names the line. A place that
    several files have (an inline of a header) gets the time of the one called most.
    """
    lines = text.split("\n")
    if lines[0] != _TIMES_FIRST or lines[-1] != "":
        raise _wrong(1, f"it does not begin with '{_TIMES_FIRST}' or does not end")
    if lines[1] != "# " + "\t".join(_TIMES_COLUMNS):
        raise _wrong(2, "the columns are not those that were agreed")
    found: dict[Place, float] = {}
    most: dict[Place, int] = {}
    for number, line in enumerate(lines[2:-1], 3):
        words = line.split("\t")
        if len(words) != len(_TIMES_COLUMNS):
            raise _wrong(number, f"{len(words)} columns, not {len(_TIMES_COLUMNS)}")
        row = dict(zip(_TIMES_COLUMNS, words))
        for name in ("line", "calls"):
            if not _NUMBER.fullmatch(row[name]):
                raise _wrong(number, f"{name} is no number")
        if row["median_ns"] == _NEVER:
            continue
        if not _NUMBER.fullmatch(row["median_ns"]):
            raise _wrong(number, "median_ns is no number")
        place = (
            *(row["module"], _unescaped(row["file"]), int(row["line"])),
            *(row["function"], row["operation"], row["direction"]),
            _unescaped(row["register"]),
        )
        calls = int(row["calls"])
        if calls > most.get(place, 0):
            most[place], found[place] = calls, float(row["median_ns"])
    return found


def result_rows(
    port: Mapping[Site, int],
    rest: Mapping[Site, int],
    per: Per,
    times: Mapping[Place, float],
) -> list[dict[str, Any]]:
    """runs[].sites of a result, dearest first: counts of the port's run and of the rest.

    @times is empty where an access takes no time of its own.
    """

    def cost(site: Site) -> int:
        return port.get(site, 0) - rest.get(site, 0)

    return [
        {
            "module": site.module,
            "file": site.file,
            "line": site.line,
            "function": site.function,
            "op": site.operation,
            "register": site.register,
            "context": site.context,
            "space": site.space,
            "bar": site.bar,
            "direction": site.direction,
            "count": port.get(site, 0),
            "idle_count": rest.get(site, 0),
            "per_packet": round(cost(site) / per.packets, 6) + 0.0,
            "per_irq": (
                round(cost(site) / per.irqs, 6) + 0.0 if per.irqs > 0 else None
            ),
            "ns_median": times.get(place_of(site)),
        }
        for site in sorted(
            port.keys() | rest.keys(), key=lambda site: (-cost(site), repr(site))
        )
    ]
