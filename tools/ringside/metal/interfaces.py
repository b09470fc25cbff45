# SPDX-License-Identifier: GPL-2.0-only
"""Network interfaces of this machine: what they are, and which must be left alone."""

import ipaddress
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside.counts import PORT
from ringside.errors import CannotMeasure, UsageError, shortened
from ringside.lab.snapshot import BarRange

SYS = Path("/sys")
_NAME = re.compile(r"(?!\.{1,2}$)[^\s/:]{1,15}")
_IO = 0x100  # IORESOURCE_IO
_MEMORY = 0x200  # IORESOURCE_MEM
_BARS = 6


@dataclass(frozen=True)
class Interface:
    """A PCI port: its name, its device's address, and the module of its driver."""

    name: str
    pci: str
    driver: str
    module: str

    def read(self, name: str) -> str:
        """A file of /sys/class/net."""
        path = SYS / "class/net" / self.name / name
        return path.read_text(encoding="ascii").strip()

    def statistics(self) -> dict[str, int]:
        """The kernel's counters of the port."""
        folder = SYS / "class/net" / self.name / "statistics"
        return {
            path.name: int(path.read_text(encoding="ascii"))
            for path in sorted(folder.iterdir())
        }

    def bars(self) -> list[BarRange]:
        """Where its registers are, as the ledger knows them."""
        path = SYS / "bus/pci/devices" / self.pci / "resource"
        found = []
        lines = path.read_text(encoding="ascii").splitlines()[:_BARS]
        for index, line in enumerate(lines):
            start, end, flags = (int(word, 16) for word in line.split())
            if end and flags & (_IO | _MEMORY):
                space = "port" if flags & _IO else "mmio"
                found.append(BarRange(PORT, index, space, start, end - start + 1))
        return found

    def lines(self) -> frozenset[str]:
        """Its interrupts, as /proc/interrupts numbers them."""
        device = SYS / "bus/pci/devices" / self.pci
        folder = device / "msi_irqs"
        if folder.is_dir():
            return frozenset(path.name for path in folder.iterdir())
        return frozenset([(device / "irq").read_text(encoding="ascii").strip()])


def ip(*words: str) -> str:
    """Output of ip, which every machine of the lab has."""
    try:
        done = subprocess.run(
            ["ip", *words], capture_output=True, text=True, check=False, timeout=60
        )
    except FileNotFoundError as error:
        raise CannotMeasure("ip is not installed: apt-get install iproute2") from error
    if done.returncode:
        raise CannotMeasure(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _resolved_name(link: Path) -> str:
    return link.resolve().name if link.is_symlink() else ""


def at(pci: str) -> Iterator[str]:
    """Names of the interfaces of a PCI device, none while no driver has it."""
    folder = SYS / "bus/pci/devices" / pci / "net"
    if folder.is_dir():
        yield from sorted(path.name for path in folder.iterdir())


def find(name: str, option: str) -> Interface:
    """The port that an option names; one that is not there is wrong use."""
    shown = f"{option} {shortened(name)}"
    folder = SYS / "class/net" / name
    if not _NAME.fullmatch(name) or not folder.exists():
        known = sorted(path.name for path in (SYS / "class/net").iterdir())
        raise UsageError(
            f"{shown}: no such interface here; there are {', '.join(known)}"
        )
    device = folder / "device"
    if _resolved_name(device / "subsystem") != "pci":
        raise UsageError(
            f"{shown}: not a PCI device's, so it has no registers to count"
        )
    driver = _resolved_name(device / "driver")
    module = _resolved_name(device / "driver/module")
    if not module:
        raise CannotMeasure(
            f"{shown}: its driver {driver} is built into the kernel, so a counted one"
            " cannot take its place"
        )
    return Interface(name, device.resolve().name, driver, module)


def of_module(module: str) -> list[str]:
    """All interfaces that a driver of that module serves."""
    found = []
    for folder in sorted((SYS / "class/net").iterdir()):
        if _resolved_name(folder / "device/driver/module") == module:
            found.append(folder.name)
    return found


def _with_default_route() -> set[str]:
    found = set()
    for family in ("-4", "-6"):
        text = ip("-j", family, "route", "show", "default").strip()
        routes: list[dict[str, Any]] = json.loads(text or "[]")
        for route in routes:
            hops = [route, *route.get("nexthops", [])]
            found |= {hop["dev"] for hop in hops if "dev" in hop}
    return found


def _with_session() -> set[str]:
    """Interfaces that have the address to which this ssh session is connected."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    if len(words) != 4:
        return set()
    try:
        mine = ipaddress.ip_address(words[2].partition("%")[0])
    except ValueError:
        return set()
    return {
        link["ifname"]
        for link in json.loads(ip("-j", "address", "show"))
        for address in link.get("addr_info", [])
        if ipaddress.ip_address(address["local"]) == mine
    }


def why_spared(names: list[str]) -> str | None:
    """Why these interfaces must not go down, as one line; None when they may."""
    routed, session = _with_default_route(), _with_session()
    for name in names:
        if name in session:
            return f"{name} carries this ssh session"
        if name in routed:
            return f"{name} carries the default route"
        master = _resolved_name(SYS / "class/net" / name / "master")
        if master:
            return f"{name} belongs to {master}"
        above = sorted((SYS / "class/net" / name).glob("upper_*"))
        if above:
            return f"{above[0].name.removeprefix('upper_')} lies on {name}"
    return None
