# SPDX-License-Identifier: GPL-2.0-only
"""A recorded run of the lab: three frames received by an 8139cp, and what goes with it."""

# A trio of outcomes is what bench makes of a run.
# pylint: disable=protected-access

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ringside import bench, profiles
from ringside.bench import Load, Task
from ringside.lab import run as runs
from ringside.lab.run import Outcome
from ringside.lab.snapshot import BarRange, Snapshot

DATA = Path(__file__).parent / "data"
PROFILE = profiles.choose("8139cp")[0]
LOAD = Load(20000, 60, 3, "rx")
TASK = Task(PROFILE, LOAD, 1, {"l1d": "32768:8:64"})
KEPT = Snapshot(
    folder=Path("/nowhere"),
    key="k",
    machine=[],
    addresses={"gen0": "52:54:00:12:34:56", "port0": "52:54:00:12:34:57"},
    bars=[
        BarRange("gen0", 0, "mmio", 0xFEBC0000, 0x20000),
        BarRange("gen0", 1, "port", 0xC100, 0x40),
        BarRange("port0", 0, "port", 0xC000, 0x100),
        BarRange("port0", 1, "mmio", 0xFEBE0000, 0x100),
    ],
    napi={0xFFFF8880054A8A18: "port0", 0xFFFF8880054ACCB0: "gen0"},
    irqs={"gen0": frozenset({"22"}), "port0": frozenset({"23"})},
    limits_pps={"gen0": {60: 250000.9, 1514: 180000.0}, "port0": {60: 200000.0}},
)
OUTPUT = """\
achieved_rate_pps=19999.800
late_ns_median=138
late_ns_p99=139
late_ns_max=140
window_ns=4158527
stream=0:sent=3:delivered=3:duplicated=0:corrupted=0:stack_drops=0:refused=0:warmup_sent=0:warmed_up=0:warmup_drops=0
irq=22:2:IO-APIC  22-fasteoi   gen0
irq=23:3:IO-APIC  23-fasteoi   port0
irq=LOC:1:Local timer interrupts
"""


def region(port: str, name: str, space: str, reads: int, writes: int) -> dict[str, Any]:
    """Device truth of one region behind BAR 0."""
    return {"port": port, "bar": 0, "space": space, "name": name} | {
        "reads": reads,
        "writes": writes,
    }


def outcome(**changed: Any) -> Outcome:
    """The recorded run of three received frames, some parts changed."""
    windows = json.loads((DATA / "guest/8139cp.window.json").read_text())
    plain = Outcome(
        status=0,
        output=OUTPUT,
        window=windows[-1],
        regions=[
            region("port0", "rtl8139", "port", 12, 12),
            region("gen0", "e1000-mmio", "mmio", 6, 9),
        ],
        statistics={
            "port0.before": {"rx_packets": 32},
            "port0.after": {"rx_packets": 35},
        },
    )
    return replace(plain, **changed)


def rest() -> Outcome:
    """A run in which the port took no part."""
    window = copy.deepcopy(outcome().window)
    assert window
    window["mmio"] = window["mmio"][:2]
    window["irqs"] = window["irqs"][1:]
    window["polls"] = window["polls"][1:]
    window["functions"] = [
        f for f in window["functions"] if f["module"] not in ("8139cp",)
    ]
    return outcome(
        window=window,
        output=OUTPUT.replace("irq=23:3:IO-APIC  23-fasteoi   port0\n", ""),
        regions=[region("gen0", "e1000-mmio", "mmio", 6, 9)],
    )


def trio(**changed: Any) -> bench.Trio:
    """Outcomes of one repetition whose whole run has some parts changed."""
    whole = outcome(**changed)
    return bench.Trio(whole, whole, rest())


def executing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Commands that will have run; the outcomes are the recorded ones."""
    done: list[str] = []

    def execute(
        _: Any, command: str, __: Any, progress: Callable[[int], None]
    ) -> Outcome:
        done.append(command)
        progress(0)
        progress(1)
        return outcome() if "port0 " in command else rest()

    monkeypatch.setattr(runs, "execute", execute)
    return done
