# SPDX-License-Identifier: GPL-2.0-only
"""The sender over a pair of virtual ports: what is lost, doubled or damaged is counted."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringside import builds

TO = "52:54:00:00:00:0b"
NOBODY = "52:54:00:ff:ff:fe"
PAIR = f"""
ip link add va address 52:54:00:00:00:0a type veth peer name vb address {TO}
sysctl -qw net.ipv6.conf.all.disable_ipv6=1
ip link set va up
ip link set vb up
echo ready
exec sleep 300
"""
# Sees the first frame at vb, changes it as told and sends it from va so often.
INJECT = """
import socket, sys
times, at, value = (int(word) for word in sys.argv[1:])
seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
seen.bind(("vb", 0x88B5))
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
out.bind(("va", 0))
print("ready", flush=True)
frame = bytearray(seen.recv(2048))
if at >= 0:
    frame[at] ^= value
for _ in range(times):
    out.send(frame)
"""


class Ports:
    """Two virtual ports, va and vb, in a network of their own."""

    def __init__(self, pid: int, sender: Path) -> None:
        self.inside = ["nsenter", "-t", str(pid), "-n"]
        self._sender = sender

    def command(self, *words: str) -> list[str]:
        """The sender's command line between the ports, 200 frames at 2,000 pps."""
        options = {
            "--stream": f"va,{TO},vb",
            "--rate": "2000",
            "--size": "60",
            "--count": "200",
        }
        line = [*self.inside, str(self._sender)]
        for name, value in options.items():
            if name not in words:
                line += [name, value]
        return [*line, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A whole run."""
        return subprocess.run(
            self.command(*words),
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def ip(self, *words: str) -> None:
        """Changes a port."""
        subprocess.run([*self.inside, "ip", *words], check=True)


@pytest.fixture(name="sender", scope="module")
def _sender() -> Path:
    return builds.sender()


@pytest.fixture(name="ports")
def _ports(sender: Path) -> Iterator[Ports]:
    if os.geteuid():
        pytest.skip("needs root to make virtual ports")
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-ec", PAIR],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout and holder.stderr
        try:
            if holder.stdout.readline() != "ready\n":
                pytest.skip(f"no virtual ports here: {holder.stderr.read().strip()}")
            yield Ports(holder.pid, sender)
        finally:
            holder.kill()


def values(result: subprocess.CompletedProcess[str]) -> dict[str, float]:
    """The sender's figures; those of a stream under its number."""
    assert result.returncode == 0, result.stderr
    return figures(result.stdout)


def figures(output: str) -> dict[str, float]:
    """Figures of an output."""
    found: dict[str, float] = {}
    for line in output.splitlines():
        key, _, rest = line.partition("=")
        if key == "stream":
            number, *words = rest.split(":")
            pairs = [word.split("=") for word in words]
            found |= {f"{number}.{name}": float(value) for name, value in pairs}
        elif key != "irq":
            found[key] = float(rest)
    return found


def test_marks_are_made_by_a_file(ports: Ports, tmp_path: Path) -> None:
    """Start, signs of life and stop, as numbers in decimal; then no port is needed."""
    file = tmp_path / "mark"
    file.touch()
    # The window has a phase of its own: it begins up to two seconds later.
    result = ports.run("--mark-file", str(file), "--warmup", "10")
    assert values(result)["0.delivered"] == 200
    marks = file.read_text(encoding="ascii").split()
    assert marks.count("161") == marks.count("162") == 1
    assert marks[-1] == "162" and set(marks) <= {"161", "162", "163"}
    result = ports.run("--mark-file", str(tmp_path / "none/mark"))
    assert result.returncode == 3 and "none/mark: No such file" in result.stderr


@contextmanager
def injecting(ports: Ports, times: int, at: int = -1, value: int = 0) -> Iterator[None]:
    """While the first frame is sent again so often, byte at changed by value."""
    words = [sys.executable, "-c", INJECT, str(times), str(at), str(value)]
    with subprocess.Popen(
        [*ports.inside, *words], stdout=subprocess.PIPE, text=True
    ) as injector:
        assert injector.stdout
        assert injector.stdout.readline() == "ready\n"
        yield
        assert injector.wait(timeout=10) == 0


LATE = ("--settle-us", "100000")


@pytest.mark.parametrize("size", ["60", "61", "1514"])
def test_every_frame_arrives_once_and_whole(ports: Ports, size: str) -> None:
    """Sent, delivered, and nothing else."""
    found = values(ports.run("--size", size))
    assert found["0.sent"] == found["0.delivered"] == 200
    names = ["duplicated", "corrupted", "stack_drops", "refused"]
    names += ["warmup_sent", "warmed_up", "warmup_drops"]
    assert [found[f"0.{name}"] for name in names] == [0] * 7


def test_time_and_rate_are_those_asked_for(ports: Ports) -> None:
    """The window has the frames' turns and the time after them; no frame is early."""
    found = values(ports.run("--settle-us", "5000"))
    assert found["window_ns"] >= 200 / 2000 * 1e9 + 5e6
    assert 0 < found["achieved_rate_pps"] < 2000 * 1.5
    assert 0 <= found["late_ns_median"] <= found["late_ns_p99"] <= found["late_ns_max"]


def test_both_directions_are_counted_apart(ports: Ports) -> None:
    """Two streams in one run."""
    back = "vb,52:54:00:00:00:0a,va"
    found = values(ports.run("--stream", f"va,{TO},vb", "--stream", back))
    for stream in "01":
        assert found[f"{stream}.sent"] == found[f"{stream}.delivered"] == 200
        assert found[f"{stream}.corrupted"] == 0


def test_a_stream_that_nobody_checks_is_only_sent(ports: Ports) -> None:
    """Frames to nobody's address."""
    found = values(ports.run("--stream", f"va,{NOBODY}"))
    assert (found["0.sent"], found["0.delivered"]) == (200, 0)


def test_idle_sends_nothing(ports: Ports) -> None:
    """And takes as long."""
    busy, idle = values(ports.run()), values(ports.run("--idle"))
    assert (idle["0.sent"], idle["0.delivered"]) == (0, 0)
    assert idle["window_ns"] >= 0.1e9 and busy["window_ns"] >= 0.1e9


def test_the_warm_up_is_not_in_the_figures(ports: Ports) -> None:
    """Its frames have a count of their own."""
    found = values(ports.run("--warmup", "50"))
    assert found["0.sent"] == found["0.delivered"] == 200
    assert found["0.warmup_sent"] == found["0.warmed_up"] == 50
    assert found["0.warmup_drops"] == 0
    assert found["0.duplicated"] == found["0.corrupted"] == 0


def test_duplicates_are_counted(ports: Ports) -> None:
    """Exactly, and the original is still delivered."""
    with injecting(ports, 5):
        found = values(ports.run(*LATE))
    assert (found["0.delivered"], found["0.duplicated"]) == (200, 5)
    assert found["0.corrupted"] == 0


@pytest.mark.parametrize("at", [14, 29, 59])
def test_corrupted_frames_are_counted(ports: Ports, at: int) -> None:
    """Magic, sequence number, and the last byte of the payload."""
    with injecting(ports, 4, at, 0x40):
        found = values(ports.run(*LATE))
    assert (found["0.delivered"], found["0.corrupted"]) == (200, 4)
    assert found["0.duplicated"] == 0


def test_frames_of_others_are_passed_over(ports: Ports) -> None:
    """Another EtherType is no frame of ours."""
    with injecting(ports, 4, 13, 0x01):
        found = values(ports.run(*LATE))
    assert found["0.delivered"] == 200
    assert found["0.duplicated"] == found["0.corrupted"] == 0


def test_a_receiver_too_slow_is_counted_by_its_socket(ports: Ports) -> None:
    """All turns at once: nothing is taken from a ring of 256 frames meanwhile."""
    found = values(
        ports.run("--rate", "1000000000", "--count", "900", "--slots", "256")
    )
    assert found["0.sent"] == 900
    assert found["0.delivered"] + found["0.stack_drops"] == 900
    assert found["0.stack_drops"] > 0 and found["0.delivered"] >= 256


def test_a_port_that_takes_no_frame_is_given_up(ports: Ports) -> None:
    """Its refusals are counted for a second; what was sent is still told."""
    ports.ip("link", "set", "vb", "down")
    result = ports.run()
    assert result.returncode == 1
    assert result.stderr == "sender: va: took no frame for a second\n"
    found = figures(result.stdout)
    assert found["0.sent"] == 0 and found["0.refused"] > 0


def test_a_port_taken_down_in_the_midst_is_told(ports: Ports) -> None:
    """With the system's reason, and the frames before it counted."""
    with subprocess.Popen(
        ports.command("--rate", "100"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        subprocess.run(["sleep", "0.3"], check=True)
        ports.ip("link", "set", "va", "down")
        output, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert re.fullmatch("sender: va: cannot send: Network is down\n", errors)
    found = figures(output)
    assert 0 < found["0.sent"] < 200
    assert found["0.sent"] - found["0.delivered"] in (0, 1)


@pytest.mark.parametrize(
    "words, told",
    [
        (
            ["--stream", f"vx,{TO},vb"],
            "sender: vx: no such interface: No such device\n",
        ),
        (["--stream", f"va,{TO},vx"], "sender: vx: cannot listen: No such device\n"),
        (["--marks"], None),
    ],
)
def test_what_is_not_there_is_told(
    ports: Ports, words: list[str], told: str | None
) -> None:
    """One line, and no figures that could be taken for a measurement."""
    if told is None and Path("/dev/port").exists():
        pytest.skip("has /dev/port, which this test must not write to")
    result = ports.run(*words)
    assert result.returncode == 3 and result.stdout == ""
    expected = told or "sender: /dev/port: No such file or directory\n"
    assert result.stderr == expected


def test_without_root_the_reason_is_told(ports: Ports) -> None:
    """Packet sockets are not for everybody."""
    command = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
    command += ["--reuid", "65534", "--clear-groups"]
    inside = [*ports.inside, *command]
    sender = ports.command()[len(ports.inside) :]
    result = subprocess.run(
        [*inside, "/proc/self/fd/0", *sender[1:]],
        stdin=os.open(sender[0], os.O_RDONLY),
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 3
    assert "root is needed" in result.stderr and result.stderr.count("\n") == 1


GOOD = {"--stream": f"va,{TO},vb", "--rate": "1", "--size": "60", "--count": "1"}
VALUES = {
    "--stream": [
        "va",
        "va,",
        f"va,{TO[:-3]}",
        f"va,{TO}:0c,vb",
        f"va,{TO}x,vb",
        "va,x:x:x:x:x:x,vb",
    ],
    "--rate": ["0", "-1", "1000000001", "1.5", "x", "", " 1", "0x10", "9" * 30],
    "--size": ["59", "1515", "0", "-60"],
    "--count": ["0", "-1", "1073741825", "1k"],
    "--settle-us": ["0", "10000001"],
    "--slots": ["255", "300", "65792"],
    "--warmup": ["-1", "1048577"],
}
BAD: dict[str, dict[str, str]] = {"nothing": {}}
BAD |= {f"no{name}": {k: v for k, v in GOOD.items() if k != name} for name in GOOD}
BAD |= {f"{name}={v}": {**GOOD, name: v} for name, bad in VALUES.items() for v in bad}


@pytest.mark.parametrize("options", BAD.values(), ids=BAD)
def test_wrong_use_is_refused(sender: Path, options: dict[str, str]) -> None:
    """With the usage on standard error, before anything is opened."""
    words = [word for pair in options.items() for word in pair]
    result = subprocess.run(
        [sender, *words], check=False, capture_output=True, text=True
    )
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("usage: sender --stream ")


@pytest.mark.parametrize(
    "words", [["x"], ["--nosuch"], ["--stream", f"vb,{TO}", "--stream", f"vc,{TO}"]]
)
def test_words_too_many_are_refused(sender: Path, words: list[str]) -> None:
    """Behind a good line: a loose word, an unknown option, a third stream."""
    good = [word for pair in {**GOOD, "--stream": f"va,{TO}"}.items() for word in pair]
    result = subprocess.run(
        [sender, *good, *words], check=False, capture_output=True, text=True
    )
    assert result.returncode == 2 and result.stdout == ""
    assert "usage: sender" in result.stderr
