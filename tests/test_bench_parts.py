# SPDX-License-Identifier: GPL-2.0-only
"""The parts of bench that need no guest: plans, checks, and entries of the result."""

# The checks are worth testing by themselves.
# pylint: disable=protected-access

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fakes
from ringside import bench, profiles
from ringside.bench import Load, Task
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import kernel as kernels, run as runs, snapshot
from ringside.lab.guest import GuestDied
from ringside.lab.kernel import LabKernel
from ringside.lab.run import Outcome
from ringside.lab.snapshot import BarRange, Snapshot
from ringside.report import schema

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
stream=0:sent=3:delivered=3:duplicated=0:corrupted=0:stack_drops=0:refused=0:warmed_up=0
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


def trio(**changed: Any) -> bench._Trio:
    """Outcomes of one repetition whose whole run has some parts changed."""
    whole = outcome(**changed)
    return bench._Trio(whole, whole, rest())


@pytest.fixture(name="kernel")
def _kernel(tmp_path: Path) -> LabKernel:
    return kernels.from_folder(
        fakes.kernel_folder(tmp_path, {"8139cp": "mii", "mii": ""})
    )


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


@pytest.fixture(name="executed")
def _executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Commands that would have run; the outcome is the recorded one."""
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


@pytest.mark.parametrize("direction, times", [("rx", 2), ("tx", 3), ("both", 3)])
def test_equal_commands_run_once(
    executed: list[str], direction: str, times: int
) -> None:
    """And the progress told rises to the whole."""
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
    for changed in ({"window": window}, {"output": OUTPUT + "x"}, {"log": ["x"]}):
        check = bench._repeat_check([trio(), trio(), trio(**changed)])
        assert result(check) == ("repeat", "fail")
        assert "run 3" in check["detail"]


def test_a_line_in_any_log_fails() -> None:
    """Also in the run that is taken off."""
    assert result(bench._log_check([trio()])) == ("kernel_log", "pass")
    noisy = bench._Trio(outcome(), outcome(), outcome(log=["x" * 500]))
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
    ledger = bench.conservation.Ledger(port_counted=counted, port_expected=3)
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


# Entries


def document(entry: dict[str, Any]) -> dict[str, Any]:
    """A stored result with that entry as its only one."""
    stored = json.loads((DATA / "results/rx_sweep.json").read_text())
    assert isinstance(stored, dict)
    return {**stored, "runs": [entry]}


def test_a_good_run_makes_a_valid_entry(kernel: LabKernel) -> None:
    """8139cp by the recorded run: four reads, four writes, nothing dropped."""
    entry = bench._entry(kernel, TASK, KEPT, [trio()])
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
    entry = bench._entry(kernel, TASK, KEPT, [trio()])
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
    entry = bench._entry(kernel, TASK, KEPT, [trio(output=lost)])
    schema.validate(document(entry))
    assert entry["status"] == "fail" and entry["unexplained"] == 1
    assert entry["error"].startswith(
        "conservation: sent 3 = delivered 2 + 1 unexplained"
    )
    assert entry["per_packet"]["mmio_reads"] == 4.0


def test_a_port_without_interrupts_has_no_ratio(kernel: LabKernel) -> None:
    """Null with a reason, no division by zero."""
    output = OUTPUT.replace("irq=23:3:IO-APIC  23-fasteoi   port0\n", "")
    entry = bench._entry(kernel, TASK, KEPT, [trio(output=output)])
    schema.validate(document(entry))
    assert entry["packets_per_irq"] is None
    assert "no interrupt" in entry["reasons"]["packets_per_irq"]


def test_a_driver_without_napi_has_no_polls(kernel: LabKernel) -> None:
    """Null with a reason in both tables."""
    task = replace(TASK, profile=replace(PROFILE, napi=False))
    entry = bench._entry(kernel, task, KEPT, [trio()])
    schema.validate(document(entry))
    assert entry["per_packet"]["polls"] is None
    assert entry["generator_per_packet"]["polls"] is None
    assert "no NAPI" in entry["reasons"]["polls"]


def test_more_in_the_rest_than_with_the_port_is_shown(kernel: LabKernel) -> None:
    """Negative counts are odd, and no reason to lose the whole result."""
    windows = (outcome(), outcome())
    for window, polls in zip(windows, ([], [[1, 3]]), strict=True):
        assert window.window
        window.window["polls"] = [
            {"napi": "0xffff8880054a8a18", "polls": 3 * len(polls), "packets": polls}
        ]
    port = replace(windows[0], regions=[])
    entry = bench._entry(kernel, TASK, KEPT, [bench._Trio(port, port, windows[1])])
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
    kernel: LabKernel, monkeypatch: pytest.MonkeyPatch, executed: list[str]
) -> None:
    """With one progress over all repetitions."""
    monkeypatch.setattr(snapshot, "get", lambda *_: KEPT)
    told: list[float] = []
    entry = bench.measure(kernel, replace(TASK, repeats=3), told.append)
    assert len(executed) == 6 and entry["repeats"] == 3
    assert told == sorted(told) and told[-1] == 1.0
    checks = {check["name"]: check["result"] for check in entry["checks"]}
    assert checks["repeat"] == "pass"
