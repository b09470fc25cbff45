# SPDX-License-Identifier: GPL-2.0-only
"""One run of a restored guest: a command, and what each plane counted in its window."""

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringside import builds, cache
from ringside.errors import CannotMeasure
from ringside.lab import qemu
from ringside.lab.guest import Guest
from ringside.lab.snapshot import Snapshot

# sizeof(struct napi_struct) is about 500 bytes; two of them are never nearer.
_NAPI_BYTES = 512
# Kernel log: level of a warning and what is more severe (include/linux/kern_levels.h).
_WARNING = 4
# Progress marks of the sender per second of guest time.
PROGRESS_PER_S = 10


@dataclass
class Outcome:
    """What a run gave. window is the plugin's, regions are device truth.

    host_s is how long the window took here: the only field that may differ
    between two runs of the same command.
    """

    status: int
    output: str
    window: dict[str, Any] | None
    regions: list[dict[str, Any]]
    statistics: dict[str, dict[str, int]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    # Counts of a counted driver by line; empty for others.
    sites: str = ""
    host_s: float = field(default=0.0, compare=False)

    def values(self, key: str) -> list[str]:
        """Values of the sender's lines "key=value"."""
        return re.findall(rf"^{key}=(.*)$", self.output, re.MULTILINE)


class _Tally:
    """The counter of traced accesses, fed by QEMU through a pipe with a name."""

    def __init__(self, snapshot: Snapshot, folder: Path) -> None:
        self.pipe = folder / "trace"
        self.progress = 0
        self._windows: list[dict[str, Any]] = []
        os.mkfifo(self.pipe)
        bars = [
            f"{bar.port}:{bar.index}:{bar.space}:{bar.start:x}:{bar.length:x}"
            for bar in snapshot.bars
        ]
        # Read and write: opening must not wait for QEMU, which may never come.
        self._hold = os.open(self.pipe, os.O_RDWR)
        reader = os.open(self.pipe, os.O_RDONLY)
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["setpriv", "--pdeathsig", "KILL", builds.tally(), *bars],
            stdin=reader,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.close(reader)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("progress"):
                self.progress += 1
            else:
                self._windows.append(json.loads(line))

    def check(self) -> None:
        """Raises when the counter has given up: QEMU would wait for it for ever."""
        if self._process.poll():
            assert self._process.stderr
            why = self._process.stderr.read().strip() or "ended early"
            raise CannotMeasure(f"the counter of device accesses: {why}")

    def last_window(self) -> dict[str, Any]:
        """Counts of the last window; call it when QEMU has ended."""
        os.close(self._hold)
        self._hold = -1
        self._process.wait(timeout=30)
        self._thread.join(timeout=30)
        self.check()
        return self._windows[-1] if self._windows else {"regions": [], "host_ns": 0}

    def close(self) -> None:
        """Ends the counter."""
        if self._hold >= 0:
            os.close(self._hold)
        self._process.kill()
        self._process.wait()
        self._thread.join()
        assert self._process.stdout and self._process.stderr
        self._process.stdout.close()
        self._process.stderr.close()


def _plugin_argument(
    snapshot: Snapshot, folder: Path, cache_model: dict[str, str]
) -> str:
    """The plugin and its options; the cache model's are passed as they are."""
    options = [
        str(builds.plugin(qemu.find().plugin_api)),
        f"symbols={snapshot.symbol_table()}",
        f"out={folder}/window.json",
        *[f"{level}={geometry}" for level, geometry in cache_model.items()],
        *[f"napi={address:#x}:{_NAPI_BYTES}" for address in snapshot.napi],
    ]
    return ",".join(options)


def _statistics(text: str) -> dict[str, int]:
    values = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"(.*\S) (-?[0-9]{1,20})", line):
            values[match[1]] = int(match[2])
    return values


def log_trouble(text: str) -> list[str]:
    """Lines of a kernel log, as /dev/kmsg has them, that are warnings or worse."""
    lines = []
    for record in text.splitlines():
        priority, _, rest = record.partition(",")
        if priority.isdigit() and int(priority) & 7 <= _WARNING:
            lines.append(rest.partition(";")[2])
    return lines


def _window(folder: Path) -> dict[str, Any] | None:
    path = folder / "window.json"
    if not path.exists():
        return None
    try:
        windows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CannotMeasure(f"the plugin's counts arrived damaged: {error}") from error
    return dict(windows[-1]) if windows else None


def _collect(guest: Guest, truth: dict[str, Any], status: int) -> Outcome:
    outcome = Outcome(status, "", _window(guest.folder), truth["regions"])
    outcome.host_s = truth["host_ns"] / 1e9
    for frame in guest.frames():
        if frame.type == "output":
            outcome.output = frame.text
        elif frame.type.startswith("statistics."):
            outcome.statistics[frame.type[11:]] = _statistics(frame.text)
        elif frame.type == "sites":
            outcome.sites = frame.text
        elif frame.type == "log":
            outcome.log = log_trouble(frame.text)
    return outcome


def execute(
    snapshot: Snapshot,
    command: str,
    cache_model: dict[str, str] | None,
    progress: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Restores the guest, runs the command in it and gathers the counts.

    cache_model is the plugin's geometry (l1d, l2, llc) and what DMA does to it
    (dma); None runs without the plugin. progress is told how many progress marks have passed.
    """
    with cache.scratch_folder() as folder:
        snapshot.prepare(folder)
        tally = _Tally(snapshot, folder)
        try:
            arguments = [
                *snapshot.arguments(),
                *qemu.channels(folder, command),
                *("-trace", "memory_region_ops_*", "-D", str(tally.pipe)),
            ]
            if cache_model is not None:
                arguments += [
                    "-plugin",
                    _plugin_argument(snapshot, folder, cache_model),
                ]

            def signs() -> int:
                tally.check()
                progress(tally.progress)
                return tally.progress

            with Guest(folder, arguments) as guest:
                done = guest.wait_for("done", signs)
            outcome = _collect(guest, tally.last_window(), int(done.text))
        finally:
            tally.close()
    if cache_model is not None and outcome.window is None and not outcome.status:
        raise CannotMeasure("the plugin saw no window: its marks did not run")
    return outcome
