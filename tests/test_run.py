# SPDX-License-Identifier: GPL-2.0-only
"""What a run gives: parsers of what a guest sent, and whole runs of a fake QEMU."""

# The parsers are worth testing by themselves.
# pylint: disable=protected-access

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

import fakes
from ringside.errors import CannotMeasure
from ringside.lab import run
from ringside.lab.frames import Frame, Reader
from ringside.lab.guest import Guest, GuestDied
from ringside.lab.snapshot import BarRange, Snapshot

DATA = Path(__file__).parent / "data"
TRACE = DATA / "trace/qemu10-8139cp.log"

# Parsers


def test_statistics_of_a_recorded_run() -> None:
    """Names of the kernel and of the driver, both as they came."""
    frames = Reader(DATA / "guest/8139cp.frames").poll()
    after = next(f for f in frames if f.type == "statistics.port0.after")
    values = run._statistics(after.text)
    assert values["rx_packets"] == 35
    assert values["ethtool.rx_ok"] == 35
    assert len(values) == after.text.count("\n")


@pytest.mark.parametrize(
    "text, values",
    [
        ("", {}),
        ("rx_packets 5\n", {"rx_packets": 5}),
        ("ethtool.tx heartbeat 3 7", {"ethtool.tx heartbeat 3": 7}),
        ("delta -5\nbig 18446744073709551615", {"delta": -5, "big": 2**64 - 1}),
        ("no_value\nno_value \n 5\nx y\n\n", {}),
        ("a --5\nb 1.5\nc 0x10\nd \u00b2\ne \u0663\n", {}),
    ],
)
def test_statistics(text: str, values: dict[str, int]) -> None:
    """Lines that end in a number; the rest is passed over."""
    assert run._statistics(text) == values


@settings(max_examples=100)
@given(strategies.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    """Names of counters are the driver's own."""
    assert all(name for name in run._statistics(text))
    assert isinstance(run.log_trouble(text), list)


LOG = """\
6,1017,23981213,-;e1000: gen0 NIC Link is Up 1000 Mbps Full Duplex
 SUBSYSTEM=pci
 DEVICE=+pci:0000:00:02.0
4,1018,23990001,-;8139cp 0000:00:03.0 port0: weird, odd; and long
3,1019,23990002,-;error
12,1020,23990003,-;from user space, a warning
13,1021,23990004,-;from user space, a notice
0,1022,23990005,c,more=x;emergency
5,1023,23990006,-;notice
cut
"""


def test_the_log_keeps_warnings_and_worse() -> None:
    """By the severity in the low three bits; the text whole, dictionary lines not."""
    assert run.log_trouble(LOG) == [
        "8139cp 0000:00:03.0 port0: weird, odd; and long",
        "error",
        "from user space, a warning",
        "emergency",
    ]


def test_the_last_window_counts(tmp_path: Path) -> None:
    """The sender's; earlier ones are those of the snapshot's making."""
    path = tmp_path / "window.json"
    assert run._window(tmp_path) is None
    path.write_text("[]\n")
    assert run._window(tmp_path) is None
    path.write_text('[{"irqs": 1}, {"irqs": 2}]\n')
    assert run._window(tmp_path) == {"irqs": 2}


@pytest.mark.parametrize("text", ["", '[{"irqs": 1}, {"ir', "junk"])
def test_a_cut_window_is_told(tmp_path: Path, text: str) -> None:
    """A disk that ran full ends it anywhere."""
    (tmp_path / "window.json").write_text(text)
    with pytest.raises(CannotMeasure, match="plugin's counts .* damaged"):
        run._window(tmp_path)


def test_values_are_found_by_their_whole_key() -> None:
    """In the order printed; a key is no part of another."""
    output = "stream=0:sent=3\nirq=22:2:IO-APIC  gen0=x\nstream=1:sent=4\nxirq=1\n"
    outcome = run.Outcome(0, output, None, [])
    assert outcome.values("stream") == ["0:sent=3", "1:sent=4"]
    assert outcome.values("irq") == ["22:2:IO-APIC  gen0=x"]
    assert outcome.values("sent") == []


# Whole runs


def framed(kind: str, text: str) -> str:
    """Shell text that sends a frame of one line without its newline."""
    checksum = zlib.crc32(text.encode())
    return (
        f"printf '\\001RSF %s %d %08x\\n%s\\n' {kind} {len(text)} {checksum}"
        f" '{text}' >> \"$frames\""
    )


# Finds where the trace and the frames go among QEMU's arguments.
FIND = """
while [ $# -gt 0 ]; do case $1 in
-D) trace=$2 ;;
file,id=frames,path=*) frames=${1#*path=}; folder=${frames%/frames} ;;
esac; shift; done
"""


def snapshot(folder: Path, text: str) -> Snapshot:
    """A kept guest whose QEMU is this shell text."""
    qemu = fakes.script(folder / "qemu", FIND + text)
    (folder / "state.qcow2").write_bytes(b"state")
    return Snapshot(
        folder=folder,
        key="k",
        machine=[str(qemu)],
        addresses={"gen0": "52:54:00:12:34:56", "port0": "52:54:00:12:34:57"},
        bars=[
            BarRange("gen0", 0, "mmio", 0xFEBC0000, 0x20000),
            BarRange("port0", 0, "port", 0xC000, 0x100),
            BarRange("port0", 1, "mmio", 0xFEBE0000, 0x100),
        ],
        napi={},
        irqs={},
        limits_pps={},
    )


@pytest.fixture(name="scratch")
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs keep their files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_run_gathers_every_plane(tmp_path: Path, scratch: Path) -> None:
    """Device truth, output, statistics and log; then nothing is left."""
    text = "\n".join(
        [
            'cmp -s "$folder/state.qcow2" ' + f"{tmp_path}/state.qcow2 || exit 9",
            f'cat {TRACE} > "$trace"',
            framed("statistics.port0.before", "rx_packets 1"),
            framed("output", "achieved_rate_pps=1.000"),
            framed("statistics.port0.after", "rx_packets 4"),
            framed("log", "4,1,2,-;odd"),
            framed("done", "0"),
            "exec sleep 60",
        ]
    )
    outcome = run.execute(snapshot(tmp_path, text), "sender", None)
    assert outcome.status == 0
    assert outcome.values("achieved_rate_pps") == ["1.000"]
    assert outcome.statistics == {
        "port0.before": {"rx_packets": 1},
        "port0.after": {"rx_packets": 4},
    }
    assert outcome.log == ["odd"]
    assert outcome.window is None
    found = {(r["port"], r["name"]): (r["reads"], r["writes"]) for r in outcome.regions}
    assert found == {("port0", "rtl8139"): (12, 12), ("gen0", "e1000-mmio"): (6, 9)}
    assert not list(scratch.iterdir())


def test_a_run_that_is_cut_short_leaves_nothing(tmp_path: Path, scratch: Path) -> None:
    """QEMU died before its window ended."""
    text = f'head -n 20 {TRACE} > "$trace"; echo broken >&2; exit 1'
    with pytest.raises(GuestDied, match="ended early: broken"):
        run.execute(snapshot(tmp_path, text), "sender", None)
    assert not list(scratch.iterdir())


def test_a_qemu_that_never_opens_its_trace_does_not_hang_the_run(
    tmp_path: Path, scratch: Path
) -> None:
    """A pipe blocks whoever opens one end of it first."""
    with pytest.raises(GuestDied, match="status 1"):
        run.execute(snapshot(tmp_path, "exit 1"), "sender", None)
    assert not list(scratch.iterdir())


def test_progress_is_told(tmp_path: Path, scratch: Path) -> None:
    """One for each progress mark."""
    mark = "memory_region_ops_write cpu 0 mr 0x1 addr 0x80 value 0xa3 size 1 name 'x'"
    text = f'for i in 1 2 3; do echo "{mark}"; done > "$trace"; sleep 0.3; '
    text += f"{framed('done', '0')}; exec sleep 60"
    told: list[int] = []
    run.execute(snapshot(tmp_path, text), "sender", None, told.append)
    assert told[-1] == 3 and sorted(told) == told
    assert not list(scratch.iterdir())


def test_a_failed_counter_is_told(tmp_path: Path, scratch: Path) -> None:
    """Too many regions: no count at all is better than one of a part."""
    start = "memory_region_ops_write cpu 0 mr 0x1 addr 0x80 value 0xa1 size 1 name 'x'"
    line = "memory_region_ops_read cpu 0 mr 0x1 addr 0xc000 value 0x0 size 4 name"
    text = f"""{{ echo "{start}"; i=0; while [ $i -lt 200 ]; do
    echo "{line} 'r$i'"; i=$((i+1)); done; }} > "$trace"
    {framed("done", "0")}
    exec sleep 60"""
    with pytest.raises(CannotMeasure, match="more regions than it can count"):
        run.execute(snapshot(tmp_path, text), "sender", None)
    assert not list(scratch.iterdir())


def test_a_failed_counter_ends_the_run_at_once(tmp_path: Path, scratch: Path) -> None:
    """QEMU would wait for ever for room in the pipe."""
    mark = "memory_region_ops_write cpu 0 mr 0x1 addr 0x80 value 0xa1 size 1 name 'x'"
    line = "memory_region_ops_read cpu 0 mr 0x1 addr 0xc000 value 0x0 size 4 name"
    text = f"""{{ echo "{mark}"; i=0; while :; do
    echo "{line} 'r$i'"; i=$((i+1)); done; }} > "$trace"
    """
    with pytest.raises(CannotMeasure, match="more regions than it can count"):
        run.execute(snapshot(tmp_path, text), "sender", None)
    assert not list(scratch.iterdir())


def test_frames_go_to_their_fields(tmp_path: Path) -> None:
    """By the frame's type; others are for the snapshot."""
    running = Guest(tmp_path, ["true"])
    frames = [Frame("output", b"x=1"), Frame("irqs.port0", b"23"), Frame("log", b"")]
    running.frames().extend(frames)
    truth: dict[str, Any] = {"regions": [{"name": "a"}], "host_ns": 2_500_000_000}
    (tmp_path / "window.json").write_text(json.dumps([{"a": 1}]))
    outcome = run._collect(running, truth, 3)
    assert outcome == run.Outcome(3, "x=1", {"a": 1}, [{"name": "a"}], {}, [])
    assert outcome.host_s == 2.5
