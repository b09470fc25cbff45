#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will change everything that ethtool and ip can change, at random, under traffic.

Traffic runs both ways between the port and its peer in rounds. In a round of live
changes every frame must be delivered or counted as dropped. In a round that stops the
chip (ring sizes, MTU, link, vectors, unbinding) frames may be lost, but none twice or
damaged, and the round after it is exact again.

Runs on the standard library, ip, ethtool and Ringside's sender. Prints TAP.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from lib.ports import (
    Load,
    Port,
    Refused,
    Sent,
    both_ways,
    call,
    end_traffic,
    start_traffic,
    streams,
    why_missing,
)

EXIT_SKIP = 4
_ROUND_S = 2.0
_RATES_PPS = (100, 300, 1000)
# A slow machine may leave a full ring alone for so long.
_STALL_S = 0.1
_CARRIER_S = 30.0
_SCHEMES = ("rx-copy", "rx-map", "rx-page-pool")
_DROPS = ("drop-stack", "drop-stack-raw", "drop-driver")

CHECKS = (
    "live changes lose no frame",
    "exact again after a stop",
    "no frame twice or damaged",
    "a refused change changes nothing",
    "the link comes back",
)


@dataclass(frozen=True)
class Change:
    """One thing to change. stops says that the chip is stopped for it."""

    name: str
    apply: Callable[[], None]
    stops: bool = False


@dataclass
class Soak:
    """The rounds so far, and everything that was wrong in them."""

    port: Port
    peer: Port
    sender: str
    dice: random.Random
    changes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(
        default_factory=lambda: {check: [] for check in CHECKS}
    )
    rounds: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    size: int = 60
    # What the round does, for a line about it.
    now: str = ""

    def note(self, check: str, what: str) -> None:
        """Something is wrong."""
        self.wrong[check].append(what)
        print(f"# {check}: {what}", flush=True)


def live_flags(soak: Soak) -> Iterator[Change]:
    """Switches that are changed under a running chip."""
    port, dice = soak.port, soak.dice
    known = port.flags()
    for name in known:
        if name in _SCHEMES or name in _DROPS or name == "auto-mask":
            continue
        value = bool(dice.getrandbits(1))
        word = f"{name} {'on' if value else 'off'}"
        yield Change(word, partial(port.set_flags, {name: value}))
    for group in (_SCHEMES, _DROPS):
        names = [name for name in group if name in known]
        for chosen in (*names, "none"):
            flags = {name: name == chosen for name in names}
            if names:
                word = f"{'/'.join(names)}: {chosen}"
                yield Change(word, partial(port.set_flags, flags))


def live_settings(soak: Soak) -> Iterator[Change]:
    """Standard settings that are changed under a running chip, and readings."""
    name, dice = soak.port.name, soak.dice
    copybreak = str(dice.choice([0, 1, 60, 256, 1000, 65535]))
    usecs = str(dice.choice([0, 10, 100, 250]))

    def one(title: str, *words: str) -> Change:
        return Change(title, lambda: void(call(*words)))

    yield one(
        "rx-copybreak", "ethtool", "--set-tunable", name, "rx-copybreak", copybreak
    )
    yield one("coalesce", "ethtool", "-C", name, "rx-usecs", usecs)
    for word in ("promisc", "allmulticast"):
        value = dice.choice(["on", "off"])
        yield one(f"{word} {value}", "ip", "link", "set", name, word, value)
    for word in ("add", "del"):
        address = f"33:33:00:00:00:{dice.randrange(4):02x}"
        yield one(f"multicast {word}", "ip", "maddr", word, address, "dev", name)
    for option in ("-S", "-d", "-g", "-i", "-k"):
        yield one(f"ethtool {option}", "ethtool", option, name)
    yield one("statistics", "ip", "-s", "-s", "link", "show", name)
    value = dice.choice(["on", "off"])
    yield one(f"sg {value}", "ethtool", "-K", name, "sg", value)
    yield one("self test", "ethtool", "-t", name, "online")


def void(_: object) -> None:
    """Makes a call an action."""


def stopping(soak: Soak) -> Iterator[Change]:
    """What the chip must be stopped for."""
    port, dice = soak.port, soak.dice
    name = port.name

    def rings() -> None:
        sizes = [str(dice.choice([1, 8, 16, 64, 128, 256, 4096])) for _ in range(2)]
        call("ethtool", "-G", name, "rx", sizes[0], "tx", sizes[1])

    def mtu() -> None:
        text = json.loads(call("ip", "-j", "-d", "link", "show", name))[0]
        highest = min(int(text.get("max_mtu") or 1500), 9000)
        lowest = soak.size - 14
        call("ip", "link", "set", name, "mtu", str(dice.randint(lowest, highest)))

    def link() -> None:
        call("ip", "link", "set", name, "down")
        time.sleep(dice.random() / 4)
        call("ip", "link", "set", name, "up")

    def rebind() -> None:
        device = port.device
        driver = (device / "driver").resolve()
        (driver / "unbind").write_text(device.name, encoding="ascii")
        (driver / "bind").write_text(device.name, encoding="ascii")
        deadline = time.monotonic() + _CARRIER_S
        while not (found := list((device / "net").glob("*"))):
            if time.monotonic() > deadline:
                raise Refused("no interface after binding")
            time.sleep(0.05)
        call("ip", "link", "set", found[0].name, "name", name)
        call("ip", "link", "set", name, "up")

    yield Change("ring sizes", rings, stops=True)
    yield Change("mtu", mtu, stops=True)
    yield Change("link", link, stops=True)
    yield Change("unbind and bind", rebind, stops=True)
    yield Change(
        "self test offline",
        lambda: void(call("ethtool", "-t", name, "offline")),
        stops=True,
    )
    if "auto-mask" in port.flags():
        value = bool(dice.getrandbits(1))
        yield Change(
            f"auto-mask {'on' if value else 'off'}",
            lambda: port.set_flags({"auto-mask": value}),
            stops=True,
        )


def make_change(soak: Soak, change: Change) -> None:
    """Applies a change; a refusal must leave the flags as they were."""
    before = soak.port.flags()
    try:
        change.apply()
        soak.changes[change.name] += 1
    except Refused:
        soak.refused[change.name] += 1
        after = soak.port.flags()
        if after != before:
            soak.note("a refused change changes nothing", f"{change.name}: {after}")


def rate_for(soak: Soak) -> int:
    """A rate at which a stall of the machine does not fill the smaller ring."""
    most = max(10, int(min(soak.port.ring_sizes(), default=64) / _STALL_S))
    return min(most, soak.dice.choice(_RATES_PPS))


@dataclass(frozen=True)
class Drops:
    """Frames counted as dropped, so far: by the port and by its peer.

    The peer's count is only an upper bound: QEMU's 82540EM does not clear its
    missed-packets register when that is read, and e1000 adds it up every 2 s.
    """

    port_received: int
    port_unsent: int
    peer_received: int

    @staticmethod
    def of(soak: Soak) -> "Drops":
        """As the ports count now."""
        return Drops(soak.port.lost(), soak.port.unsent(), soak.peer.lost())


def balance(
    soak: Soak, check: str, found: list[Sent], before: Drops, after: Drops
) -> None:
    """Every frame of both directions was delivered or counted."""
    received = after.port_received - before.port_received
    unsent = after.port_unsent - before.port_unsent
    at_peer = after.peer_received - before.peer_received
    bounds = ((received, received), (unsent, unsent + at_peer))
    for stream, (least, most) in zip(found, bounds):
        missing = stream.sent - stream.delivered - stream.stack_drops
        if not least <= missing <= most:
            soak.note(check, f"{soak.now}: {stream}, {least} to {most} counted")


def play(soak: Soak, changes: list[Change]) -> None:
    """One round: traffic, and changes in the middle of it."""
    stops = any(change.stops for change in changes)
    soak.rounds["stop" if stops else "live" if changes else "calm"] += 1
    check = CHECKS[0] if changes else CHECKS[1]
    rate = rate_for(soak)
    soak.now = f"{[change.name for change in changes]} at {rate} pps"
    before = Drops.of(soak)
    load = Load(rate, int(rate * _ROUND_S), soak.size)
    routes = both_ways(soak.port, soak.peer)
    with start_traffic(soak.sender, routes, load) as sender:
        for change in changes:
            time.sleep(soak.dice.random() * _ROUND_S / (len(changes) + 1))
            make_change(soak, change)
        try:
            text = end_traffic(sender)
        except Refused as error:
            soak.note(check, f"{soak.now}: {error}")
            return
    found = streams(text)
    for stream in found:
        soak.frames += stream.sent
        if stream.duplicated or stream.corrupted:
            soak.note("no frame twice or damaged", f"{soak.now}: {stream}")
    if stops:
        return
    if sender.returncode or len(found) != 2:
        soak.note(check, f"{soak.now}: the sender ended: {text.strip()}")
        return
    balance(soak, check, found, before, Drops.of(soak))


def run(soak: Soak, seconds: float) -> None:
    """Rounds until the time is over."""
    dice = soak.dice
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        soak.size = dice.choice([60, 61, 128, 300, 1000, 1514])
        mtu = int(soak.port.read("mtu"))
        soak.size = max(60, min(soak.size, mtu + 14))
        if dice.random() < 0.3:
            chosen = [dice.choice(list(stopping(soak)))]
        else:
            known = [*live_flags(soak), *live_settings(soak)]
            chosen = dice.sample(known, dice.randint(1, min(6, len(known))))
        play(soak, chosen)
        if any(change.stops for change in chosen):
            if not soak.port.wait_for_carrier():
                soak.note("the link comes back", f"after {chosen[0].name}")
                continue
            play(soak, [])


def report(soak: Soak, seconds: float) -> int:
    """TAP and metrics; the exit status."""
    for name, value in (
        ("seconds", seconds),
        ("frames", soak.frames),
        *((f"rounds_{kind}", count) for kind, count in sorted(soak.rounds.items())),
        ("changes", sum(soak.changes.values())),
        ("refused", sum(soak.refused.values())),
    ):
        print(f"# metric {name}={value:g} unit={'s' if name == 'seconds' else '1'}")
    print(f"# changed {json.dumps(dict(sorted(soak.changes.items())))}")
    print(f"# refused {json.dumps(dict(sorted(soak.refused.items())))}")
    for number, check in enumerate(CHECKS, 1):
        print(f"{'not ok' if soak.wrong[check] else 'ok'} {number} soak.{check}")
    return 1 if any(soak.wrong.values()) else 0


def arguments() -> argparse.Namespace:
    """The command line; NETIF names the port as in the kernel's tests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", default=os.environ.get("NETIF", "port0"))
    parser.add_argument("--peer", default="gen0", help="at the other end of the wire")
    parser.add_argument("--sender", default="sender", help="Ringside's sender")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    """Exit status 0, 1 or, when something is missing, 4."""
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    dice = random.Random(options.seed)
    soak = Soak(Port(options.port), Port(options.peer), options.sender, dice)
    print("TAP version 13")
    why = why_missing((soak.port, soak.peer))
    if why:
        print(f"1..0 # SKIP {why}")
        return EXIT_SKIP
    print(f"1..{len(CHECKS)}")
    run(soak, options.seconds)
    return report(soak, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
