# SPDX-License-Identifier: GPL-2.0-only
"""A guest is watched: every way to end is told, and the process never outlives its block."""

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringside.errors import CannotMeasure
from ringside.lab import guest
from ringside.lab.guest import Guest, GuestDied

# Shell functions of a fake QEMU: $1 is the guest's folder.
PRELUDE = r"""
cd "$1"
frame() { printf '\001RSF %s %d %s\n%s\n' "$1" "${#2}" "$3" "$2" >> frames; }
say() { echo "$*" >> console; }
"""
TOOLS = Path(__file__).resolve().parents[1] / "tools"


def fake(folder: Path, text: str) -> Guest:
    """A guest whose QEMU is this shell text."""
    return Guest(folder, ["sh", "-c", PRELUDE + text, "qemu", str(folder)])


def frame(kind: str, data: str = "") -> str:
    """Shell text that sends a frame."""
    return f"frame {kind} '{data}' {zlib.crc32(data.encode()):08x}"


def no_signs() -> int:
    """Signs of life of a guest that shows none but frames."""
    return 0


def died(folder: Path, text: str, signs: Callable[[], int] = no_signs) -> GuestDied:
    """How a guest that never gets ready dies."""
    with pytest.raises(GuestDied) as caught, fake(folder, text) as running:
        running.wait_for("ready", signs)
    assert "\n" not in str(caught.value)
    return caught.value


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    """Polls until it holds; ten seconds are for a busy machine."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(name="cancel")
def _cancel() -> Iterator[threading.Event]:
    yield guest.CANCEL
    guest.CANCEL.clear()


# Frames


def test_the_frame_waited_for_is_given(tmp_path: Path) -> None:
    """Those before it are kept, and of equal ones the last."""
    text = f"{frame('log', 'a')}; {frame('log', 'b')}; {frame('ready')}; exec sleep 60"
    with fake(tmp_path, text) as running:
        assert running.wait_for("ready", no_signs).text == ""
        assert [f.text for f in running.frames()] == ["a", "b", ""]
        last = running.find("log")
        assert last and last.text == "b"
        assert running.find("other") is None


def test_a_frame_of_a_guest_that_has_ended_counts(tmp_path: Path) -> None:
    """It may be written in the instant before the end."""
    with fake(tmp_path, frame("done", "0")) as running:
        wait_until(lambda: not alive_process(running))
        assert running.wait_for("done", no_signs).text == "0"


def alive_process(running: Guest) -> bool:
    """Whether the guest's process still runs, seen from outside."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    pids = [int(pid) for pid in children.read_text(encoding="ascii").split()]
    folder = str(running.folder).encode()
    return any(
        folder in Path(f"/proc/{pid}/cmdline").read_bytes()
        for pid in pids
        if Path(f"/proc/{pid}").exists()
    )


def test_a_failed_port_is_told(tmp_path: Path) -> None:
    """In the agent's words."""
    text = f"{frame('failed', 'port0 does not come up')}; exec sleep 60"
    with (
        pytest.raises(CannotMeasure, match="port0 does not come up"),
        fake(tmp_path, text) as running,
    ):
        running.wait_for("ready", no_signs)


def test_a_damaged_frame_ends_the_wait(tmp_path: Path) -> None:
    """And the process with it."""
    with (
        pytest.raises(CannotMeasure, match="arrived damaged"),
        fake(tmp_path, "frame ready x 00000000; exec sleep 60") as running,
    ):
        running.wait_for("ready", no_signs)
    assert not alive_process(running)


# Ends


ENDS = {
    "silent": ("exit 7", "QEMU ended with status 7"),
    "told": ("echo a >&2; echo 'qemu: no such device' >&2; exit 1", "no such device"),
    "hub_warning": (
        "echo 'qemu: warning: hub 0 is not connected' >&2; exit 1",
        "QEMU ended with status 1",
    ),
    "plugin": (
        "echo 'cost plugin: no memory to count in' >&2;"
        "echo 'qemu: Could not load plugin: error code -1' >&2; exit 1",
        "no memory to count in",
    ),
    "killed": ("kill -SEGV $$", "QEMU ended with signal SIGSEGV"),
    "full": (
        "echo 'qemu: write: No space left on device' >&2; exit 1",
        "free some room, or set TMPDIR to a disk with room",
    ),
}


@pytest.mark.parametrize("text, told", ENDS.values(), ids=ENDS)
def test_an_early_end_is_told(tmp_path: Path, text: str, told: str) -> None:
    """By what QEMU said last, else by how it ended; the console goes along."""
    error = died(tmp_path, f"say one; say two; {text}")
    assert str(error).startswith("the guest ended early: ")
    assert told in str(error)
    assert error.log == ["one", "two"]


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Not a traceback."""
    with (
        pytest.raises(GuestDied, match="ended early: .*No such file"),
        Guest(tmp_path, [str(tmp_path / "qemu")]) as running,
    ):
        running.wait_for("ready", no_signs)


def test_a_panic_is_told_from_its_first_sign(tmp_path: Path) -> None:
    """The log begins where the trouble began, not at the boot."""
    text = """
say 'Linux version 6.12'
say 'BUG: kernel NULL pointer dereference, address: 0000000000000008'
say 'RIP: 0010:cp_rx_poll+0x42/0x2a0 [8139cp]'
say 'Kernel panic - not syncing: Fatal exception in interrupt'
exit 0"""
    error = died(tmp_path, text)
    assert str(error) == (
        "guest panic: Kernel panic - not syncing: Fatal exception in interrupt"
    )
    assert error.log[0].startswith("BUG: kernel NULL pointer")
    assert len(error.log) == 3


def test_a_panic_is_read_to_its_end(tmp_path: Path) -> None:
    """The trace of a panic comes behind its first line, and may come late."""
    text = """
say 'Kernel panic - not syncing: stack-protector: Kernel stack is corrupted'
sleep 0.3
say 'Call Trace:'
say ' cp_rx_poll+0x42/0x2a0 [8139cp]'
exit 0"""
    error = died(tmp_path, text)
    assert error.log[-1] == " cp_rx_poll+0x42/0x2a0 [8139cp]"


def test_a_panic_that_does_not_end_is_told_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest that hangs in its own panic."""
    monkeypatch.setattr(guest, "PANIC_S", 0.1)
    error = died(tmp_path, "say 'Kernel panic - not syncing: x'; exec sleep 60")
    assert error.log == ["Kernel panic - not syncing: x"]


# The watchdog


@pytest.mark.parametrize("text", ["exec sleep 60", "while :; do :; done"])
def test_a_hang_is_told(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest that waits and one that spins."""
    monkeypatch.setattr(guest, "WATCHDOG_S", 0.2)
    error = died(tmp_path, f"say last words; {text}")
    assert "the guest hangs: no sign of life" in str(error)
    assert error.log == ["last words"]


def test_signs_of_life_keep_a_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress marks count, as frames do; without them the same guest is given up."""
    monkeypatch.setattr(guest, "WATCHDOG_S", 0.4)
    text = f"sleep 1; {frame('ready')}; exec sleep 60"
    count = iter(range(10**9))
    with fake(tmp_path, text) as running:
        assert running.wait_for("ready", lambda: next(count))
    (tmp_path / "frames").unlink()
    assert "hangs" in str(died(tmp_path, text))


def test_a_busy_host_is_no_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A QEMU that got little of the processor is waited for longer than the limit."""
    monkeypatch.setattr(guest, "WATCHDOG_S", 0.3)
    shares = iter(range(10**9))

    def scarce(_: Guest) -> float:
        return next(shares) * 0.001

    monkeypatch.setattr(Guest, "_processor_s", scarce)
    text = f"sleep 1; {frame('ready')}; exec sleep 60"
    with fake(tmp_path, text) as running:
        assert running.wait_for("ready", no_signs)


def test_giving_up_ends_the_wait(tmp_path: Path, cancel: threading.Event) -> None:
    """At once, from another thread."""
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    with (
        pytest.raises(CannotMeasure, match="interrupted"),
        fake(tmp_path, "exec sleep 60") as running,
    ):
        running.wait_for("ready", no_signs)
    timer.join()
    assert not alive_process(running)


# The process


def test_the_process_is_gone_after_its_block(tmp_path: Path) -> None:
    """Also one that ignores every polite signal."""
    text = f"trap '' TERM INT HUP; {frame('ready')}; while :; do sleep 0.1; done"
    with fake(tmp_path, text) as running:
        running.wait_for("ready", no_signs)
        assert alive_process(running)
    assert not alive_process(running)


def test_the_process_is_gone_after_an_exception(tmp_path: Path) -> None:
    """Whatever happens in the block."""
    with pytest.raises(KeyboardInterrupt), fake(tmp_path, "exec sleep 60") as running:
        raise KeyboardInterrupt
    assert not alive_process(running)


OWNER = """
import sys, time
from pathlib import Path
from ringside.lab.guest import Guest
with Guest(Path(sys.argv[1]), ["sh", "-c", "echo $$ > $0/pid; exec sleep 60", sys.argv[1]]):
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_process_dies_with_its_owner(tmp_path: Path, how: signal.Signals) -> None:
    """Even when the owner has no chance to end it."""
    command = [sys.executable, "-B", "-c", OWNER, str(tmp_path)]
    pid = tmp_path / "pid"
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(TOOLS)}, stderr=subprocess.DEVNULL
    ) as owner:
        wait_until(lambda: pid.exists() and bool(pid.read_text(encoding="ascii")))
        number = int(pid.read_text(encoding="ascii"))
        assert alive(number)
        owner.send_signal(how)
        owner.wait(timeout=10)
    wait_until(lambda: not alive(number))


def test_ctrl_c_does_not_reach_the_process(tmp_path: Path) -> None:
    """It has a session of its own, so that the program ends it in its own order."""
    with fake(tmp_path, f"echo $$ > pid; {frame('ready')}; exec sleep 60") as running:
        running.wait_for("ready", no_signs)
        number = int((tmp_path / "pid").read_text(encoding="ascii"))
        assert os.getsid(number) != os.getsid(0)
