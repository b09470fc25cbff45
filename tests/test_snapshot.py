# SPDX-License-Identifier: GPL-2.0-only
"""What a booted guest tells about itself, and the keeping of it."""

# The parsers are worth testing by themselves.
# pylint: disable=protected-access

import json
from pathlib import Path

import pytest

from ringside.errors import CannotMeasure
from ringside.lab import snapshot
from ringside.lab.frames import Frame
from ringside.lab.guest import Guest
from ringside.lab.snapshot import BarRange, Snapshot

NOTHING = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
# /sys/bus/pci/devices/*/resource in the lab: six BARs, the ROM, bridges' windows.
RTL8139 = (
    "0x000000000000c000 0x000000000000c0ff 0x0000000000040101\n"
    "0x00000000febe0000 0x00000000febe00ff 0x0000000000040200\n" + NOTHING * 11
)
VIRTIO = (
    "0x000000000000c080 0x000000000000c09f 0x0000000000040101\n"
    "0x00000000febe0000 0x00000000febe0fff 0x0000000000040200\n"
    + NOTHING * 2
    + "0x0000380000000000 0x0000380000003fff 0x000000000014220c\n"
    + NOTHING
    + "0x00000000feb80000 0x00000000febbffff 0x0000000000046200\n"
    + NOTHING * 6
)

BARS = {
    "port_and_memory": (
        RTL8139,
        [(0, "port", 0xC000, 0x100), (1, "mmio", 0xFEBE0000, 0x100)],
    ),
    "gap_64_bit_and_rom": (
        VIRTIO,
        [
            (0, "port", 0xC080, 0x20),
            (1, "mmio", 0xFEBE0000, 0x1000),
            (4, "mmio", 0x380000000000, 0x4000),
        ],
    ),
    "none": (NOTHING * 13, []),
    "no_text": ("", []),
}


@pytest.mark.parametrize("listing, bars", BARS.values(), ids=BARS)
def test_bars_are_read(listing: str, bars: list[tuple[int, str, int, int]]) -> None:
    """With their own number; an expansion ROM is no BAR of the driver's."""
    assert snapshot._parse_bars("port0", listing) == [
        BarRange("port0", *bar) for bar in bars
    ]


def test_limits_are_read() -> None:
    """By port and size."""
    assert snapshot._parse_limits(
        "gen0 60 252932.584\ngen0 1514 1e5\nport0 60 7\n"
    ) == {
        "gen0": {60: 252932.584, 1514: 100000.0},
        "port0": {60: 7.0},
    }
    assert not snapshot._parse_limits("")


TRACE = """\
# tracer: nop
          <idle>-0       [000] ..s1.     4.100000: napi_poll: napi poll on napi struct \
ffff8880054d6a18 for device port0 work 1 budget 64
          <idle>-0       [000] ..s1.     4.200000: napi_poll: napi poll on napi struct \
0xffff8880054d2cb0 for device gen0 work 0 budget 64
          <idle>-0       [000] ..s1.     4.300000: napi_poll: napi poll on napi struct \
ffff88800f437488 for device (no_device) work 1 budget 64
          <idle>-0       [000] d.h1.     4.300100: irq_handler_entry: irq=23 name=port0
"""


def booted(folder: Path, frames: dict[str, str], console: str = "") -> Guest:
    """A guest that has sent these frames."""
    running = Guest(folder, ["true"])
    sent = [Frame(kind, text.encode()) for kind, text in frames.items()]
    running.frames().extend(sent)
    (folder / "console").write_text(console, encoding="utf-8")
    return running


def test_facts_are_what_the_agent_told(tmp_path: Path) -> None:
    """In a form that survives JSON; what was not told is empty."""
    frames = {
        "release": "6.12.0",
        "address.gen0": "52:54:00:12:34:56\n",
        "resource.port0": RTL8139,
        "trace": TRACE,
        "irqs.port0": "25\n26\n24\n",
        "limits": "gen0 60 1.0\n",
        "sections": "mii .text 0xffffffffc0230000\n",
    }
    facts = snapshot._facts(booted(tmp_path, frames))
    assert json.loads(json.dumps(facts)) == {
        "addresses": {"gen0": "52:54:00:12:34:56", "port0": ""},
        "resources": {"gen0": "", "port0": RTL8139},
        "napi": {
            "ffff8880054d6a18": "port0",
            "ffff8880054d2cb0": "gen0",
            "ffff88800f437488": "(no_device)",
        },
        "irqs": {"gen0": [], "port0": ["25", "26", "24"]},
        "limits": "gen0 60 1.0\n",
        "sections": "mii .text 0xffffffffc0230000\n",
        "release": "6.12.0",
    }


def test_symbols_are_joined_from_all_their_frames(tmp_path: Path) -> None:
    """They are too many for one."""
    running = Guest(tmp_path, ["true"])
    for kind, data in (("symbols", b"1 a\n"), ("log", b"x"), ("symbols", b"2 b\n")):
        running.frames().append(Frame(kind, data))
    assert snapshot._listed_symbols(running) == "1 a\n2 b\n"


TROUBLE = [
    "[    1.0] BUG: unable to handle page fault for address: 0",
    "[    1.0] WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 x+0x1/0x2",
    "[    1.0] Oops: 0000 [#1] PREEMPT SMP",
    "[    1.0] Call Trace:",
]


@pytest.mark.parametrize("line", TROUBLE)
def test_a_boot_with_trouble_is_not_kept(tmp_path: Path, line: str) -> None:
    """Every run would start from it; the line is told."""
    console = f"Linux version 6.12\n{line}\nmore\n"
    with pytest.raises(CannotMeasure) as caught:
        snapshot._check_boot(booted(tmp_path, {}, console))
    assert str(caught.value).endswith(line)


def test_a_clean_boot_is_kept(tmp_path: Path) -> None:
    """DEBUG: and words like it are no trouble."""
    console = "x86/cpu: DEBUG: fine\nDoops: fine\nno BUG here\n"
    snapshot._check_boot(booted(tmp_path, {}, console))


class Monitor:
    """Stands for QEMU: answers of the human monitor, and how often it still runs."""

    def __init__(self, answers: dict[str, str], running: int) -> None:
        self.answers = answers
        self.running = running
        self.done: list[str] = []

    def execute(self, command: str) -> dict[str, bool]:
        """Notes the command; each look at the guest is a step to its pause."""
        self.done.append(command)
        self.running -= command == "query-status"
        return {"running": self.running >= 0}

    def monitor(self, line: str) -> str:
        """The answer to that line."""
        self.done.append(line)
        return self.answers[line]

    def close(self) -> None:
        """Notes the end."""
        self.done.append("close")


LISTED = "ID  TAG    VM SIZE  DATE  VM CLOCK\n--  ready  80 MiB   2026  00:00:05\n"


def saving(
    monkeypatch: pytest.MonkeyPatch, savevm: str, listed: str, running: int = 0
) -> Monitor:
    """A QEMU that answers so when it is to keep a guest."""
    answers = {"savevm ready": savevm, "info snapshots": listed}
    monitor = Monitor(answers, running)
    monkeypatch.setattr(snapshot, "Qmp", lambda path: monitor)
    return monitor


def test_a_guest_is_kept_only_once_it_has_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself; then QEMU is asked to end, which closes the disk in order."""
    monitor = saving(monkeypatch, "", LISTED, running=2)
    snapshot._save(tmp_path)
    asked = ["query-status"] * 3
    kept = ["savevm ready", "info snapshots", "quit", "close"]
    assert monitor.done == asked + kept


def test_a_guest_that_never_pauses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time allowed, and it is not kept."""
    monkeypatch.setattr(snapshot, "_PAUSE_S", 0.05)
    monitor = saving(monkeypatch, "", LISTED, running=10**9)
    with pytest.raises(CannotMeasure, match="does not pause to be kept"):
        snapshot._save(tmp_path)
    assert set(monitor.done) == {"query-status"}


@pytest.mark.parametrize(
    "savevm, listed, told",
    [
        (
            "Error: No space left on device\r\n",
            LISTED,
            "Error: No space left on device",
        ),
        ("", "There is no snapshot available.\r\n", "QEMU kept nothing"),
    ],
)
def test_a_guest_that_was_not_kept_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    savevm: str,
    listed: str,
    told: str,
) -> None:
    """QEMU says it in text only, or not at all."""
    saving(monkeypatch, savevm, listed)
    with pytest.raises(CannotMeasure) as caught:
        snapshot._save(tmp_path)
    assert str(caught.value) == f"cannot keep the guest: {told}"


def test_a_run_gets_a_copy_of_its_own(tmp_path: Path) -> None:
    """Writing to it leaves the kept state as it was."""
    kept_folder, run_folder = tmp_path / "kept", tmp_path / "run"
    kept_folder.mkdir()
    run_folder.mkdir()
    (kept_folder / "state.qcow2").write_bytes(b"kept")
    kept = Snapshot(kept_folder, "k", ["qemu", "-m"], {}, [], {}, {}, {})
    kept.prepare(run_folder)
    (run_folder / "state.qcow2").write_bytes(b"changed")
    assert (kept_folder / "state.qcow2").read_bytes() == b"kept"
    assert kept.arguments() == ["qemu", "-m", "-loadvm", "ready"]
