# SPDX-License-Identifier: GPL-2.0-only
"""A comparison on the terminal, and as markdown short enough for a commit message."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from ringside.report.figures import NO_FIGURE, visible
from ringside.report.table import Column, show, show_lines

_MOST = 12


def _number(value: float | None) -> str:
    return NO_FIGURE if value is None else f"{value + 0.0:.2f}"


def _signed(value: float | None) -> str:
    return NO_FIGURE if value is None else f"{value + 0.0:+.2f}"


def load_name(run: dict[str, Any]) -> str:
    """NIC and load of a run, in a few words."""
    return f"{run['nic']} {run['direction']} {run['rate_pps']} pps {run['size']} B"


def _told(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that are worth a line: those that changed, or that one version has."""
    return [m for m in run["metrics"] if m["base"] is not None or m["head"] is not None]


def _changes(console: Console, title: str, changes: Sequence[dict[str, Any]]) -> None:
    if not changes:
        return
    chosen = changes[:_MOST]
    columns = [
        Column("change", [change["kind"] for change in chosen], left=True),
        Column("what", [change["what"] for change in chosen], left=True),
        Column("base", [_number(change["base"]) for change in chosen]),
        Column("head", [_number(change["head"]) for change in chosen]),
    ]
    if any(change["source"] for change in chosen):
        columns.append(Column("source", [c["source"] for c in chosen], left=True))
    show(console, title, columns)
    if len(changes) > _MOST:
        show_lines(console, [f"and {len(changes) - _MOST} more (--json has them)"])


def render(document: dict[str, Any], console: Console) -> None:
    """The verdict first, then each load."""
    environment = document["environment"]
    lines = [f"{document['verdict'].upper()}: {visible(document['reason'])}"]
    lines.append(f"base {environment['base']}, head {environment['head']}")
    show_lines(console, [visible(line) for line in lines])
    for run in document["runs"]:
        show_lines(console, [f"{load_name(run)}: {run['verdict']}{_because(run)}"])
        told = _told(run)
        if told:
            columns = [
                Column("per packet", [m["name"] for m in told], left=True),
                Column("base", [_number(m["base"]) for m in told]),
                Column("head", [_number(m["head"]) for m in told]),
                Column("change", [_signed(m["delta"]) for m in told]),
                Column("verdict", [m["verdict"] for m in told], left=True),
            ]
            show(console, "Cost per packet", columns)
        _changes(console, "Register accesses by line", run["lines"])
        _changes(console, "Instructions of the driver's functions", run["functions"])
    show_lines(
        console,
        [f"Linux {environment['kernel_release']}; {environment['qemu_version']}"],
    )


def _because(run: dict[str, Any]) -> str:
    return f" ({visible(run['reason'])})" if run["reason"] else ""


def _markdown_run(run: dict[str, Any]) -> Iterator[str]:
    yield f"**{load_name(run)}**: {run['verdict']}{_because(run)}"
    changed = [m for m in _told(run) if m["verdict"] != "same"]
    if changed:
        yield ""
        yield "| per packet | base | head | change | |"
        yield "|---|---|---|---|---|"
        for metric in changed:
            cells = (_number(metric["base"]), _number(metric["head"]))
            signed = _signed(metric["delta"])
            yield f"| {metric['name']} | {' | '.join(cells)} | {signed} | {metric['verdict']} |"
    for change in [*run["lines"], *run["functions"]][:_MOST]:
        text = f" `{change['source']}`" if change["source"] else ""
        costs = f"{_number(change['base'])} to {_number(change['head'])}"
        yield f"- {change['kind']}: {change['what']}: {costs}{text}"
    yield ""


def markdown(document: dict[str, Any]) -> str:
    """For a commit message or a cover letter: what changed, and nothing else."""
    environment = document["environment"]
    lines = [f"{document['verdict'].upper()}: {document['reason']}", ""]
    for run in document["runs"]:
        lines += _markdown_run(run)
    lines.append(
        f"Base {environment['base']}, head {environment['head']}; Linux"
        f" {environment['kernel_release']}, {environment['qemu_version']}, virtual time."
    )
    return "\n".join(visible(line) for line in lines) + "\n"
