# SPDX-License-Identifier: GPL-2.0-only
"""The counter of traced accesses, on logs of real QEMUs and on hostile ones."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from ringside import builds

DATA = Path(__file__).parent / "data/trace"
# BARs of the guests in which the logs were recorded.
BARS_8139 = [
    "gen0:0:mmio:febc0000:20000",
    "gen0:1:port:c100:40",
    "port0:0:port:c000:100",
    "port0:1:mmio:febe0000:100",
]
BARS_TULIP = [
    "gen0:0:mmio:febc0000:20000",
    "gen0:1:port:c080:40",
    "port0:0:port:c000:80",
    "port0:1:mmio:febe0000:80",
]


@pytest.fixture(name="tally", scope="module")
def _tally() -> Path:
    return builds.tally()


def run(
    tally: Path, text: str | bytes, *bars: str
) -> subprocess.CompletedProcess[bytes]:
    """The tally of a trace."""
    data = text.encode() if isinstance(text, str) else text
    return subprocess.run(
        [tally, *(bars or BARS_8139)], input=data, check=False, capture_output=True
    )


def windows(tally: Path, text: str | bytes, *bars: str) -> list[list[dict[str, Any]]]:
    """Regions of each window."""
    result = run(tally, text, *bars)
    assert result.returncode == 0 and result.stderr == b""
    lines = result.stdout.decode().splitlines()
    return [json.loads(line)["regions"] for line in lines if line != "progress"]


def access(kind: str, address: int, value: int = 0, name: str = "rtl8139") -> str:
    """A line of the trace."""
    return (
        f"memory_region_ops_{kind} cpu 0 mr 0x562d65dec200 addr {address:#x}"
        f" value {value:#x} size 4 name '{name}'\n"
    )


START = access("write", 0x80, 0xA1, "ioport80")
STOP = access("write", 0x80, 0xA2, "ioport80")
PROGRESS = access("write", 0x80, 0xA3, "ioport80")
READ = access("read", 0xC03C)


def region(port: str, bar: int, space: str, name: str, *counts: int) -> dict[str, Any]:
    """A region of the output: counts are reads and writes."""
    return {"port": port, "bar": bar, "space": space, "name": name} | {
        "reads": counts[0],
        "writes": counts[1],
    }


RTL = region("port0", 0, "port", "rtl8139", 1, 0)

RECORDED = {
    "qemu10-8139cp.log": (
        BARS_8139,
        [
            region("gen0", 0, "mmio", "e1000-mmio", 6, 9),
            region("port0", 0, "port", "rtl8139", 12, 12),
        ],
    ),
    "qemu7-tulip.log": (
        BARS_TULIP,
        [
            region("gen0", 0, "mmio", "e1000-mmio", 6, 9),
            region("port0", 0, "port", "tulip-io", 15, 12),
        ],
    ),
}
# With -msg timestamp=on, each line begins with process and time.
PREFIXES = ["", "4711@1764530000.123456:", "2026-11-30T19:03:01.123456Z "]


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_recorded_logs_give_what_the_drivers_did(
    tally: Path, name: str, prefix: str
) -> None:
    """Three frames: 8139cp 4 and 4 accesses each, tulip 5 and 4."""
    bars, regions = RECORDED[name]
    text = re.sub("^", prefix, (DATA / name).read_text(), flags=re.MULTILINE)
    (found,) = windows(tally, text, *bars)
    assert sorted(found, key=lambda r: str(r["port"])) == regions


def test_only_the_window_is_counted(tally: Path) -> None:
    """Before, between and after are not; each window begins with nothing."""
    text = READ + START + READ + STOP + READ + START + READ * 2 + STOP + READ
    first, second = windows(tally, text)
    assert (first, second[0]["reads"], second[0]["writes"]) == ([RTL], 2, 0)


def test_a_second_start_begins_anew(tally: Path) -> None:
    """The one before it was given up."""
    assert windows(tally, START + READ * 3 + START + READ + STOP) == [[RTL]]


def test_a_stop_without_a_start_is_nothing(tally: Path) -> None:
    """Nor is a second one."""
    assert windows(tally, STOP + READ + STOP) == []
    assert len(windows(tally, START + STOP + STOP)) == 1


def test_a_window_without_its_end_is_not_told(tally: Path) -> None:
    """The guest died in it."""
    assert windows(tally, START + READ) == []


def test_other_writes_to_the_mark_port_are_no_marks(tally: Path) -> None:
    """The firmware writes its own codes there, and reads are none."""
    other = access("write", 0x80, 0xA0, "ioport80") + access("read", 0x80, 0xA2, "x")
    assert windows(tally, START + other + READ + STOP) == [[RTL]]


def test_progress_is_told_when_it_happens(tally: Path) -> None:
    """Not only when the input ends: a reader waits for it."""
    with subprocess.Popen(
        [tally, *BARS_8139], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        for text in (START, PROGRESS):
            process.stdin.write(text.encode())
        process.stdin.flush()
        assert process.stdout.readline() == b"progress\n"
        process.stdin.write(STOP.encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["regions"] == []
        process.stdin.close()


def test_the_window_has_its_time(tally: Path) -> None:
    """Of the host, from start to stop."""
    with subprocess.Popen(
        [tally], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write((START + PROGRESS).encode())
        process.stdin.flush()
        process.stdout.readline()
        subprocess.run(["sleep", "0.1"], check=True)
        process.stdin.write(STOP.encode())
        process.stdin.close()
        window = json.loads(process.stdout.readline())
    assert 100_000_000 <= window["host_ns"] < 30_000_000_000


@pytest.mark.parametrize(
    "address, counted",
    [
        (0xBFFF, None),
        (0xC000, ("port0", 0)),
        (0xC0FF, ("port0", 0)),
        (0xC100, ("gen0", 1)),
        (0xC13F, ("gen0", 1)),
        (0xC140, None),
        (0xFEBDFFFF, ("gen0", 0)),
        (0xFEBE0000, ("port0", 1)),
        (0xFEBE00FF, ("port0", 1)),
        (0xFEBE0100, None),
        (0x1C000, None),
    ],
)
def test_an_access_belongs_to_the_bar_it_is_in(
    tally: Path, address: int, counted: tuple[str, int] | None
) -> None:
    """First and last byte of each BAR, and their neighbours."""
    (found,) = windows(tally, START + access("write", address) + STOP)
    assert [(r["port"], r["bar"], r["writes"]) for r in found] == (
        [(*counted, 1)] if counted else []
    )


def test_the_spaces_are_told_apart(tally: Path) -> None:
    """A port number may be the address of memory in another space."""
    bars = ["a:0:mmio:c000:100", "b:0:port:c000:100", "c:0:port:20000:100"]
    text = START + READ + access("read", 0x20000) + STOP
    assert windows(tally, text, *bars) == [[region("b", 0, "port", "rtl8139", 1, 0)]]


def test_regions_of_a_bar_are_told_apart(tally: Path) -> None:
    """By name, in the order seen."""
    text = START + READ + access("write", 0xC000, 0, "other") + READ + STOP
    (found,) = windows(tally, text)
    assert [(r["name"], r["reads"], r["writes"]) for r in found] == [
        ("rtl8139", 2, 0),
        ("other", 0, 1),
    ]


HOSTILE = ['a"b', "a\\b", "a\x01\x1fb", "a\u00e9b", "", " addr 0xc0ff ", '"}]}', "%s%n"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_still_gives_json(tally: Path, name: str) -> None:
    """What JSON could not hold is left out; the counts are right."""
    (found,) = windows(tally, START + access("read", 0xC03C, 0, name) + STOP)
    assert [(r["reads"], r["writes"]) for r in found] == [(1, 0)]
    kept = "".join(c for c in name if " " <= c <= "~" and c not in '"\\')
    assert found[0]["name"] == kept


@pytest.mark.parametrize("length", [62, 63, 64, 300, 600, 5000])
def test_a_long_name_is_cut_and_counted_once(tally: Path, length: int) -> None:
    """Also beyond the reader's line."""
    line = access("read", 0xC03C, 0, "n" * length)
    (found,) = windows(tally, START + line * 2 + READ + STOP)
    assert [(len(r["name"]), r["reads"]) for r in found] == [
        (min(length, 63), 2),
        (7, 1),
    ]


def test_the_end_of_a_long_line_is_no_line(tally: Path) -> None:
    """A name must not be able to forge accesses or marks."""
    for offset in range(480, 520):
        forged = "x" * (offset - len(access("read", 0xC03C, 0, ""))) + STOP.strip()
        text = START + access("read", 0xC03C, 0, forged) + READ + STOP
        (found,) = windows(tally, text)
        assert sum(r["reads"] for r in found) == 2


CUT = [
    READ[:-3].rstrip("\n"),
    READ[:60] + "\n",
    READ.replace(" name 'rtl8139'", ""),
    READ.replace(" addr 0xc03c", ""),
    READ.replace(" value 0x0", ""),
    READ.replace("memory_region_ops", "memory_region_tb"),
    "\n",
    "\0\0\n",
    "qemu-system-x86_64: warning: something\n",
]


@pytest.mark.parametrize("line", CUT)
def test_a_line_that_is_not_whole_is_passed_over(tally: Path, line: str) -> None:
    """At the end of the log or in the midst of it."""
    line = line if line.endswith("\n") else f"{line}\n"
    assert windows(tally, START + READ + line + STOP)[0] == [RTL]
    assert windows(tally, START + READ + STOP + START + line.rstrip("\n")) == [[RTL]]


def test_too_many_regions_are_refused(tally: Path) -> None:
    """128 are counted; one more is an error and no wrong count."""
    lines = [access("read", 0xC000, 0, f"r{n}") for n in range(129)]
    (found,) = windows(tally, START + "".join(lines[:128]) + STOP)
    assert len(found) == 128
    result = run(tally, START + "".join(lines) + STOP)
    assert result.returncode == 1 and result.stdout == b""
    assert result.stderr == b"tally: more regions than it can count\n"


@pytest.mark.parametrize(
    "bar",
    [
        "",
        "port0",
        "port0:0:mmio:febc0000",
        "port0:x:mmio:febc0000:100",
        "port0:0:io:febc0000:100",
        "port0:0:mmio:zzz:100",
        ":0:mmio:febc0000:100",
    ],
)
def test_a_wrong_bar_is_refused(tally: Path, bar: str) -> None:
    """In one line that shows it."""
    result = run(tally, "", "gen0:0:mmio:febc0000:20000", bar)
    assert result.returncode == 2 and result.stdout == b""
    assert result.stderr.count(b"\n") == 1 and bar.encode() in result.stderr


def test_too_many_bars_are_refused(tally: Path) -> None:
    """33 of them."""
    bars = [f"p:0:port:{n:x}000:100" for n in range(33)]
    assert run(tally, "", *bars[:32]).returncode == 0
    assert run(tally, "", *bars).returncode == 2


LINES = strategies.one_of(
    strategies.sampled_from([START, STOP, PROGRESS, READ, *CUT]).map(str.encode),
    strategies.binary(max_size=600),
    strategies.integers(0, 2**64 - 1).map(lambda a: access("write", a).encode()),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lines=strategies.lists(LINES, max_size=12))
def test_any_log_gives_json_and_no_crash(tally: Path, lines: list[bytes]) -> None:
    """Whatever the pipe carries."""
    result = run(tally, b"".join(lines))
    assert result.returncode == 0 and result.stderr == b""
    for line in result.stdout.splitlines():
        assert line == b"progress" or set(json.loads(line)) == {"host_ns", "regions"}
