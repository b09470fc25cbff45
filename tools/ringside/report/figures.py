# SPDX-License-Identifier: GPL-2.0-only
"""What every report says in the same words: figures, loads, notes, environment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Document = dict[str, Any]
Run = Mapping[str, Any]

ACCESSES = ("mmio_reads", "mmio_writes", "port_reads", "port_writes")
MISSES = ("l1d_misses", "l2_misses", "llc_misses")
PER_PACKET = (*ACCESSES, "irqs", "polls", "instructions", *MISSES)

# Enough to see where the instructions go; the document has them all.
TOP_FUNCTIONS = 15

NO_FIGURE = "-"

# A rate that is missed by more than rounding of the clock is said.
_RATE_REACHED = 0.99


def visible(text: str) -> str:
    """Return the text with control and other unprintable characters spelled out."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def figure_text(name: str, value: float | None) -> str:
    """Return a per-packet figure: one decimal for instructions, two for the rest."""
    if value is None:
        return NO_FIGURE
    digits = 1 if name == "instructions" else 2
    # Adding 0.0 turns the -0.0 that rounding leaves into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def short_number(value: float) -> str:
    """Return a number with k or M for thousands and millions."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.4g}{unit}"
    return f"{value:.4g}"


def count_text(value: int | None) -> str:
    """Return a count, or the mark of a figure that is not there."""
    return NO_FIGURE if value is None else str(value)


def delivered_text(run: Run) -> str:
    """Return frames delivered over frames sent."""
    if run["delivered"] is None and run["sent"] is None:
        return NO_FIGURE
    return f"{count_text(run['delivered'])}/{count_text(run['sent'])}"


def load_text(run: Run) -> str:
    """Return NIC and load in one phrase, as notes and headings name a run."""
    nic = run["nic"]
    if run["driver"] != nic:
        nic = f"{nic} ({run['driver']})"
    load = f"{run['direction']} {run['rate_pps']} pps {run['size']} B"
    return visible(f"{nic} {load}")


def differing_driver(runs: Iterable[Run]) -> bool:
    """Tell whether any driver has another name than its NIC."""
    return any(run["driver"] != run["nic"] for run in runs)


def several(runs: Iterable[Run], name: str) -> bool:
    """Tell whether the runs differ in that field."""
    return len({run[name] for run in runs}) > 1


def notes(runs: Iterable[Run]) -> Iterator[str]:
    """Yield one line per failed check, error, named drop and reason for a null."""
    for run in runs:
        for line in run_notes(run):
            yield f"{load_text(run)}: {visible(line)}"


def run_notes(run: Run) -> Iterator[str]:
    """Yield what a reader of one run's figures must know besides them."""
    if run["status"] == "error":
        yield f"error: {run['error']}"
    failed = [check for check in run["checks"] if check["result"] == "fail"]
    for check in failed:
        yield f"fail: {check['name']}: {check['detail']}"
    if run["status"] == "fail" and not failed:
        yield f"fail: {run['error'] or 'no check says why'}"
    achieved = run["achieved_rate_pps"]
    if achieved is not None and achieved < run["rate_pps"] * _RATE_REACHED:
        rates = f"{achieved:.0f} pps of {run['rate_pps']}"
        yield f"achieved {rates}: the guest is saturated"
    for drop in run["drops"] or ():
        yield f"{drop['count']} dropped at {drop['where']}"
    for name in ("unexplained", "duplicated", "corrupted"):
        if run[name]:
            yield f"{run[name]} {name}"
    yield from _missing(run)


def _missing(run: Run) -> Iterator[str]:
    """Yield one line per reason, with all figures that share it."""
    names: dict[str, list[str]] = {}
    for name, reason in run["reasons"].items():
        names.setdefault(reason, []).append(name)
    for reason, missing in names.items():
        if run["status"] == "error" and reason == run["error"]:
            continue
        listed = "no figures" if set(PER_PACKET) <= set(missing) else ", ".join(missing)
        yield f"{listed}: {reason}"


def environment_text(document: Document) -> str:
    """Return kernel, QEMU and cache geometry in one line."""
    environment = document["environment"]
    parts = [
        f"Linux {environment['kernel_release']}",
        f"CPU {environment['cpu_model']}",
        f"packet data {environment['packet_data']}",
    ]
    if environment["qemu_version"] is not None:
        parts.insert(1, f"QEMU {environment['qemu_version']}")
        parts.insert(3, f"caches {cache_text(environment['cache_model'])}")
    if environment["debug_options"]:
        parts.append("debug options " + " ".join(environment["debug_options"]))
    return visible("; ".join(parts))


def cache_text(model: Mapping[str, Any] | None) -> str:
    """Return the geometry of the modelled caches."""
    if model is None:
        return "not modelled"
    levels = (
        f"{label} {_bytes_text(model[key]['size_bytes'])}"
        f" {model[key]['ways']}-way {model[key]['line_bytes']} B lines"
        for label, key in (("L1d", "l1d"), ("L2", "l2"), ("LLC", "llc"))
    )
    return ", ".join(levels)


def _bytes_text(size: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def by_instructions(functions: Iterable[Run]) -> list[Run]:
    """Return functions with the most instructions first, unknown ones last."""
    return sorted(
        functions,
        key=lambda f: (
            f["instructions"] is None,
            -(f["instructions"] or 0.0),
            f["name"],
        ),
    )


def total(entries: Sequence[Run], name: str) -> float | None:
    """Return the sum of one figure, or None when a part of it is not known."""
    values = [entry[name] for entry in entries]
    return None if None in values else float(sum(values))
