# SPDX-License-Identifier: GPL-2.0-only
"""One QEMU process: started, watched, and gone when its block ends."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ringside.errors import CannotMeasure
from ringside.lab.frames import Frame, Reader

# Set when the user gives up: every wait for a guest ends.
CANCEL = threading.Event()

# A guest that shows no sign of life for so long is taken to hang. It is QEMU's
# own processor time, so a busy host is not mistaken for a hanging guest; it is
# wall time for a QEMU that uses less than this share of a processor.
WATCHDOG_S = 60.0
# A guest that panicked ends by itself, once the rest of its message is out.
PANIC_S = 5.0
_IDLE_SHARE = 0.02
_POLL_S = 0.01
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

_PLUGIN = "cost plugin: "
_PANIC = re.compile(r"Kernel panic - not syncing.*")
_SPLAT = re.compile(r"\b(BUG:|WARNING: CPU|Oops:|Call Trace:|general protection fault)")


class GuestDied(CannotMeasure):
    """The guest panicked, ended or hung; log holds the end of its console."""

    def __init__(self, why: str, log: list[str]) -> None:
        super().__init__(why)
        self.log = log


class Guest:
    """A running guest; use it as a context, which ends the process in any case."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.folder = folder
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = Reader(folder / "frames")
        self._seen: list[Frame] = []

    def __enter__(self) -> "Guest":
        errors = self.folder / "qemu.err"
        with errors.open("wb") as file:
            # setpriv: QEMU must not outlive this program, however that ends. A
            # session of its own: Ctrl-C is for this program, which ends QEMU.
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["setpriv", "--pdeathsig", "KILL", *self._command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def console(self) -> list[str]:
        """Lines of the guest's console so far."""
        path = self.folder / "console"
        if not path.exists():
            return []
        return path.read_text(encoding="utf-8", errors="replace").splitlines()

    def frames(self) -> list[Frame]:
        """Everything the guest has sent."""
        return self._seen

    def find(self, kind: str) -> Frame | None:
        """The last frame of that type."""
        return next((f for f in reversed(self._seen) if f.type == kind), None)

    def wait_for(self, kind: str, signs: Callable[[], int]) -> Frame:
        """Waits for a frame of that type. signs() counts other signs of life."""
        last_sign = (-1, -1)
        since = (0.0, 0.0)
        while True:
            ended = self._process is None or self._process.poll() is not None
            self._seen += self._reader.poll()
            if frame := self.find(kind):
                return frame
            if failed := self.find("failed"):
                raise CannotMeasure(f"the guest's port {failed.text}")
            self._check_panic()
            if ended:
                raise self._ended()
            sign = (len(self._seen), signs())
            now = (self._processor_s(), time.monotonic())
            if sign != last_sign:
                last_sign, since = sign, now
            busy, waited = now[0] - since[0], now[1] - since[1]
            idle = busy < waited * _IDLE_SHARE
            if (waited if idle else busy) > WATCHDOG_S:
                raise GuestDied(
                    f"the guest hangs: no sign of life in {busy:.0f} s of processor"
                    f" time, {waited:.0f} s in all",
                    self.console()[-20:],
                )
            if CANCEL.wait(_POLL_S):
                raise CannotMeasure("interrupted")

    def wait_end(self, limit_s: float) -> None:
        """Waits until the guest has switched itself off, so long at most."""
        assert self._process
        deadline = time.monotonic() + limit_s
        while self._process.poll() is None:
            self._check_panic()
            if time.monotonic() > deadline:
                raise GuestDied(
                    f"the guest did not end within {limit_s:.0f} s",
                    self.console()[-20:],
                )
            if CANCEL.wait(_POLL_S):
                raise CannotMeasure("interrupted")
        self._check_panic()
        if self._process.returncode:
            raise self._ended()

    def _processor_s(self) -> float:
        """Processor time that QEMU has used (proc(5), stat: utime and stime)."""
        assert self._process
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def _check_panic(self) -> None:
        if not any(_PANIC.search(line) for line in self.console()):
            return
        assert self._process
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PANIC_S)
        log = self.console()
        for number, line in enumerate(log):
            if panic := _PANIC.search(line):
                start = next(
                    (n for n, ln in enumerate(log) if _SPLAT.search(ln)), number
                )
                raise GuestDied(f"guest panic: {panic[0]}", log[start:])

    def _ended(self) -> GuestDied:
        assert self._process
        text = (self.folder / "qemu.err").read_text(errors="replace").strip()
        lines = [ln for ln in text.splitlines() if "warning: hub" not in ln]
        code = self._process.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        # QEMU only adds that it could not load the plugin, which has said why.
        said = [ln for ln in lines if ln.startswith(_PLUGIN)] or lines[-1:]
        why = said[0] if said else f"QEMU ended with {how}"
        if "o space left" in why:
            why += ": free some room, or set TMPDIR to a disk with room"
        return GuestDied(f"the guest ended early: {why}", self.console()[-20:])
