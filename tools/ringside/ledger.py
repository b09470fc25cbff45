# SPDX-License-Identifier: GPL-2.0-only
"""The ledger: a bench of a counted driver, with its accesses by line of the source."""

from dataclasses import replace
from typing import Any

from ringside import bench, crosscheck, sites
from ringside.bench import Task, Trio
from ringside.counts import PORT, port_interrupts
from ringside.errors import CannotMeasure
from ringside.lab import qemu
from ringside.lab.counted import COUNTER
from ringside.lab.kernel import LabKernel
from ringside.lab.run import Outcome
from ringside.lab.snapshot import Snapshot
from ringside.sites import Listing

BUSES = ("none", "pci33", "pcix133", "pcie1", "pcie3")
_FILES = "/sys/kernel/debug/iotally"
# Register reads of plugins, which the marks of DMA need.
_MARKS_SINCE_API = 4
_NO_TIME = "an access takes one instruction in virtual time; a time needs the metal lab"
# What a device may write beside a frame: its checksum, a header or status of its own.
_BESIDE_FRAME = 32
NO_MARKS = (
    "this QEMU's plugin interface (version 1) cannot read the registers in which"
    " DMA marks are told"
)


def has_marks() -> bool:
    """Whether this QEMU lets the plugin see what the device wrote."""
    return qemu.find().plugin_api >= _MARKS_SINCE_API


def counted(task: Task, bus: str, ddio: bool) -> Task:
    """The task as a counted guest runs it, over a bus and with marks of DMA."""
    settings = [f"{_FILES}/bus={bus}"]
    model = dict(task.cache_model)
    if has_marks():
        settings.append(f"{_FILES}/dma_marks=1")
        model["dma"] = "llc" if ddio else "cold"
        model["dma_bytes"] = str(task.load.size + _BESIDE_FRAME)
    return replace(
        task,
        cache_model=model,
        settings=tuple(settings),
        mark_file=f"{_FILES}/mark",
    )


def packet_data(ddio: bool) -> str:
    """What the cache model takes for lines that the device wrote."""
    if not has_marks():
        return "assumed cached"
    data = "in LLC (DDIO)" if ddio else "cold after DMA"
    return f"{data}; descriptors assumed cached"


def _listing(kept: Snapshot, outcome: Outcome) -> Listing:
    if not outcome.sites:
        raise CannotMeasure(f"the guest sent no counts by line: {COUNTER} is not in it")
    return sites.parse(outcome.sites, kept.bars)


def _cross_checks(
    kernel: LabKernel, task: Task, kept: Snapshot, trios: list[Trio]
) -> tuple[list[crosscheck.Row], dict[str, str]]:
    """Rows of the port's run, or of the first run that does not agree; and the verdict."""
    ignored = {qemu.generator(kernel.replaced)}
    first: list[crosscheck.Row] | None = None
    for trio in trios:
        for outcome in (trio.port, trio.whole, trio.rest):
            listing = _listing(kept, outcome)
            rows = crosscheck.compare(kept, task.profile, outcome, listing, ignored)
            first = rows if first is None else first
            wrong = [row for row in rows if not row.agrees()]
            if wrong:
                detail = wrong[0].describe()
                return rows, bench.check("ledger", False, detail)
            strays = crosscheck.elsewhere(listing)
            if strays:
                detail = f"{strays} accesses were counted behind no BAR of the port"
                return rows, bench.check("ledger", False, detail)
    assert first is not None
    total = sum(row.device for row in first)
    detail = f"all {total} accesses that the device saw have their line"
    return first, bench.check("ledger", True, detail)


def _rows(
    kept: Snapshot, task: Task, trio: Trio, reasons: dict[str, str]
) -> list[dict[str, Any]]:
    """runs[].sites of the result."""
    irqs = port_interrupts(trio.port, kept.irqs[PORT])
    irqs -= port_interrupts(trio.rest, kept.irqs[PORT])
    reasons["ns_median"] = _NO_TIME
    if irqs <= 0:
        reasons["per_irq"] = sites.NO_IRQ
    port, rest = (_listing(kept, run).counts for run in (trio.port, trio.rest))
    return sites.result_rows(port, rest, sites.Per(task.load.frames(), irqs), {})


def _waits(entry: dict[str, Any]) -> dict[str, float]:
    """Instructions per packet that are no cost of the driver: counting, and the bus."""
    found = {g["name"]: g["instructions"] for g in entry["groups"]}
    return {name: float(found.get(name, 0.0)) for name in ("counting", "bus")}


def _entry(
    kernel: LabKernel, task: Task, kept: Snapshot, trios: list[Trio]
) -> dict[str, Any]:
    """The bench's entry with the sites and the cross-check."""
    entry = bench.entry_of(kernel, task, kept, trios)
    rows, verdict = _cross_checks(kernel, task, kept, trios)
    entry["checks"].insert(0, verdict)
    if verdict["result"] == "fail" and entry["status"] == "pass":
        entry |= {"status": "fail", "error": f"ledger: {verdict['detail']}"}
    waits = _waits(entry)
    entry |= {
        "static": False,
        "sites": _rows(kept, task, trios[0], entry["reasons"]),
        "places": _listing(kept, trios[0].port).places,
        "cross_check": crosscheck.table(rows),
        "counting_instructions": waits["counting"],
        "bus_wait_instructions": waits["bus"],
    }
    return entry


def unlisted(entry: dict[str, Any], static: bool = False) -> dict[str, Any]:
    """An entry that could not be measured, with what a ledger's has besides."""
    gaps = ("places", "counting_instructions", "bus_wait_instructions")
    reason = entry["error"] or "not measured"
    entry["reasons"] |= dict.fromkeys(gaps, reason)
    return entry | {
        **dict.fromkeys(gaps),
        "static": static,
        "sites": [],
        "cross_check": [],
    }


def measure(kernel: LabKernel, task: Task, progress: bench.Progress) -> dict[str, Any]:
    """The entry of one task, whose driver the kernel has counted."""
    entry = bench.measure(kernel, task, progress, _entry)
    return entry if "sites" in entry else unlisted(entry)
