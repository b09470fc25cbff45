# SPDX-License-Identifier: GPL-2.0-only
"""Ledgers in the lab: for every NIC the lines account for all that the device saw."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ringside import bench, cli, ledger, profiles
from ringside.errors import CannotMeasure
from ringside.lab import counted, kernel, source

# virtio_net itself accesses nothing; its helper is built into the lab's kernel.
_NICS = [p.name for p in profiles.all_profiles() if p.name != "virtio_net"]


@pytest.mark.parametrize("nic", _NICS)
def test_every_access_has_its_line(nic: str, tmp_path: Path) -> None:
    """At low and high rates, small and large frames, in one command."""
    file = tmp_path / "ledger.json"
    words = ["ledger", "--nic", nic, "--rate", "20000,100000", "--size", "60,1514"]
    assert cli.main([*words, "--count", "500", "--json", str(file)]) == 0
    runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
    assert len(runs) == 4
    for run in runs:
        assert run["cross_check"] and run["sites"]
        assert all(row["ledger"] == row["device"] for row in run["cross_check"])
        assert {site["context"] for site in run["sites"]} & {"irq", "poll"}
        figures = run["per_packet"]
        accesses = sum(
            figures[f"{s}_{w}s"] for s in ("mmio", "port") for w in ("read", "write")
        )
        by_line = sum(s["per_packet"] for s in run["sites"] if s["bar"] is not None)
        assert by_line == pytest.approx(accesses, abs=1e-4)


def test_a_helper_that_is_not_counted_is_missed() -> None:
    """And the command says where: the 8390 has most of ne2k-pci's accesses."""
    lab = kernel.find(None)
    profile = replace(profiles.choose("ne2k-pci")[0], counted=())
    built = counted.build(lab, profile, counted.Recipe(source.find(lab, None)))
    plain = bench.Task(
        profile, bench.Load(20000, 60, 200, "rx"), 1, bench.DEFAULT_CACHE
    )
    entry = ledger.measure(built, ledger.counted(plain, "none", False), lambda _: None)
    assert entry["status"] == "fail"
    assert entry["error"].startswith("ledger: BAR 0 (port) reads: the ledger has ")
    assert "another module" in entry["error"]


def test_a_driver_without_registers_is_told() -> None:
    """virtio_net leaves all to a module that cannot be replaced."""
    lab = kernel.find(None)
    (profile,) = profiles.choose("virtio_net")
    if "CONFIG_VIRTIO_PCI=m" in lab.config.read_text(encoding="utf-8").splitlines():
        pytest.skip("virtio_pci is a module of this kernel")
    with pytest.raises(CannotMeasure, match="no site in virtio_net.*built into"):
        counted.build(lab, profile, counted.Recipe(source.find(lab, None)))


def test_a_bus_costs_what_its_accesses_take(tmp_path: Path) -> None:
    """8139cp: four reads, and four posted writes that fit into the buffer."""
    file = tmp_path / "ledger.json"
    words = ["ledger", "--nic", "8139cp", "--count", "200", "--json", str(file)]
    waits = {}
    for bus in ("none", "pci33", "pcix133", "pcie1", "pcie3"):
        assert cli.main([*words, "--bus", bus]) == 0
        document = json.loads(file.read_text(encoding="utf-8"))
        assert document["environment"]["bus"] == bus
        waits[bus] = document["runs"][0]["bus_wait_instructions"]
    assert waits["none"] == 0
    # Reads take 420 and 539 ns, of which the model's own instructions are a part; the
    # writes that they wait for come on top.
    assert 4 * 420 * 0.8 < waits["pci33"] < 4 * 420 * 2
    assert 4 * 539 * 0.8 < waits["pcie3"] < 4 * 539 * 1.2
    # Two reads find a write of 60 and 96 ns before them.
    assert 4 * 240 * 0.7 < waits["pcix133"] < 4 * (240 + 60) * 1.2
    assert 4 * 709 * 0.8 < waits["pcie1"] < 4 * (709 + 96) * 1.2


def test_the_port_is_served_as_on_that_bus(tmp_path: Path) -> None:
    """On a slow bus the same load keeps the processor longer at each packet."""
    file = tmp_path / "ledger.json"
    words = ["ledger", "--nic", "8139too", "--rate", "100000", "--count", "500"]
    rates, spent = {}, {}
    for bus in ("none", "pci33"):
        assert cli.main([*words, "--bus", bus, "--json", str(file)]) == 0
        (run,) = json.loads(file.read_text(encoding="utf-8"))["runs"]
        assert run["cross_check"] and run["delivered"] == 500
        rates[bus] = run["achieved_rate_pps"]
        spent[bus] = run["per_packet"]["instructions"]
        waited = run["bus_wait_instructions"]
    # Twelve accesses of a packet do not fit into what is left of 10 us.
    assert rates["none"] > 99999 > 1.05 * rates["pci33"]
    assert spent["pci33"] > spent["none"] + waited
