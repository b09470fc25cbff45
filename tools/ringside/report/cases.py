# SPDX-License-Identifier: GPL-2.0-only
"""A result as cases with figures, which every format for machines is made of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ringside.report.figures import Document, Run

_UNITS = {
    "mmio_reads": "accesses",
    "mmio_writes": "accesses",
    "port_reads": "accesses",
    "port_writes": "accesses",
    "irqs": "interrupts",
    "polls": "polls",
}


@dataclass(frozen=True)
class Figure:
    """A figure per packet: None with the reason where there is none."""

    name: str
    value: float | None
    unit: str
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """One NIC under one load: pass, fail, or error when it could not be measured."""

    kind: str
    nic: str
    direction: str
    rate_pps: int
    size_bytes: int
    outcome: str
    reason: str
    figures: Sequence[Figure]

    @property
    def name(self) -> str:
        """Stable, and of letters, digits, dots, dashes and underscores alone."""
        load = f"{self.direction}.{self.rate_pps}pps.{self.size_bytes}B"
        plain = "".join(
            c if c.isascii() and c.isalnum() or c in "-_" else "-" for c in self.nic
        )
        return f"{self.kind}.{plain}.{load}"


def unit_of(name: str) -> str:
    """What a figure counts."""
    if name in _UNITS:
        return _UNITS[name]
    return "instructions" if name.startswith("instructions") else "misses"


def _of_bench(run: Run) -> tuple[str, str, list[Figure]]:
    figures = [
        Figure(
            name,
            value,
            unit_of(name),
            run["reasons"].get(name, "") if value is None else "",
        )
        for name, value in run["per_packet"].items()
    ]
    return run["status"], run["error"] or "", figures


def _of_compare(run: Run) -> tuple[str, str, list[Figure]]:
    """Figures of head, and what they differ by."""
    figures = []
    for metric in run["metrics"]:
        name, unit = metric["name"], unit_of(metric["name"])
        for label, what in ((name, "head"), (f"{name}_delta", "delta")):
            value = metric[what]
            reason = metric["reason"] if value is None else ""
            figures.append(Figure(label, value, unit, reason))
    outcome = {"worse": "fail", "unknown": "error"}.get(run["verdict"], "pass")
    return (
        outcome,
        run["reason"] or (run["verdict"] if outcome != "pass" else ""),
        figures,
    )


def cases(document: Document) -> Iterator[Case]:
    """Of a result of bench, ledger or compare."""
    read = _of_compare if document["kind"] == "compare" else _of_bench
    for run in document["runs"]:
        outcome, reason, figures = read(run)
        yield Case(
            document["kind"],
            *(run["nic"], run["direction"], run["rate_pps"], run["size"]),
            *(outcome, reason, figures),
        )


def environment(document: Document) -> dict[str, Any]:
    """What the formats say of where it ran: text only."""
    known = document["environment"]
    return {
        name: str(known[name])
        for name in ("kernel_release", "qemu_version", "cpu_model", "tool_version")
        if known.get(name) is not None
    }
