# SPDX-License-Identifier: GPL-2.0-only
"""Ports of this machine as the programs see them: ip, ethtool, sysfs, and the sender.

Runs on the standard library.
"""

import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A driver that hangs holds its caller; no command of ours takes this long.
LIMIT_S = 120.0
_CARRIER_S = 30.0
# Counters of /sys/class/net that hold frames which a port took and dropped.
_LOST = ("rx_dropped", "rx_errors", "rx_missed_errors", "rx_nohandler")


class Refused(Exception):
    """A command said no, or nothing at all."""


def call(*words: str, limit_s: float = LIMIT_S) -> str:
    """Output of a command; Refused when it fails or does not end in time."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=limit_s
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(f"{' '.join(words)}: no end after {limit_s:g} s") from error
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}"
        raise Refused(f"{' '.join(words)}: {said}")
    return done.stdout


@dataclass(frozen=True)
class Port:
    """A network interface."""

    name: str

    @property
    def folder(self) -> Path:
        """Its folder in sysfs."""
        return Path("/sys/class/net") / self.name

    @property
    def device(self) -> Path:
        """Its device's folder in sysfs."""
        return (self.folder / "device").resolve()

    def read(self, name: str) -> str:
        """A file of /sys/class/net."""
        return (self.folder / name).read_text(encoding="ascii").strip()

    def lost(self) -> int:
        """Frames that the port received and nobody got."""
        return sum(int(self.read(f"statistics/{name}")) for name in _LOST)

    def unsent(self) -> int:
        """Frames that the stack gave and that never left."""
        names = ("tx_dropped", "tx_errors")
        return sum(int(self.read(f"statistics/{name}")) for name in names)

    def flags(self) -> dict[str, bool]:
        """The private flags."""
        text = call("ethtool", "--show-priv-flags", self.name)
        found = re.findall(r"^(\S+)\s*: (on|off)$", text, re.MULTILINE)
        return {name: value == "on" for name, value in found}

    def set_flags(self, flags: dict[str, bool]) -> None:
        """Changes the named private flags together."""
        words = [w for name, on in flags.items() for w in (name, "on" if on else "off")]
        call("ethtool", "--set-priv-flags", self.name, *words)

    def ring_sizes(self) -> list[int]:
        """Slots of the rings as they are, receive first where there is a number."""
        text = call("ethtool", "-g", self.name).rpartition("Current")[2]
        found = re.findall(r"^(?:RX|TX):\s+(\d+)$", text, re.MULTILINE)
        return [int(size) for size in found]

    def wait_for_carrier(self, limit_s: float = _CARRIER_S) -> bool:
        """Whether the link comes up in time."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            try:
                if self.read("carrier") == "1":
                    return True
            except OSError:
                pass  # down, or not there yet
            time.sleep(0.1)
        return False


@dataclass(frozen=True)
class Load:
    """What the sender is asked for, of each stream."""

    rate_pps: int
    count: int
    size_bytes: int


@dataclass(frozen=True)
class Sent:
    """What the sender says of one direction, in frames."""

    sent: int
    delivered: int
    duplicated: int
    corrupted: int
    stack_drops: int


@dataclass(frozen=True)
class Route:
    """Where a stream's frames leave, and where they are checked."""

    source: Port
    target: Port


def both_ways(port: Port, peer: Port) -> tuple[Route, Route]:
    """To the port, then from it."""
    return Route(peer, port), Route(port, peer)


def start_traffic(
    sender: str, routes: Sequence[Route], load: Load
) -> subprocess.Popen[str]:
    """Starts the sender, which takes two streams at most."""
    words = []
    for route in routes:
        address = route.target.read("address")
        words += ["--stream", f"{route.source.name},{address},{route.target.name}"]
    return subprocess.Popen(  # pylint: disable=consider-using-with
        [
            *(sender, *words),
            *("--rate", str(load.rate_pps), "--size", str(load.size_bytes)),
            *("--count", str(load.count), "--settle-us", "200000", "--slots", "4096"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end_traffic(sender: subprocess.Popen[str], limit_s: float = LIMIT_S) -> str:
    """What a sender said; Refused when it does not end by itself."""
    try:
        return sender.communicate(timeout=limit_s)[0]
    except subprocess.TimeoutExpired as error:
        sender.kill()
        sender.communicate()
        raise Refused(f"the sender did not end in {limit_s:g} s") from error


def streams(text: str) -> list[Sent]:
    """The sender's lines "stream=N:key=value:..."."""
    found = []
    for line in re.findall(r"^stream=\d+:(.*)$", text, re.MULTILINE):
        values = dict(pair.split("=") for pair in line.split(":"))
        names = ("sent", "delivered", "duplicated", "corrupted", "stack_drops")
        found.append(Sent(*(int(values[name]) for name in names)))
    return found


def why_missing(ports: Sequence[Port]) -> str | None:
    """Why there is nothing to do with these ports; all are brought up."""
    for port in ports:
        try:
            call("ip", "link", "set", port.name, "up")
        except (Refused, FileNotFoundError) as error:
            return str(error)
    for port in ports:
        if not port.wait_for_carrier():
            return f"{port.name}: no link"
    return None
