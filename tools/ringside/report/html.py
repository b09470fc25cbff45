# SPDX-License-Identifier: GPL-2.0-only
"""Results as one page that works offline, on paper, on a phone and without colour."""

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ringside.groups import GROUPS
from ringside.report.figures import (
    ACCESSES,
    PER_PACKET,
    TOP_FUNCTIONS,
    Document,
    Run,
    by_instructions,
    cache_text,
    count_text,
    delivered_text,
    figure_text,
    load_text,
    notes,
    run_notes,
    several,
    short_number,
    total,
    visible,
)
from ringside.report.files import write_whole
from ringside.report.plots import Bar, Series, bar_plot, line_plot

_TEMPLATES = Path(__file__).parent / "templates"

_ACCESS_NAMES = ("memory reads", "memory writes", "port reads", "port writes")
_READS, _WRITES = ACCESSES[::2], ACCESSES[1::2]
_ONE_PART = ("all",)
_COSTS = {
    "instructions": "Instructions per packet",
    "l1d_misses": "L1d misses per packet",
    "l2_misses": "L2 misses per packet",
    "llc_misses": "Last-level misses per packet",
}


@dataclass(frozen=True)
class _Figure:
    """One plot with its caption."""

    caption: str
    svg: Markup


@dataclass(frozen=True)
class _Load:
    """The plots of all runs with frames of one size in one direction."""

    heading: str
    figures: Sequence[_Figure]


def write_html(document: Document, path: Path) -> None:
    """Write the page; UsageError or CannotMeasure when the path does not take it."""
    write_whole(path, page(document))


def page(document: Document) -> str:
    """Return the page; the same document always gives the same text."""
    runs = document["runs"]
    return (
        _environment()
        .get_template("bench.html")
        .render(
            document=document,
            environment=document["environment"],
            runs=runs,
            shared=[run for run in runs if _has_any(run["generator_per_packet"])],
            tally=_tally(runs),
            notes=list(notes(runs)),
            loads=_loads(runs),
            raw=_embedded(document),
        )
    )


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(
        cache=cache_text,
        count=count_text,
        delivered=delivered_text,
        load=load_text,
        measured=lambda run: _has_any(run["per_packet"]),
        notes=lambda run: list(run_notes(run)),
        polls=_polls,
        ranked=by_instructions,
        total=total,
    )
    environment.globals.update(
        figure=figure_text,
        per_packet=PER_PACKET,
        costs=list(_COSTS),
        top=TOP_FUNCTIONS,
    )
    return environment


def _shown(value: Any) -> Any:
    """Spell out control characters in all text but the page's own."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def _embedded(document: Document) -> Markup:
    """Return the document as JSON that no text in it can end early."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _tally(runs: Sequence[Run]) -> list[tuple[str, int]]:
    return [
        (status, sum(run["status"] == status for run in runs))
        for status in ("pass", "fail", "error")
    ]


def _has_any(per_packet: Run) -> bool:
    return any(value is not None for value in per_packet.values())


def _loads(runs: Sequence[Run]) -> list[_Load]:
    """Return the plots, apart for every direction and frame size."""
    loads: dict[str, list[Run]] = {}
    for run in runs:
        heading = f"{run['direction']}, {run['size']}-byte frames"
        loads.setdefault(heading, []).append(run)
    return [_Load(heading, _figures(heading, same)) for heading, same in loads.items()]


def _figures(load: str, runs: Sequence[Run]) -> list[_Figure]:
    over_rate = several(runs, "rate_pps")
    figures = _over_rate(load, runs) if over_rate else _at_one_rate(load, runs)
    for cost, caption in _COSTS.items():
        bars = [Bar(_bar_label(run, over_rate), _by_group(run, cost)) for run in runs]
        digits = 1 if cost == "instructions" else 2
        figures.append(_stacked(load, f"{caption}, by group", (bars, GROUPS), digits))
    # With every figure unknown the notes say why; an empty plot says nothing.
    return [figure for figure in figures if figure is not None]


def _over_rate(load: str, runs: Sequence[Run]) -> list[_Figure | None]:
    plots: dict[str, Callable[[Run], float | None]] = {
        "Packets per interrupt": _coalescing,
        "Register reads per packet": lambda run: _sum(run, _READS),
        "Register writes per packet": lambda run: _sum(run, _WRITES),
        _COSTS["instructions"]: lambda run: _sum(run, ["instructions"]),
    }
    return [
        _lines(load, f"{caption}, over rate", runs, figure)
        for caption, figure in plots.items()
    ]


def _lines(
    load: str, caption: str, runs: Sequence[Run], figure: Callable[[Run], float | None]
) -> _Figure | None:
    series: dict[str, list[tuple[float, float | None]]] = {}
    for run in sorted(runs, key=lambda run: int(run["rate_pps"])):
        point = (run["rate_pps"], figure(run))
        series.setdefault(_nic_label(run), []).append(point)
    lines = [Series(label, points) for label, points in series.items()]
    if all(value is None for line in lines for _, value in line.points):
        return None
    name = f"{caption}: {load}"
    svg = line_plot(name, lines, "offered rate, packets per second")
    return _Figure(caption, svg)


def _at_one_rate(load: str, runs: Sequence[Run]) -> list[_Figure | None]:
    coalescing = [Bar(_nic_label(run), _parts([_coalescing(run)])) for run in runs]
    accesses = [
        Bar(_nic_label(run), _parts([run["per_packet"][name] for name in ACCESSES]))
        for run in runs
    ]
    return [
        _stacked(load, "Packets per interrupt", (coalescing, _ONE_PART), 2),
        _stacked(load, "Register accesses per packet", (accesses, _ACCESS_NAMES), 2),
    ]


def _stacked(
    load: str, caption: str, bars: tuple[Sequence[Bar], Sequence[str]], digits: int
) -> _Figure | None:
    if all(bar.parts is None for bar in bars[0]):
        return None
    return _Figure(caption, bar_plot(f"{caption}: {load}", *bars, digits))


def _parts(values: Sequence[float | None]) -> list[float] | None:
    """Return the values, or None when one of them is not known."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _coalescing(run: Run) -> float | None:
    return run["packets_per_irq"]  # type: ignore[no-any-return]


def _sum(run: Run, names: Sequence[str]) -> float | None:
    parts = _parts([run["per_packet"][name] for name in names])
    return None if parts is None else sum(parts)


def _by_group(run: Run, cost: str) -> list[float] | None:
    """Return the cost of each of GROUPS, or None when any is not known."""
    if not run["groups"]:
        return None
    costs: dict[str, float | None] = dict.fromkeys(GROUPS, 0.0)
    costs.update((group["name"], group[cost]) for group in run["groups"])
    return _parts(list(costs.values()))


def _nic_label(run: Run) -> str:
    if run["driver"] == run["nic"]:
        return visible(run["nic"])
    return visible(f"{run['nic']} ({run['driver']})")


def _bar_label(run: Run, with_rate: bool) -> str:
    rate = f" {short_number(run['rate_pps'])}" if with_rate else ""
    return _nic_label(run) + rate


def _polls(run: Run) -> list[Run]:
    """Return the histogram of packets per poll by packets."""
    return sorted(run["packets_per_poll"], key=lambda entry: int(entry["packets"]))
