# SPDX-License-Identifier: GPL-2.0-only
"""Conservation: what was sent is delivered or counted as dropped, and by whom."""

from dataclasses import dataclass, field
from typing import Any

from ringside.counts import GENERATOR, PORT
from ringside.lab.run import Outcome

# The kernel's own counters of lost frames (Documentation/networking/statistics.rst).
# rx_errors and tx_errors are sums of others and would count a frame twice.
_KERNEL_DROPS = (
    "rx_missed_errors",
    "rx_fifo_errors",
    "rx_over_errors",
    "rx_dropped",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_length_errors",
)
_SENDER_DROPS = (
    "tx_dropped",
    "tx_fifo_errors",
    "tx_carrier_errors",
    "tx_aborted_errors",
)


@dataclass
class Ledger:
    """Frames of a run: where they went. port_counted is the port's own count."""

    sent: int = 0
    delivered: int = 0
    duplicated: int = 0
    corrupted: int = 0
    unexplained: int = 0
    drops: list[dict[str, Any]] = field(default_factory=list)
    port_counted: int = 0
    port_expected: int = 0
    moved: dict[str, int] = field(default_factory=dict)

    def balanced(self) -> bool:
        """Whether every frame is accounted for, once and whole."""
        return not (self.unexplained or self.duplicated or self.corrupted)

    def describe(self) -> str:
        """The balance as a line."""
        dropped = "".join(f" + {drop['count']} {drop['where']}" for drop in self.drops)
        text = f"sent {self.sent} = delivered {self.delivered}{dropped}"
        if self.unexplained:
            counters = ", ".join(f"{k} {v:+d}" for k, v in self.moved.items()) or "none"
            text += (
                f" + {self.unexplained} unexplained (counters that moved: {counters})"
            )
        if self.duplicated or self.corrupted:
            text += f"; {self.duplicated} duplicated, {self.corrupted} corrupted"
        return text


def _moved(outcome: Outcome, port: str) -> dict[str, int]:
    """How far each counter of a port moved in the run."""
    before = outcome.statistics.get(f"{port}.before", {})
    after = outcome.statistics.get(f"{port}.after", {})
    return {
        name: value - before.get(name, 0)
        for name, value in after.items()
        if value != before.get(name, 0)
    }


def _explaining(
    moved: dict[str, int], kinds: tuple[str, ...], missing: int
) -> dict[str, int]:
    """Counters that explain the missing frames: together, or one of them alone.

    Drivers count one loss in several places; a single counter that says exactly
    what is missing is taken before a sum that says too much.
    """
    known = {name: moved[name] for name in kinds if moved.get(name, 0) > 0}
    if sum(known.values()) == missing:
        return known
    # The driver's own names come last: they are read only if the kernel's do not fit.
    driver = {n: v for n, v in moved.items() if n.startswith("ethtool.")}
    for name, value in {**known, **driver}.items():
        if value == missing:
            return {name: value}
    fitting = {name: value for name, value in known.items() if value <= missing}
    best = max(fitting, key=lambda name: fitting[name], default=None)
    return {best: fitting[best]} if best else {}


def _named_drops(
    port: str,
    moved: dict[str, int],
    kinds: tuple[str, ...],
    missing: int,
    lost_before: int,
) -> tuple[list[dict[str, Any]], int]:
    """The window's drops by counter, and the warm-up's that these did not explain.

    A counter's reading spans the warm-up too, so what that lost is explained
    with it and then taken off again, from the largest counters first.
    """
    if missing <= 0:
        return [], lost_before
    found = _explaining(moved, kinds, missing + lost_before)
    drops = []
    for name, value in sorted(found.items(), key=lambda item: -item[1]):
        before = min(value, lost_before)
        lost_before -= before
        if value > before:
            drops.append({"where": f"{port} {name}", "count": value - before})
    return drops, lost_before


def balance(outcome: Outcome, direction: str) -> Ledger:
    """The ledger of a run's streams."""
    ledger = Ledger()
    ends = {"rx": [(GENERATOR, PORT)], "tx": [(PORT, GENERATOR)]}
    pairs = ends["rx"] + ends["tx"] if direction == "both" else ends[direction]
    for (sender, receiver), line in zip(pairs, outcome.values("stream"), strict=True):
        stream = {
            key: int(value)
            for key, _, value in (word.partition("=") for word in line.split(":")[1:])
        }
        _add_stream(ledger, outcome, sender, receiver, stream)
    return ledger


def _add_stream(
    ledger: Ledger, outcome: Outcome, sender: str, receiver: str, stream: dict[str, int]
) -> None:
    sent, delivered = stream["sent"], stream["delivered"]
    missing = sent - delivered - stream["corrupted"]
    drops = []
    if stream["stack_drops"]:
        drops.append(
            {
                "where": f"{receiver} socket (receiver too slow)",
                "count": stream["stack_drops"],
            }
        )
        missing -= stream["stack_drops"]
    at_receiver = _moved(outcome, receiver)
    at_sender = _moved(outcome, sender)
    # Frames of the warm-up that no one delivered; drivers count damaged ones too.
    lost = stream["warmup_sent"] - stream["warmed_up"] - stream["warmup_drops"]
    before = max(lost, 0)
    found, before = _named_drops(receiver, at_receiver, _KERNEL_DROPS, missing, before)
    missing -= sum(drop["count"] for drop in found)
    at_start, _ = _named_drops(sender, at_sender, _SENDER_DROPS, missing, before)
    missing -= sum(drop["count"] for drop in at_start)
    ledger.drops += [*drops, *found, *at_start]
    ledger.sent += sent
    ledger.delivered += delivered
    ledger.duplicated += stream["duplicated"]
    ledger.corrupted += stream["corrupted"]
    ledger.unexplained += missing
    ledger.moved.update({f"{receiver} {k}": v for k, v in at_receiver.items()})
    # The port's own counter proves the load: frames it passed up, or sent.
    if receiver == PORT:
        ledger.port_counted += at_receiver.get("rx_packets", 0)
        ledger.port_expected += (
            delivered
            + stream["corrupted"]
            + stream["stack_drops"]
            + stream["warmed_up"]
            + stream["warmup_drops"]
        )
    else:
        ledger.port_counted += at_sender.get("tx_packets", 0)
        ledger.port_expected += sent + stream["warmup_sent"]
