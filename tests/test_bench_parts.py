# SPDX-License-Identifier: GPL-2.0-only
"""Plans and checks of bench, which need no guest."""

# The checks are worth testing by themselves.
# pylint: disable=protected-access

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fakes
from recorded import (
    KEPT,
    LOAD,
    OUTPUT,
    PROFILE,
    TASK,
    executing,
    outcome,
    region,
    rest,
    trio,
)
from ringside import bench, conservation
from ringside.bench import Load
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import kernel as kernels, run as runs
from ringside.lab.run import Outcome


# Plans


def test_a_receiving_port_is_measured_by_two_runs() -> None:
    """With the port, and with frames to nobody in its place."""
    whole, port, alone = bench.commands(KEPT, LOAD)
    assert whole == port
    assert "--stream gen0,52:54:00:12:34:57,port0 " in whole
    assert "--stream gen0,52:54:00:ff:ff:fe " in alone
    assert whole.replace("52:54:00:12:34:57,port0", "52:54:00:ff:ff:fe") == alone
    for words in ("--rate 20000 ", "--size 60 ", "--count 3 ", "--marks"):
        assert words in f"{whole} "


def test_a_sending_port_is_measured_without_its_receiver() -> None:
    """The generator's receiving is in the whole run only; the rest sends nothing."""
    whole, port, alone = bench.commands(KEPT, replace(LOAD, direction="tx"))
    assert "--stream port0,52:54:00:12:34:56,gen0 " in whole
    assert "--stream port0,52:54:00:ff:ff:fe " in port
    assert alone == f"{port} --idle"


def test_both_directions_have_two_streams() -> None:
    """The rest is the generator's sending."""
    load = replace(LOAD, direction="both")
    whole, port, alone = bench.commands(KEPT, load)
    to_port = "--stream gen0,52:54:00:12:34:57,port0 "
    assert f"{to_port}--stream port0,52:54:00:12:34:56,gen0 " in whole
    assert f"{to_port}--stream port0,52:54:00:ff:ff:fe " in port
    assert alone == bench.commands(KEPT, LOAD)[2]
    assert load.frames() == 6 and LOAD.frames() == 3


def test_nobodys_address_is_nobodys() -> None:
    """Neither port's, and no group address."""
    assert bench._NOBODY not in KEPT.addresses.values()
    assert int(bench._NOBODY[:2], 16) & 1 == 0


@pytest.mark.parametrize(
    "rate, size, direction, good",
    [
        (250000, 60, "rx", True),
        (250001, 60, "rx", False),
        (250000, 1513, "rx", True),
        (250000, 1514, "rx", False),
        (200000, 1514, "tx", True),
        (200001, 60, "tx", False),
        (200001, 60, "both", False),
        (180000, 1514, "both", True),
    ],
)
def test_a_rate_beyond_the_sender_is_refused(
    rate: int, size: int, direction: str, good: bool
) -> None:
    """By what each sending port reached, at the nearest smaller size."""
    load = Load(rate, size, 1, direction)
    if good:
        bench.check_rate(KEPT, load)
        return
    with pytest.raises(UsageError, match=f"rate {rate} is above .* can do") as caught:
        bench.check_rate(KEPT, load)
    assert "\n" not in str(caught.value)


def test_a_rate_without_a_known_limit_is_tried() -> None:
    """A port whose sender was not measured."""
    bench.check_rate(replace(KEPT, limits_pps={}), replace(LOAD, rate_pps=10**9))


@pytest.mark.parametrize("direction, times", [("rx", 2), ("tx", 3), ("both", 3)])
def test_equal_commands_run_once(
    monkeypatch: pytest.MonkeyPatch, direction: str, times: int
) -> None:
    """And the progress told rises to the whole."""
    executed = executing(monkeypatch)
    told: list[float] = []
    task = replace(TASK, load=replace(LOAD, direction=direction))
    bench._execute(KEPT, task, told.append)
    assert len(executed) == len(set(executed)) == times
    assert told == sorted(told) and told[-1] == 1.0


@pytest.mark.parametrize(
    "output, told",
    [
        ("sender: port0: took no frame\nmore\n", "took no frame"),
        ("", "no message"),
    ],
)
def test_a_failed_sender_is_told(
    monkeypatch: pytest.MonkeyPatch, output: str, told: str
) -> None:
    """By the first thing it said."""
    failed = Outcome(1, output, None, [])
    monkeypatch.setattr(runs, "execute", lambda *_: failed)
    with pytest.raises(CannotMeasure, match=f"the sender failed: .*{told}") as caught:
        bench._execute(KEPT, TASK, lambda _: None)
    assert "\n" not in str(caught.value)


# Checks


def result(check: dict[str, str]) -> tuple[str, str]:
    """Name and result of a check."""
    return check["name"], check["result"]


def test_equal_interrupt_counts_pass() -> None:
    """Numbered lines of /proc/interrupts; LOC and its like have no handler."""
    assert result(bench._irq_planes([outcome(), rest()])) == ("planes_irqs", "pass")


@pytest.mark.parametrize(
    "irqs",
    [
        [{"desc": "0x1", "count": 3}],
        [{"desc": "0x1", "count": 3}, {"desc": "0x2", "count": 3}],
        [{"desc": "0x1", "count": 3}, {"desc": "0x2", "count": 4}],
        [
            {"desc": "0x1", "count": 3},
            {"desc": "0x2", "count": 2},
            {"desc": "0x3", "count": 1},
        ],
        [],
    ],
)
def test_other_interrupt_counts_fail(irqs: list[dict[str, Any]]) -> None:
    """One missing, one more, another count; in any run of the repetition."""
    window = {**(outcome().window or {}), "irqs": irqs}
    for outcomes in ([outcome(window=window)], [outcome(), outcome(window=window)]):
        check = bench._irq_planes(outcomes)
        assert result(check) == ("planes_irqs", "fail")
        assert "\n" not in check["detail"]


def test_equal_access_counts_pass() -> None:
    """The aliased BAR is not compared with a region that has another's name."""
    check = bench._mmio_planes(KEPT, PROFILE, [outcome(), rest()])
    assert result(check) == ("planes_mmio", "pass")


@pytest.mark.parametrize("reads, writes", [(5, 9), (7, 9), (6, 8), (0, 0)])
def test_other_access_counts_fail(reads: int, writes: int) -> None:
    """The device must have seen what the CPU did."""
    regions = [region("gen0", "e1000-mmio", "mmio", reads, writes)]
    check = bench._mmio_planes(KEPT, PROFILE, [rest(), outcome(regions=regions)])
    assert result(check) == ("planes_mmio", "fail")
    assert "BAR 0 of gen0" in check["detail"]


def test_accesses_of_several_regions_behind_a_bar_are_added() -> None:
    """e1000e and MSI-X tables have that."""
    regions = [
        region("gen0", "e1000-mmio", "mmio", 2, 9),
        region("gen0", "other", "mmio", 4, 0),
    ]
    check = bench._mmio_planes(KEPT, PROFILE, [outcome(regions=regions)])
    assert result(check) == ("planes_mmio", "pass")


def test_one_run_is_no_repeat() -> None:
    """It is said, not passed."""
    assert result(bench._repeat_check([trio()])) == ("repeat", "skip")


def test_identical_runs_pass_and_any_difference_fails() -> None:
    """The time that a run took here is none."""
    same = [trio(), trio(host_s=7.0)]
    assert result(bench._repeat_check(same)) == ("repeat", "pass")
    window = copy.deepcopy(outcome().window)
    assert window
    window["functions"][-1]["llc_misses"] += 1
    changes: list[dict[str, Any]] = [
        {"window": window},
        {"output": OUTPUT + "x"},
        {"log": ["x"]},
    ]
    for changed in changes:
        check = bench._repeat_check([trio(), trio(), trio(**changed)])
        assert result(check) == ("repeat", "fail")
        assert "run 3" in check["detail"]


def test_a_line_in_any_log_fails() -> None:
    """Also in the run that is taken off."""
    assert result(bench._log_check([trio()])) == ("kernel_log", "pass")
    noisy = bench.Trio(outcome(), outcome(), outcome(log=["x" * 500]))
    check = bench._log_check([trio(), noisy])
    assert result(check) == ("kernel_log", "fail")
    assert check["detail"] == "x" * 200


@pytest.mark.parametrize(
    "achieved, counted, passed, saturated",
    [
        (20000, 3, "pass", False),
        (19801, 3, "pass", False),
        (19799, 3, "pass", True),
        (20000, 2, "fail", False),
    ],
)
def test_the_rate_is_proved_by_the_ports_count(
    achieved: float, counted: int, passed: str, saturated: bool
) -> None:
    """A saturated guest is said and no failure; a port that counts otherwise is."""
    ledger = conservation.Ledger(port_counted=counted, port_expected=3)
    check = bench._rate_check(LOAD, ledger, achieved)
    assert result(check) == ("rate", passed)
    assert ("saturated" in check["detail"]) == saturated


@pytest.mark.parametrize(
    "line, blamed",
    [
        ("RIP: 0010:cp_rx_poll+0x42/0x2a0 [8139cp]", True),
        (" ? cp_interrupt+0x10/0x20 [8139cp]", True),
        (" mii_check_link+0x1/0x2 [mii]", True),
        (" ne_irq+0x1/0x2 [ne2k_pci 0123456789abcdef]", True),
        ("Modules linked in: 8139cp mii e1000", False),
        ("port0: [8139cp] says something", False),
        ("Modules linked in: e1000 [last unloaded: 8139cp]", False),
        (" e1000_intr+0x1/0x2 [e1000]", False),
        (" e1000e_poll+0x1/0x2 [8139cpx]", False),
        (" __netif_receive_skb_core+0x1/0x2", False),
    ],
)
def test_a_trace_blames_the_driver_that_is_in_it(line: str, blamed: bool) -> None:
    """Or one of its helpers; not one that is only loaded, nor one named alike."""
    log = ["BUG: unable to handle page fault", line, "Kernel panic - not syncing: x"]
    modules = frozenset({"8139cp", "mii", "ne2k_pci"})
    assert bench._blames_driver(modules, log) == blamed


def test_names_of_modules_are_those_of_a_trace(tmp_path: Path) -> None:
    """The driver and all that it needs, with underscores."""
    modules = {"ne2k-pci": "8390_x", "8390-x": "", "e1000": ""}
    kernel = kernels.from_folder(fakes.kernel_folder(tmp_path, modules))
    profile = replace(PROFILE, driver="ne2k-pci")
    assert bench._module_names(kernel, profile) == {"ne2k_pci", "8390_x"}
