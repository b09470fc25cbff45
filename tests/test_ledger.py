# SPDX-License-Identifier: GPL-2.0-only
"""The ledger's entry: sites, and that they must be what the device saw."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import fakes
from recorded import DATA, KEPT, LOAD, TASK, outcome, region, rest
from ringside import bench, commands, crosscheck, groups, ledger, session, sites
from ringside.errors import CannotMeasure
from ringside.lab import kernel, qemu
from ringside.lab.kernel import LabKernel
from ringside.report import ledger_table, schema
from test_sites import HEAD

TASK_OF_LEDGER = replace(TASK, cache_model=bench.DEFAULT_CACHE)


def row(context: str, where: str, count: int, address: str = "0xfebe003c") -> str:
    """A line of the listing for an access to memory."""
    op, direction = ("readw", "read") if where.startswith("r") else ("writew", "write")
    return (
        f"8139cp\t8139cp.c\t{where[1:]}\tcp_interrupt\t{op}\tmmio\t{direction}"
        f"\t{address}\tcp->regs\t{context}\t{count}\t{2 * count}\n"
    )


# What device truth of the recorded run has: 12 reads and 12 writes, by BAR 1.
WHOLE = HEAD + row("irq", "r582", 9) + row("poll", "r470", 3) + row("irq", "w595", 12)


@pytest.fixture(name="lab")
def _lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabKernel:
    """A kernel with a counted 8139cp, and a QEMU that knows registers."""
    monkeypatch.setenv("RINGSIDE_QEMU", str(fakes.qemu(tmp_path / "qemu", "rtl8139")))
    qemu.find.cache_clear()
    folder = fakes.kernel_folder(tmp_path / "k", {"8139cp": ""})
    found = kernel.from_folder(folder)
    return replace(
        found, replaced={"8139cp": found.modules / "kernel/drivers/8139cp.ko"}
    )


def entry(lab: LabKernel, listing: str, **changed: Any) -> dict[str, Any]:
    """The entry of the recorded run with this listing."""
    whole = outcome(sites=listing, **changed)
    trio = bench.Trio(whole, whole, replace(rest(), sites=HEAD))
    # pylint: disable-next=protected-access
    return ledger._entry(lab, TASK_OF_LEDGER, KEPT, [trio])


def document(lab: LabKernel, run: dict[str, Any]) -> dict[str, Any]:
    """A result with one run."""
    model = commands.cache_model(bench.DEFAULT_CACHE)
    environment = session.environment(["./ringside", "ledger"], lab, model, 0.0)
    return {
        "schema": "ringside/1",
        "kind": "ledger",
        "lab": "vm",
        "environment": environment | {"source": "a tree", "bus": "none"},
        "runs": [run],
    }


def test_sites_that_are_all_the_device_saw_pass(lab: LabKernel) -> None:
    """Dearest first, per packet and per interrupt, and valid."""
    found = entry(lab, WHOLE)
    assert (found["status"], found["error"]) == ("pass", None)
    assert [(s["line"], s["count"], s["per_packet"]) for s in found["sites"]] == [
        (595, 12, 4.0),
        (582, 9, 3.0),
        (470, 3, 1.0),
    ]
    assert found["sites"][0]["per_irq"] == 4.0
    assert found["checks"][0] == {
        "name": "ledger",
        "result": "pass",
        "detail": "all 24 accesses that the device saw have their line",
    }
    schema.validate(document(lab, found))


@pytest.mark.parametrize("name", ["static", "sites", "places", "cross_check"])
def test_a_ledger_without_its_parts_is_refused(lab: LabKernel, name: str) -> None:
    """What a bench may lack, a ledger may not; nor a figure its reason."""
    found = entry(lab, WHOLE)
    bare = {key: value for key, value in found.items() if key != name}
    with pytest.raises(CannotMeasure, match=name):
        schema.validate(document(lab, bare))
    del found["reasons"]["ns_median"]
    with pytest.raises(CannotMeasure, match="ns_median"):
        schema.validate(document(lab, found))


def test_sums_by_context_are_the_bench_s_figures(lab: LabKernel) -> None:
    """The same subtraction is behind both."""
    found = entry(lab, WHOLE)
    reads = sum(s["per_packet"] for s in found["sites"] if s["direction"] == "read")
    assert reads == found["per_packet"]["mmio_reads"] == 12 / LOAD.count


@pytest.mark.parametrize(
    "listing, told",
    [
        (WHOLE.replace("\t9\t18", "\t8\t16"), "BAR 1 (mmio) reads: the ledger has 11"),
        (
            WHOLE.replace("\t12\t24", "\t13\t26"),
            "writes: the ledger has 13, the device",
        ),
        (HEAD + row("irq", "r582", 12), "writes: the ledger has 0, the device saw 12"),
        (
            WHOLE + row("control", "r9", 1, "0xfed00000"),
            "1 accesses were counted behind no",
        ),
    ],
)
def test_a_difference_fails_and_is_shown(
    lab: LabKernel, listing: str, told: str
) -> None:
    """By BAR and direction."""
    found = entry(lab, listing)
    assert found["status"] == "fail" and told in found["error"]
    schema.validate(document(lab, found))


def test_the_generators_run_is_checked_too(lab: LabKernel) -> None:
    """An access in the run that is taken off must have its line as well."""
    whole = outcome(sites=WHOLE)
    other = replace(rest(), sites=HEAD + row("timer", "r9", 1))
    trio = bench.Trio(whole, whole, other)
    # pylint: disable-next=protected-access
    found = ledger._entry(lab, TASK_OF_LEDGER, KEPT, [trio])
    assert found["status"] == "fail" and "the ledger has 1" in found["error"]


def test_no_listing_is_no_measurement(lab: LabKernel) -> None:
    """A guest without the counter sends none."""
    with pytest.raises(CannotMeasure, match="iotally is not in it"):
        entry(lab, "")


def test_what_the_header_cannot_see_is_named() -> None:
    """The PCI core's table, and functions of other modules."""
    empty = sites.parse(HEAD, KEPT.bars)
    table = outcome(regions=[region("port0", "msix-table", "mmio", 0, 20)])
    rows = crosscheck.compare(KEPT, TASK.profile, table, empty, {"e1000"})
    (found,) = [row for row in rows if row.bar == 0 and row.direction == "write"]
    assert "the PCI core" in found.explanation and not found.agrees()
    rows = crosscheck.compare(KEPT, TASK.profile, outcome(), empty, {"e1000"})
    (found,) = [row for row in rows if row.bar == 1 and row.direction == "read"]
    assert "of 8139cp" in found.explanation


def test_counting_is_no_cost_of_the_driver() -> None:
    """Nor is the wait for the bus."""
    modules = frozenset({"iotally", "8139cp"})
    assert groups.group_of("iotally", "irq_begins", modules) == "counting"
    assert groups.group_of("iotally", "iotally_bus_wait", modules) == "bus"
    assert groups.group_of("8139cp", "cp_rx_poll", modules) == "driver"


def test_the_guest_is_told_bus_marks_and_who_makes_them(
    lab: LabKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings stand before the program; an old QEMU gets no marks of DMA."""
    assert lab
    task = ledger.counted(TASK_OF_LEDGER, "pci33", True)
    line = task.in_guest(bench.commands(KEPT, LOAD)[0])
    words = line.split()
    assert words[:3] == [
        "/sys/kernel/debug/iotally/bus=pci33",
        "/sys/kernel/debug/iotally/dma_marks=1",
        "sender",
    ]
    assert "--marks" not in words and line.endswith(
        "--mark-file /sys/kernel/debug/iotally/mark"
    )
    assert (task.cache_model["dma"], task.cache_model["dma_bytes"]) == ("llc", "92")
    assert ledger.packet_data(True).startswith("in LLC (DDIO)")
    assert ledger.packet_data(False).startswith("cold after DMA")
    old = fakes.qemu(tmp_path / "old", "rtl8139", version="7.2.1")
    monkeypatch.setenv("RINGSIDE_QEMU", str(old))
    qemu.find.cache_clear()
    assert "dma" not in ledger.counted(TASK_OF_LEDGER, "none", False).cache_model
    assert ledger.packet_data(False) == "assumed cached"
    qemu.find.cache_clear()


def test_a_ledger_on_the_terminal(lab: LabKernel) -> None:
    """Sites, sums by context, and what differs."""
    console = Console(width=200, force_terminal=False)
    with console.capture() as capture:
        ledger_table.render(document(lab, entry(lab, WHOLE)), console)
    shown = capture.get()
    assert "8139cp.c:595" in shown and "DIFFERS" not in shown
    assert "all      write            4.00     4.00" in shown
    with console.capture() as capture:
        run = entry(lab, HEAD + row("irq", "r582", 12))
        ledger_table.render(document(lab, run), console)
    assert "DIFFERS" in capture.get() and "fail: ledger: BAR 1" in capture.get()


def test_the_recorded_listing_is_read() -> None:
    """Of drivers/iotally itself, an 8139cp that has received 2,000 frames."""
    text = (DATA / "sites/8139cp.sites").read_text(encoding="ascii")
    listing = sites.parse(text, [replace(b, start=0xFEBC2000) for b in KEPT.bars[3:]])
    assert sum(listing.counts.values()) == 16000
    assert listing.places > 100
