# SPDX-License-Identifier: GPL-2.0-only
"""One QEMU process: started, watched, and gone when its block ends."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ringside.errors import CannotMeasure
from ringside.lab.frames import Frame, Reader

# A guest that shows no sign of life for so long is taken to hang.
WATCHDOG_S = 60.0
_POLL_S = 0.01

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
        last_sign = (0, 0)
        deadline = time.monotonic() + WATCHDOG_S
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
            if sign != last_sign:
                last_sign = sign
                deadline = time.monotonic() + WATCHDOG_S
            if time.monotonic() > deadline:
                raise GuestDied(
                    f"the guest hangs: no sign of life for {WATCHDOG_S:.0f} s",
                    self.console()[-20:],
                )
            time.sleep(_POLL_S)

    def _check_panic(self) -> None:
        log = self.console()
        for number, line in enumerate(log):
            if panic := _PANIC.search(line):
                start = next((n for n, ln in enumerate(log) if _SPLAT.search(ln)), number)
                raise GuestDied(f"guest panic: {panic[0]}", log[start:])

    def _ended(self) -> GuestDied:
        assert self._process
        text = (self.folder / "qemu.err").read_text(errors="replace").strip()
        lines = [ln for ln in text.splitlines() if "warning: hub" not in ln]
        code = self._process.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        why = lines[-1] if lines else f"QEMU ended with {how}"
        if "o space left" in why:
            why += ": free some room, or set TMPDIR to a disk with room"
        return GuestDied(f"the guest ended early: {why}", self.console()[-20:])
