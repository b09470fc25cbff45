# SPDX-License-Identifier: GPL-2.0-only
"""Results on the terminal: tables that fit it, or plain ASCII when it is none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside.report.figures import (
    ACCESSES,
    MISSES,
    PER_PACKET,
    TOP_FUNCTIONS,
    Document,
    Run,
    by_instructions,
    count_text,
    delivered_text,
    differing_driver,
    environment_text,
    figure_text,
    load_text,
    notes,
    run_notes,
    several,
    total,
    visible,
)

_HEADINGS = {
    "mmio_reads": "mmio rd",
    "mmio_writes": "mmio wr",
    "port_reads": "port rd",
    "port_writes": "port wr",
    "irqs": "irqs",
    "polls": "polls",
    "instructions": "instr",
    "l1d_misses": "L1d miss",
    "l2_misses": "L2 miss",
    "llc_misses": "LLC miss",
}
_COSTS = ("instructions", *MISSES)
_STATUS_STYLE = {"pass": "green", "fail": "bold red", "error": "bold yellow"}
_HISTOGRAM_WIDTH = 30

# Names are folded between these widths to make room for figures.
_SHORTEST_NAME = 8
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Column:
    """One column of any table here; numbers stand right, names left."""

    heading: str
    cells: Sequence[str]
    left: bool = False


def render(document: Document, console: Console) -> None:
    """Print one row per run, what was taken off, notes and the environment."""
    runs = document["runs"]
    measured = [run for run in runs if _has_share(run)]
    _show_wide_or_split(console, "Per packet, generator's share taken off", runs)
    if measured:
        show(console, "Generator's share per packet", _share_columns(console, measured))
    show_lines(console, [*notes(runs), environment_text(document)])


def render_detail(document: Document, console: Console) -> None:
    """Print where each run's costs lie: groups, functions, polls, regions, checks."""
    for run in document["runs"]:
        show_lines(console, [load_text(run), *run_notes(run)])
        if run["groups"]:
            show(console, "By group, per packet", _group_columns(run))
        if run["functions"]:
            show(console, "By function, per packet", _function_columns(run))
        if run["packets_per_poll"]:
            show(console, "Packets per poll", _poll_columns(run))
        if run["regions"]:
            show(console, "Register accesses by region", _region_columns(run))
        if run["checks"]:
            show(console, "Checks", check_columns(run))
        show_lines(console, run["log_excerpt"])
    show_lines(console, [environment_text(document)])


def _has_share(run: Run) -> bool:
    return any(value is not None for value in run["generator_per_packet"].values())


def _show_wide_or_split(console: Console, title: str, runs: Sequence[Run]) -> None:
    """Print the summary as one table where it fits, else as two."""
    load = _load_columns(console, runs)
    status = Column("status", [run["status"] for run in runs], left=True)
    traffic = [
        *_figure_columns(runs, "per_packet", (*ACCESSES, "irqs", "polls")),
        Column("pkt/ irq", [figure_text("", run["packets_per_irq"]) for run in runs]),
    ]
    work = [
        *_figure_columns(runs, "per_packet", _COSTS),
        Column("delivered/ sent", [delivered_text(run) for run in runs]),
    ]
    wide = [*load, *traffic, *work, status]
    if _is_plain(console) or _fits(console, wide, _LONGEST_NAME):
        show(console, title, wide)
    else:
        show(console, title, [*load, *traffic, status])
        show(console, "", [*load, *work, status])


def _load_columns(console: Console, runs: Sequence[Run]) -> list[Column]:
    """Return NIC and load; on a terminal without what all runs have in common."""
    everything = _is_plain(console)
    columns = [Column("nic", [run["nic"] for run in runs], left=True)]
    if everything or differing_driver(runs):
        columns.append(Column("driver", [run["driver"] for run in runs], left=True))
    if everything or several(runs, "direction"):
        columns.append(Column("dir", [run["direction"] for run in runs], left=True))
    return [
        *columns,
        Column("rate", [str(run["rate_pps"]) for run in runs]),
        Column("size", [str(run["size"]) for run in runs]),
    ]


def _share_columns(console: Console, runs: Sequence[Run]) -> list[Column]:
    """Return the generator's share; on a terminal without what is 0 everywhere."""
    share = "generator_per_packet"
    names = [
        name
        for name in PER_PACKET
        if _is_plain(console) or any(run[share][name] for run in runs)
    ]
    return [*_load_columns(console, runs), *_figure_columns(runs, share, names)]


def _figure_columns(
    runs: Sequence[Run], field: str, names: Iterable[str]
) -> list[Column]:
    return [
        Column(_HEADINGS[name], [figure_text(name, run[field][name]) for run in runs])
        for name in names
    ]


def _cost_columns(entries: Sequence[Run]) -> list[Column]:
    return [
        Column(_HEADINGS[name], [figure_text(name, entry[name]) for entry in entries])
        for name in _COSTS
    ]


def _group_columns(run: Run) -> list[Column]:
    entries = [*run["groups"], _sum_row("all", run["groups"])]
    names = Column("group", [entry["name"] for entry in entries], left=True)
    return [names, *_cost_columns(entries)]


def _sum_row(name: str, entries: Sequence[Run]) -> dict[str, Any]:
    costs = {cost: total(entries, cost) for cost in _COSTS}
    return {"name": name, "module": "", "group": "", **costs}


def _function_columns(run: Run) -> list[Column]:
    ranked = by_instructions(run["functions"])
    entries, rest = ranked[:TOP_FUNCTIONS], ranked[TOP_FUNCTIONS:]
    if rest:
        entries.append(_sum_row(f"({len(rest)} more)", rest))
    labels = [
        Column(field, [entry[field] for entry in entries], left=True)
        for field in ("name", "module", "group")
    ]
    return [*labels, *_cost_columns(entries)]


def _poll_columns(run: Run) -> list[Column]:
    bins = sorted(run["packets_per_poll"], key=lambda entry: int(entry["packets"]))
    highest = max(1, *[entry["polls"] for entry in bins])
    bars = [
        # A bin that is not empty has at least one mark.
        "#" * -(-entry["polls"] * _HISTOGRAM_WIDTH // highest)
        for entry in bins
    ]
    return [
        Column("packets", [str(entry["packets"]) for entry in bins]),
        Column("polls", [str(entry["polls"]) for entry in bins]),
        Column("", bars, left=True),
    ]


def _region_columns(run: Run) -> list[Column]:
    regions = run["regions"]
    return [
        Column("region", [region["name"] for region in regions], left=True),
        Column("space", [region["space"] for region in regions], left=True),
        Column("bar", [count_text(region["bar"]) for region in regions]),
        Column("reads", [str(region["reads"]) for region in regions]),
        Column("writes", [str(region["writes"]) for region in regions]),
        *(
            Column(heading, [figure_text(name, region[name]) for region in regions])
            for heading, name in (
                ("rd/ packet", "reads_per_packet"),
                ("wr/ packet", "writes_per_packet"),
            )
        ),
    ]


def check_columns(run: Run) -> list[Column]:
    """Return the run's checks."""
    return [
        Column(field, [check[field] for check in run["checks"]], left=True)
        for field in ("name", "result", "detail")
    ]


def _is_plain(console: Console) -> bool:
    return not console.is_terminal or console.is_dumb_terminal


def _width(column: Column) -> int:
    return max(len(_ascii(t)) for t in (*column.heading.split(" "), *column.cells))


def _fits(console: Console, columns: Sequence[Column], names: int) -> bool:
    """Tell whether the columns fit with names cut into lines of that many."""
    widths = [min(_width(c), names) if c.left else _width(c) for c in columns]
    # Columns have one space between them.
    return sum(widths) + len(columns) - 1 <= console.width


def show(console: Console, title: str, columns: Sequence[Column]) -> None:
    """Print columns as a table where it fits, else as plain lines that may run over."""
    # Rich would cut digits off where it has no room: rather let lines run over.
    if _is_plain(console) or not _fits(console, columns, _SHORTEST_NAME):
        show_lines(console, [title, *_plain_lines(columns)])
        return
    if title:
        console.print(Text(title, style="bold"))
    console.print(_rich_table(columns))
    console.print()


def show_lines(console: Console, lines: Sequence[str]) -> None:
    """Print lines as they are, whatever they hold, and an empty one below."""
    plain = _is_plain(console)
    for line in lines:
        if plain:
            console.out(_ascii(line), highlight=False)
        else:
            console.print(Text(_ascii(line)))
    if lines:
        console.print()


def _rich_table(columns: Sequence[Column]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(
            Text(column.heading.replace(" ", "\n"), style="bold"),
            justify="left" if column.left else "right",
            min_width=min(_width(column), _SHORTEST_NAME if column.left else 80),
            no_wrap=not column.left,
            overflow="fold",
        )
    for cells in zip(*(column.cells for column in columns)):
        table.add_row(
            *(Text(_ascii(cell), style=_STATUS_STYLE.get(cell, "")) for cell in cells)
        )
    return table


def _plain_lines(columns: Sequence[Column]) -> list[str]:
    """Return heading and rows in columns of one width, headings without spaces."""
    padded = []
    for column in columns:
        heading = column.heading.replace("/ ", "/").replace(" ", "_")
        cells = [heading, *(_ascii(cell) for cell in column.cells)]
        width = max(map(len, cells))
        padded.append(
            [cell.ljust(width) if column.left else cell.rjust(width) for cell in cells]
        )
    return ["  ".join(row).rstrip() for row in zip(*padded)]


def _ascii(text: str) -> str:
    """Return text that any terminal, pipe and log can take."""
    return visible(text).encode("ascii", "backslashreplace").decode("ascii")
