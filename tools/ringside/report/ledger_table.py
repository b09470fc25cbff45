# SPDX-License-Identifier: GPL-2.0-only
"""A ledger on the terminal: sites by cost, totals by context, the cross-check."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from ringside.report.figures import (
    Document,
    Run,
    count_text,
    environment_text,
    figure_text,
    load_text,
    run_notes,
)
from ringside.report.table import Column, check_columns, show, show_lines
from ringside.sites import CONTEXTS

_LONGEST_REGISTER = 40


def render(document: Document, console: Console) -> None:
    """Print each run's sites and checks, then the environment."""
    for run in document["runs"]:
        if run["static"]:
            _show_static(console, run)
        else:
            _show_measured(console, run)
    environment = document["environment"]
    line = f"Driver from {environment['source']}; bus {environment['bus']}"
    show_lines(console, [line, environment_text(document)])


def _place(site: Run) -> str:
    return "-" if site["file"] is None else f"{site['file']}:{site['line']}"


def _register(site: Run) -> str:
    text = site["register"] or "-"
    if len(text) <= _LONGEST_REGISTER:
        return text
    return text[: _LONGEST_REGISTER - 3] + "..."


def _common(sites: Sequence[Run]) -> list[Column]:
    return [
        Column("context", [site["context"] for site in sites], left=True),
        Column("line", [_place(site) for site in sites], left=True),
        Column("function", [site["function"] for site in sites], left=True),
        Column("op", [site["op"] for site in sites], left=True),
        Column("register", [_register(site) for site in sites], left=True),
    ]


def _show_measured(console: Console, run: Run) -> None:
    show_lines(console, [load_text(run), *run_notes(run)])
    sites = run["sites"]
    if sites:
        columns = [
            *_common(sites),
            Column("space", [site["space"] for site in sites], left=True),
            Column("bar", [count_text(site["bar"]) for site in sites]),
            *_figures(sites),
            Column("count", [str(site["count"]) for site in sites]),
            Column("idle", [str(site["idle_count"]) for site in sites]),
            *_times(sites),
        ]
        show(console, "Register accesses by line, dearest first", columns)
        show(console, "By context", _totals(sites))
        if run["counting_instructions"] is not None:
            show_lines(console, list(_waits(run)))
    if run["cross_check"]:
        show(console, "Ledger against device truth", _cross_check(run["cross_check"]))
    if run["checks"]:
        show(console, "Checks", check_columns(run))
    show_lines(console, run["log_excerpt"])


def _waits(run: Run) -> Iterator[str]:
    """What virtual time shows beside the driver's cost."""
    counting = figure_text("instructions", run["counting_instructions"])
    yield f"Counting itself: {counting} instructions per packet, not in the driver's cost"
    waiting = figure_text("instructions", run["bus_wait_instructions"])
    yield f"Waiting for the bus: {waiting} ns per packet"


def _times(sites: Sequence[Run]) -> list[Column]:
    """Where accesses have a time: that of one, and of those that a packet needs."""
    if all(site["ns_median"] is None for site in sites):
        return []
    per_packet = [
        None if site["ns_median"] is None else site["ns_median"] * site["per_packet"]
        for site in sites
    ]
    return [
        Column("ns", [figure_text("instructions", s["ns_median"]) for s in sites]),
        Column("ns per packet", [figure_text("instructions", n) for n in per_packet]),
    ]


def _figures(entries: Sequence[Run]) -> list[Column]:
    return [
        Column(heading, [figure_text(name, entry[name]) for entry in entries])
        for heading, name in (("per packet", "per_packet"), ("per irq", "per_irq"))
    ]


def _total(sites: Sequence[Run], name: str) -> float | None:
    figures = [site[name] for site in sites]
    return None if None in figures else sum(figures)


def _totals(sites: Sequence[Run]) -> list[Column]:
    """Reads and writes of each context, then of all."""
    rows: list[dict[str, Any]] = []
    for context in (*CONTEXTS, "all"):
        for direction in ("read", "write"):
            chosen = [
                site
                for site in sites
                if context in (site["context"], "all")
                and site["direction"] == direction
                and site["space"] != "config"
            ]
            if chosen:
                figures = {n: _total(chosen, n) for n in ("per_packet", "per_irq")}
                rows.append({"context": context, "direction": direction, **figures})
    return [
        Column("context", [row["context"] for row in rows], left=True),
        Column("direction", [row["direction"] for row in rows], left=True),
        *_figures(rows),
    ]


def _cross_check(rows: Sequence[Run]) -> list[Column]:
    verdicts = ["same" if r["ledger"] == r["device"] else "DIFFERS" for r in rows]
    return [
        Column("bar", [str(row["bar"]) for row in rows]),
        Column("space", [row["space"] for row in rows], left=True),
        Column("direction", [row["direction"] for row in rows], left=True),
        Column("ledger", [str(row["ledger"]) for row in rows]),
        Column("device", [str(row["device"]) for row in rows]),
        Column("", verdicts, left=True),
        Column("why", [row["explanation"] for row in rows], left=True),
    ]


def _show_static(console: Console, run: Run) -> None:
    sites = run["sites"]
    title = f"{run['nic']}: static list, nothing was run: {run['driver']}"
    show_lines(console, [title, run["reasons"]["sites"]])
    if sites:
        columns = [
            *_common(sites),
            Column("space", [site["space"] for site in sites], left=True),
            Column("reached by", [site["reached_by"] for site in sites], left=True),
        ]
        show(console, "Sites in the interrupt and poll path", columns)
