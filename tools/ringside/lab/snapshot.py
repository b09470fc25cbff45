# SPDX-License-Identifier: GPL-2.0-only
"""A booted guest, kept: every run of a profile starts from the same instant."""

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ringside import cache, symbols
from ringside.errors import CannotMeasure
from ringside.lab import image, qemu
from ringside.lab.guest import Guest
from ringside.lab.kernel import LabKernel, module_image
from ringside.lab.qmp import Qmp
from ringside.profiles import Profile

# Raise it when a change here makes kept snapshots wrong.
_FORMAT = "2"
_TAG = "ready"
_DISK_BYTES = "64M"
# About 85 MB each; those of other kernels, QEMUs and older sources go first.
_KEPT = 60
_PAUSE_S = 60.0
_IORESOURCE_IO = 0x100
_IORESOURCE_MEM = 0x200

_NAPI = re.compile(r"napi struct (?:0x)?([0-9a-f]{8,16}) for device (\S+) work")
_BOOT_TROUBLE = re.compile(r"\b(BUG:|WARNING: CPU|Oops:|Call Trace:)")


@dataclass(frozen=True)
class BarRange:
    """Where a BAR of a port is in the guest's memory or I/O space."""

    port: str
    index: int
    space: str
    start: int
    length: int


@dataclass(frozen=True)
class Snapshot:
    """A kept guest and what it told about itself before it was kept."""

    folder: Path
    key: str
    machine: list[str]
    addresses: dict[str, str]
    bars: list[BarRange]
    napi: dict[int, str]
    irqs: dict[str, frozenset[str]]
    limits_pps: dict[str, dict[int, float]]

    def prepare(self, folder: Path) -> None:
        """Copies the kept state for one run, which may write to its own copy."""
        try:
            shutil.copyfile(self.folder / "state.qcow2", folder / "state.qcow2")
        except FileNotFoundError as error:
            raise CannotMeasure(
                f"{self.folder} was removed in the meantime: run it again"
            ) from error

    def arguments(self) -> list[str]:
        """QEMU arguments that start a run from the kept instant."""
        return [*self.machine, "-loadvm", _TAG]

    def symbol_table(self) -> Path:
        """The plugin's symbol file for this guest."""
        return self.folder / "symbols"


def _parse_bars(port: str, listing: str) -> list[BarRange]:
    bars = []
    for index, line in enumerate(listing.splitlines()[:6]):
        start, end, flags = (int(word, 16) for word in line.split())
        if flags & (_IORESOURCE_IO | _IORESOURCE_MEM):
            space = "port" if flags & _IORESOURCE_IO else "mmio"
            bars.append(BarRange(port, index, space, start, end - start + 1))
    return bars


def _parse_limits(listing: str) -> dict[str, dict[int, float]]:
    """Fastest rates of the sender, "PORT SIZE RATE" lines."""
    limits: dict[str, dict[int, float]] = {}
    for line in listing.splitlines():
        port, size, rate = line.split()
        limits.setdefault(port, {})[int(size)] = float(rate)
    return limits


def _check_boot(guest: Guest) -> None:
    for line in guest.console():
        if _BOOT_TROUBLE.search(line):
            raise CannotMeasure(f"the guest's kernel complains while booting: {line}")


def _facts(guest: Guest) -> dict[str, object]:
    """What the agent told, in a form that can be kept."""

    def text(kind: str) -> str:
        frame = guest.find(kind)
        return frame.text if frame else ""

    ports = ("gen0", "port0")
    return {
        "addresses": {port: text(f"address.{port}").strip() for port in ports},
        "resources": {port: text(f"resource.{port}") for port in ports},
        "napi": {m[1]: m[2] for m in _NAPI.finditer(text("trace"))},
        "irqs": {port: text(f"irqs.{port}").split() for port in ports},
        "limits": text("limits"),
        "sections": text("sections"),
        "release": text("release"),
    }


def _boot(kernel: LabKernel, profile: Profile, folder: Path) -> Guest:
    """A guest about to boot; initrd and an empty state disk are in the folder."""
    initrd = folder / "initrd"
    initrd.write_bytes(image.build(kernel, profile))
    result = subprocess.run(
        [
            "qemu-img",
            "create",
            "-q",
            "-f",
            "qcow2",
            folder / "state.qcow2",
            _DISK_BYTES,
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise CannotMeasure(f"qemu-img: {result.stderr.strip()}")
    return Guest(
        folder, [*_machine(kernel, profile, folder), *qemu.channels(folder, "")]
    )


def _machine(kernel: LabKernel, profile: Profile, folder: Path) -> list[str]:
    """The QEMU command whose initrd is in the folder."""
    device = qemu.generator(kernel.replaced)
    arguments = qemu.machine(profile, kernel.image, folder / "initrd", device)
    return [str(qemu.find().path), *arguments]


def _listed_symbols(guest: Guest) -> str:
    return "".join(frame.text for frame in guest.frames() if frame.type == "symbols")


def _kernel_listing(kernel: LabKernel, profile: Profile, kept: Path) -> str:
    """The kernel's functions; asks a kept guest once for each kernel.

    A guest that was asked before it is kept would not be the one that another
    boot gives: its memory would be used differently.
    """

    def make(folder: Path) -> None:
        with cache.scratch_folder() as scratch:
            shutil.copyfile(kept / "state.qcow2", scratch / "state.qcow2")
            command = [
                *_machine(kernel, profile, kept),
                *("-loadvm", _TAG),
                *qemu.channels(scratch, "symbols"),
            ]
            with Guest(scratch, command) as guest:
                guest.wait_for("done", lambda: 0)
                (folder / "listing").write_text(_listed_symbols(guest), "utf-8")

    return (cache.once("symbols", kernel.key, make) / "listing").read_text("utf-8")


def _write_symbol_table(kernel: LabKernel, profile: Profile, folder: Path) -> None:
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    found = symbols.kernel_symbols(_kernel_listing(kernel, profile, folder))
    for module, bases in symbols.section_bases(facts["sections"]).items():
        path = image.loaded_file(kernel, profile, module)
        if path:
            found += symbols.module_symbols(module, module_image(path), bases)
    (folder / "symbols").write_text(symbols.table(found), encoding="utf-8")


def _make(kernel: LabKernel, profile: Profile, folder: Path) -> None:
    with _boot(kernel, profile, folder) as guest:
        guest.wait_for("ready", lambda: 0)
        _check_boot(guest)
        (folder / "facts.json").write_text(json.dumps(_facts(guest)), "utf-8")
        _save(folder)
    _write_symbol_table(kernel, profile, folder)
    for name in ("command", "console", "frames", "qemu.err", "qmp"):
        (folder / name).unlink(missing_ok=True)


def _save(folder: Path) -> None:
    """Keeps the guest, which has paused itself at an instruction of its own choice."""
    monitor = Qmp(folder / "qmp")
    deadline = time.monotonic() + _PAUSE_S
    while monitor.execute("query-status")["running"]:
        if time.monotonic() > deadline:
            raise CannotMeasure("the guest does not pause to be kept")
        time.sleep(0.01)
    trouble = monitor.monitor(f"savevm {_TAG}").strip()
    if trouble or _TAG not in monitor.monitor("info snapshots"):
        raise CannotMeasure(f"cannot keep the guest: {trouble or 'QEMU kept nothing'}")
    monitor.execute("quit")
    monitor.close()


def get(kernel: LabKernel, profile: Profile) -> Snapshot:
    """The snapshot of that profile on that kernel, made when there is none yet."""
    archive = image.build(kernel, profile)
    # The archive itself is in the key, its path is not: each boot has another.
    shape = _machine(kernel, profile, Path())[1:]
    key = cache.key_of(_FORMAT, kernel.key, archive, qemu.find().version_text, *shape)
    folder = cache.once("snapshots", key, lambda path: _make(kernel, profile, path))
    os.utime(folder)
    cache.prune("snapshots", _KEPT)
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    bars = [
        bar
        for port, text in facts["resources"].items()
        for bar in _parse_bars(port, text)
    ]
    return Snapshot(
        folder=folder,
        key=key,
        machine=_machine(kernel, profile, folder),
        addresses=facts["addresses"],
        bars=bars,
        napi={int(address, 16): port for address, port in facts["napi"].items()},
        irqs={port: frozenset(lines) for port, lines in facts["irqs"].items()},
        limits_pps=_parse_limits(facts["limits"]),
    )
