#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will break what a driver must mend: its transmitter, its memory, its line.

For each port: the transmitter is switched off behind the driver's back until the
stack's watchdog notices, with and without NAPI where that is a switch; a restart is
refused memory, with no way back to the old rings. Then ports that share an interrupt
line carry traffic at once. After each, traffic both ways is exact.

Runs on the standard library, ip, ethtool and Ringside's sender. Prints TAP.
"""

import argparse
import contextlib
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lib import registers
from lib.ports import (
    Load,
    Port,
    Refused,
    Route,
    both_ways,
    call,
    end_traffic,
    start_traffic,
    streams,
    why_missing,
)

EXIT_SKIP = 4
_FAULTS = Path("/sys/kernel/debug/fail_page_alloc")
# The stack's watchdog waits 5 s, and looks every 5 s.
_TIMEOUT_S = 40.0
# A restart that failed is tried again every 2 s.
_RETRIES_S = 5.0
_LIMIT_S = 90.0
_BROKEN = Load(rate_pps=200, count=4000, size_bytes=300)
_EXACT = Load(rate_pps=100, count=100, size_bytes=300)


class Skip(Exception):
    """This machine or chip cannot be asked."""


@dataclass(frozen=True)
class Wire:
    """A port and what is at the other end."""

    port: Port
    peer: Port
    sender: str


@dataclass(frozen=True)
class Case:
    """A name, and what raises Refused when the driver fails it."""

    name: str
    run: Callable[[], None]


def expect_exact(sender: str, routes: Sequence[Route]) -> None:
    """Every frame of every stream arrives, once."""
    with start_traffic(sender, routes, _EXACT) as process:
        text = end_traffic(process, _LIMIT_S)
    found = streams(text)
    if len(found) != len(routes):
        raise Refused(f"the sender ended: {text.strip()}")
    for stream in found:
        if stream.delivered != _EXACT.count or stream.duplicated or stream.corrupted:
            raise Refused(f"not exact afterwards: {stream}")


def expect_whole(wire: Wire) -> None:
    """The link is back, and traffic is exact."""
    if not wire.port.wait_for_carrier():
        raise Refused(f"{wire.port.name}: no link afterwards")
    expect_exact(wire.sender, both_ways(wire.port, wire.peer))


def timeouts(port: Port) -> int:
    """How often the stack found the transmit queue stuck."""
    return int(port.read("queues/tx-0/tx_timeout"))


def wait_for(what: str, limit_s: float, good: Callable[[], bool]) -> None:
    """Refused when it does not become true in time."""
    deadline = time.monotonic() + limit_s
    while not good():
        if time.monotonic() > deadline:
            raise Refused(f"not in {limit_s:g} s: {what}")
        time.sleep(0.2)


def transmit_timeout(wire: Wire, napi: bool | None) -> None:
    """A transmitter that stops is noticed and started again, by the driver alone."""
    port = wire.port
    switch = registers.transmit_switch(port)
    if not switch:
        raise Skip("the chip's transmit switch is not known to this test")
    if napi is not None:
        port.set_flags({"napi": napi})
    before = timeouts(port)
    routes = both_ways(port, wire.peer)
    with start_traffic(wire.sender, routes, _BROKEN) as process:
        try:
            time.sleep(1.0)
            registers.turn_off(port, switch)
            wait_for(
                "the queue is found stuck",
                _TIMEOUT_S,
                lambda: timeouts(port) > before,
            )
            text = end_traffic(process, _LIMIT_S)
        finally:
            process.kill()
    for stream in streams(text):
        if stream.duplicated or stream.corrupted:
            raise Refused(f"twice or damaged: {stream}")
    expect_whole(wire)


def code_of(module: str) -> tuple[int, int]:
    """Where a module's code begins and ends."""
    lines = Path("/proc/kallsyms").read_text(encoding="ascii").splitlines()
    found = [
        int(words[0], 16)
        for words in map(str.split, lines)
        if words[-1] == f"[{module}]" and words[1] in "tT"
    ]
    if not found or not min(found):
        raise Skip(f"/proc/kallsyms does not tell where {module} is")
    return min(found), max(found) + 4096


@contextlib.contextmanager
def no_pages(module: str) -> Iterator[None]:
    """No page for whatever the module's code asks for, however indirectly."""
    if not (_FAULTS / "require-start").exists():
        raise Skip("the kernel cannot fail page allocations by their caller")
    start, end = code_of(module)

    def put(name: str, value: object) -> None:
        (_FAULTS / name).write_text(str(value), encoding="ascii")

    put("require-start", f"{start:#x}")
    put("require-end", f"{end:#x}")
    for name, value in (
        *(("ignore-gfp-wait", "N"), ("ignore-gfp-highmem", "N"), ("min-order", 0)),
        *(("verbose", 0), ("stacktrace-depth", 32), ("times", -1), ("interval", 1)),
    ):
        put(name, value)
    put("probability", 100)
    try:
        yield
    finally:
        put("probability", 0)


def refused_restart(wire: Wire, close: bool) -> None:
    """Without memory a change is refused; with memory again, all is as it was."""
    port = wire.port
    module = (port.device / "driver").resolve().name
    before = (port.read("mtu"), port.ring_sizes())
    with no_pages(module):
        try:
            call("ip", "link", "set", port.name, "mtu", "1400")
        except Refused:
            pass
        else:
            raise Refused("a change that no memory was left for was not refused")
        time.sleep(_RETRIES_S)
        if port.read("carrier") == "1":
            raise Refused("there is a link, and no memory for a ring")
        if close:
            call("ip", "link", "set", port.name, "down")
    if close:
        call("ip", "link", "set", port.name, "up")
    expect_whole(wire)
    after = (port.read("mtu"), port.ring_sizes())
    if after != before:
        raise Refused(f"MTU and ring sizes were {before} and are {after}")


def lines_of(ports: Sequence[Port]) -> dict[str, list[Port]]:
    """Ports by the line that their device uses now."""
    found: dict[str, list[Port]] = {}
    for port in ports:
        number = (port.device / "irq").read_text(encoding="ascii").strip()
        found.setdefault(number, []).append(port)
    return found


def shared_line(wires: Sequence[Wire]) -> None:
    """Traffic to two ports of one line at once, then from both."""
    peers = {wire.port: wire.peer for wire in wires}
    shared = [
        pair
        for ports in lines_of(list(peers)).values()
        for pair in itertools.combinations(ports, 2)
    ]
    if not shared:
        raise Skip("no two of the ports share an interrupt line")
    for pair in shared:
        print(f"# on one line: {pair[0].name}, {pair[1].name}")
        expect_exact(wires[0].sender, [Route(peers[port], port) for port in pair])
        expect_exact(wires[0].sender, [Route(port, peers[port]) for port in pair])


def cases_of(wire: Wire) -> Iterator[Case]:
    """What is asked of one port."""
    name = wire.port.name
    try:
        switchable = "napi" in wire.port.flags()
    except Refused:
        switchable = False
    if switchable:
        # as it was before, last
        for napi in (False, True):
            word = "with" if napi else "without"
            yield Case(
                f"{name}.transmit timeout {word} NAPI",
                partial(transmit_timeout, wire, napi),
            )
    else:
        yield Case(f"{name}.transmit timeout", partial(transmit_timeout, wire, None))
    yield Case(f"{name}.restart without memory", partial(refused_restart, wire, False))
    yield Case(f"{name}.close without memory", partial(refused_restart, wire, True))


def run(cases: Sequence[Case]) -> int:
    """TAP of all cases; the exit status."""
    print(f"1..{len(cases)}", flush=True)
    bad = 0
    for number, case in enumerate(cases, 1):
        name = f"recovery.{case.name}"
        try:
            case.run()
        except Skip as why:
            print(f"ok {number} {name} # SKIP {why}", flush=True)
        except (Refused, OSError) as why:
            bad += 1
            print(f"# {case.name}: {why}\nnot ok {number} {name}", flush=True)
        else:
            print(f"ok {number} {name}", flush=True)
    return 1 if bad else 0


def arguments() -> argparse.Namespace:
    """The command line; NETIF names the port as in the kernel's tests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    netif = os.environ.get("NETIF", "port0")
    parser.add_argument("--ports", default=netif, help="commas between")
    parser.add_argument("--peers", default="gen0", help="one a port, commas between")
    parser.add_argument("--sender", default="sender", help="Ringside's sender")
    options = parser.parse_args()
    options.ports = [Port(name) for name in options.ports.split(",")]
    options.peers = [Port(name) for name in options.peers.split(",")]
    if len(options.ports) != len(options.peers):
        parser.error("--peers: as many as there are ports")
    return options


def main() -> int:
    """Exit status 0, 1 or, when something is missing, 4."""
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("TAP version 13")
    why = why_missing([*options.ports, *options.peers])
    if why:
        print(f"1..0 # SKIP {why}")
        return EXIT_SKIP
    wires = [
        Wire(port, peer, options.sender)
        for port, peer in zip(options.ports, options.peers)
    ]
    cases = [case for wire in wires for case in cases_of(wire)]
    cases.append(Case("ports of one line at once", partial(shared_line, wires)))
    return run(cases)


if __name__ == "__main__":
    sys.exit(main())
