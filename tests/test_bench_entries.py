# SPDX-License-Identifier: GPL-2.0-only
"""Entries of the result: from outcomes of runs, or from what broke."""

# The entry is worth testing by itself.
# pylint: disable=protected-access

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fakes
from recorded import (
    DATA,
    KEPT,
    LOAD,
    OUTPUT,
    PROFILE,
    TASK,
    executing,
    outcome,
    trio,
)
from ringside import bench
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import kernel as kernels, run as runs, snapshot
from ringside.lab.guest import GuestDied
from ringside.lab.kernel import LabKernel
from ringside.report import schema


@pytest.fixture(name="kernel")
def _kernel(tmp_path: Path) -> LabKernel:
    return kernels.from_folder(
        fakes.kernel_folder(tmp_path, {"8139cp": "mii", "mii": ""})
    )


def document(entry: dict[str, Any]) -> dict[str, Any]:
    """A stored result with that entry as its only one."""
    stored = json.loads((DATA / "results/rx_sweep.json").read_text())
    assert isinstance(stored, dict)
    return {**stored, "runs": [entry]}


def test_a_good_run_makes_a_valid_entry(kernel: LabKernel) -> None:
    """8139cp by the recorded run: four reads, four writes, nothing dropped."""
    entry = bench.entry_of(kernel, TASK, KEPT, [trio()])
    schema.validate(document(entry))
    assert entry["status"] == "pass" and entry["error"] is None
    assert (entry["sent"], entry["delivered"], entry["dropped"]) == (3, 3, 0)
    figures = entry["per_packet"]
    assert (figures["mmio_reads"], figures["mmio_writes"]) == (4.0, 4.0)
    assert (figures["irqs"], figures["polls"]) == (1.0, 1.0)
    assert figures["instructions"] == pytest.approx((231 + 567) / 3, abs=1e-5)
    assert entry["packets_per_irq"] == 1.0
    assert entry["packets_per_poll"] == [{"packets": 1, "polls": 3}]
    assert entry["jitter_ns"] == {"median": 138, "p99": 139, "max": 140}
    assert entry["window_ns"] == 4158527
    groups = {group["name"]: group["instructions"] for group in entry["groups"]}
    assert groups["driver"] == pytest.approx(figures["instructions"], abs=1e-4)


def test_what_was_taken_off_is_shown(kernel: LabKernel) -> None:
    """The generator's part of the whole run."""
    entry = bench.entry_of(kernel, TASK, KEPT, [trio()])
    window = outcome().window
    assert window
    total = sum(f["instructions"] or 0 for f in window["functions"])
    shown = entry["per_packet"], entry["generator_per_packet"]
    assert sum(part["instructions"] for part in shown) * 3 == pytest.approx(
        total, abs=1e-3
    )


def test_a_failed_check_fails_the_entry(kernel: LabKernel) -> None:
    """Figures stay; the error names the first that failed."""
    lost = OUTPUT.replace("delivered=3", "delivered=2")
    entry = bench.entry_of(kernel, TASK, KEPT, [trio(output=lost)])
    schema.validate(document(entry))
    assert entry["status"] == "fail" and entry["unexplained"] == 1
    assert entry["error"].startswith(
        "conservation: sent 3 = delivered 2 + 1 unexplained"
    )
    assert entry["per_packet"]["mmio_reads"] == 4.0


def test_a_port_without_interrupts_has_no_ratio(kernel: LabKernel) -> None:
    """Null with a reason, no division by zero."""
    output = OUTPUT.replace("irq=23:3:IO-APIC  23-fasteoi   port0\n", "")
    entry = bench.entry_of(kernel, TASK, KEPT, [trio(output=output)])
    schema.validate(document(entry))
    assert entry["packets_per_irq"] is None
    assert "no interrupt" in entry["reasons"]["packets_per_irq"]


def test_a_driver_without_napi_has_no_polls(kernel: LabKernel) -> None:
    """Null with a reason in both tables."""
    task = replace(TASK, profile=replace(PROFILE, napi=False))
    entry = bench.entry_of(kernel, task, KEPT, [trio()])
    schema.validate(document(entry))
    assert entry["per_packet"]["polls"] is None
    assert entry["generator_per_packet"]["polls"] is None
    assert "no NAPI" in entry["reasons"]["polls"]


def test_more_in_the_rest_than_with_the_port_is_shown(kernel: LabKernel) -> None:
    """Negative counts are odd, and no reason to lose the whole result."""
    windows = (outcome(), outcome())
    for run, polls in zip(windows, (0, 3), strict=True):
        assert run.window
        run.window["polls"] = [
            {"napi": "0xffff8880054a8a18", "polls": polls, "packets": [[1, polls]]}
        ]
    port = replace(windows[0], regions=[])
    entry = bench.entry_of(kernel, TASK, KEPT, [bench.Trio(port, port, windows[1])])
    schema.validate(document(entry))
    assert entry["per_packet"]["polls"] == -1.0


@pytest.mark.parametrize(
    "error, status",
    [
        (CannotMeasure("no QEMU"), "error"),
        (GuestDied("guest panic", ["a", "b"]), "fail"),
    ],
)
def test_an_unmeasured_nic_is_a_valid_entry(
    kernel: LabKernel, error: CannotMeasure, status: str
) -> None:
    """Every figure is null and has the reason."""
    entry = bench.unmeasured(kernel, TASK, error, status)
    schema.validate(document(entry))
    assert entry["status"] == status and entry["error"] == str(error)
    assert set(entry["per_packet"].values()) == {None}
    assert entry["reasons"]["polls"] == entry["reasons"]["sent"] == str(error)
    assert entry["log_excerpt"] == (error.log if isinstance(error, GuestDied) else [])


def test_a_kernel_without_the_driver_is_a_valid_entry(tmp_path: Path) -> None:
    """One NIC less must not end the bench of all others."""
    kernel = kernels.from_folder(fakes.kernel_folder(tmp_path, {}))
    entry = bench.unmeasured(kernel, TASK, CannotMeasure("kernel has no module 8139cp"))
    schema.validate(document(entry))
    assert entry["driver_sha256"] is None


PANIC = ["BUG: x", " cp_rx_poll+0x1/0x2 [8139cp]", "Kernel panic - not syncing: x"]


@pytest.mark.parametrize(
    "error, status",
    [
        (GuestDied("guest panic: x", PANIC), "fail"),
        (GuestDied("guest panic: x", PANIC[:1]), "error"),
        (CannotMeasure("cannot keep the guest"), "error"),
    ],
)
def test_what_broke_is_in_the_entry(
    kernel: LabKernel,
    monkeypatch: pytest.MonkeyPatch,
    error: CannotMeasure,
    status: str,
) -> None:
    """A driver in the trace of a panic is at fault; nothing else is."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(snapshot, "get", lambda *_: KEPT)
    monkeypatch.setattr(runs, "execute", fail)
    entry = bench.measure(kernel, TASK, lambda _: None)
    schema.validate(document(entry))
    assert (entry["status"], entry["error"]) == (status, str(error))


def test_wrong_use_is_no_entry(
    kernel: LabKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate beyond the sender ends the command."""
    monkeypatch.setattr(snapshot, "get", lambda *_: KEPT)
    task = replace(TASK, load=replace(LOAD, rate_pps=10**6))
    with pytest.raises(UsageError):
        bench.measure(kernel, task, lambda _: None)


def test_a_task_is_measured_as_often_as_asked(
    kernel: LabKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one progress over all repetitions."""
    monkeypatch.setattr(snapshot, "get", lambda *_: KEPT)
    executed = executing(monkeypatch)
    told: list[float] = []
    entry = bench.measure(kernel, replace(TASK, repeats=3), told.append)
    assert len(executed) == 6 and entry["repeats"] == 3
    assert told == sorted(told) and told[-1] == 1.0
    checks = {check["name"]: check["result"] for check in entry["checks"]}
    assert checks["repeat"] == "pass"
