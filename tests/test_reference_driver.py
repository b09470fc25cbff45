# SPDX-License-Identifier: GPL-2.0-only
"""The reference driver in the vm lab: it costs no more than the in-tree drivers."""

from dataclasses import replace
from typing import Any

import pytest

from ringside import bench, profiles
from ringside.lab import kernel

_LOAD = bench.Load(20000, 60, 2000, "rx")
_LEAN = {"rx-page-pool": True, "gro": False}
# In-tree driver, our profile, and the best setting (docs/reference-driver.md).
_BEST = [
    ("8139cp", "ringside-8139cp", _LEAN),
    ("8139too", "ringside-8139too", {"gro": False}),
    ("e1000", "ringside-e1000", _LEAN | {"mitigation": True}),
    ("e1000e", "ringside-82574", _LEAN | {"auto-mask": True, "mitigation": True}),
    ("tulip", "ringside-tulip", _LEAN),
]
_ACCESSES = ("mmio_reads", "mmio_writes", "port_reads", "port_writes")


def _measure(nic: str, flags: dict[str, bool]) -> dict[str, Any]:
    (known,) = profiles.choose(nic)
    task = bench.Task(
        replace(known, private_flags=flags), _LOAD, 1, bench.DEFAULT_CACHE
    )
    return bench.measure(kernel.find(None), task, lambda part: None)


def _accesses(entry: dict[str, Any]) -> float:
    return sum(float(entry["per_packet"][what]) for what in _ACCESSES)


@pytest.mark.parametrize(("in_tree", "ours", "flags"), _BEST, ids=[b[1] for b in _BEST])
def test_the_best_setting_costs_no_more_than_the_in_tree_driver(
    in_tree: str, ours: str, flags: dict[str, bool]
) -> None:
    """In accesses and in instructions, with every frame delivered."""
    theirs, own = _measure(in_tree, {}), _measure(ours, flags)
    assert own["error"] is None and own["delivered"] == own["sent"] == 2000
    assert _accesses(own) <= _accesses(theirs)
    assert own["per_packet"]["instructions"] <= theirs["per_packet"]["instructions"]


def test_private_flags_reach_the_driver() -> None:
    """The irq scheme reads the status, writes it back, and never polls."""
    figures = _measure("ringside-8139cp", {"napi": False})["per_packet"]
    assert [figures[what] for what in _ACCESSES] == [1, 1, 0, 0]
    assert figures["polls"] == 0


def test_a_chip_with_one_buffer_only_copies() -> None:
    """RTL8139C cannot hand its buffer up, so the driver refuses."""
    entry = _measure("ringside-8139too", {"rx-copy": False, "rx-map": True})
    assert entry["status"] == "error" and "port0" in entry["error"]


def test_a_flag_that_the_driver_does_not_know_is_told() -> None:
    """Nothing is measured with another setting than asked for."""
    entry = _measure("ringside-8139cp", {"no-such-flag": True})
    assert entry["status"] == "error" and "port0" in entry["error"]
