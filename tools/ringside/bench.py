# SPDX-License-Identifier: GPL-2.0-only
"""The cost sheet: plans the runs of a load, executes them, makes the result's entry."""

import os
import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ringside import conservation, counts
from ringside.counts import GENERATOR, PORT, Counts
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import image, run, snapshot
from ringside.lab.guest import GuestDied
from ringside.lab.kernel import LabKernel
from ringside.lab.run import Outcome
from ringside.lab.snapshot import Snapshot
from ringside.profiles import Profile

# An address that no port has: the other port's filter drops the frame.
_NOBODY = "52:54:00:ff:ff:fe"
_LOG_LINES = 40
# Frames before the window: drivers that adapt their interrupt rate settle, rings
# come round and caches warm. At low rates so many would take too long.
_WARMUP_FRAMES = (64, 1024)
_WARMUP_S = 0.5
# A rate missed by more is said in the result; less is rounding of the clock.
_RATE_TOLERANCE = 0.01

# SIZE:WAYS:LINE in bytes of each level that --l1d, --l2 and --llc do not name.
DEFAULT_CACHE = {"l1d": "32768:8:64", "l2": "1048576:16:64", "llc": "8388608:16:64"}
# Guests of all tasks together: more would only need more memory.
_PROCESSORS = threading.BoundedSemaphore(os.cpu_count() or 1)

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Load:
    """What is offered: rate in packets per second, size in bytes without FCS."""

    rate_pps: int
    size: int
    count: int
    direction: str

    def frames(self) -> int:
        """Frames that pass the port under test."""
        return self.count * (2 if self.direction == "both" else 1)

    def warmup(self) -> int:
        """Frames that are sent before the window."""
        low, high = _WARMUP_FRAMES
        return max(low, min(high, int(self.rate_pps * _WARMUP_S)))

    def guest_s(self) -> float:
        """Guest time that the load takes, warm-up included."""
        return (self.count + self.warmup()) / self.rate_pps


@dataclass(frozen=True)
class Task:
    """One entry of the result: a NIC under a load, repeated.

    settings are files of the guest that are set before each run, "PATH=VALUE";
    mark_file is one that makes the marks, for a counted driver.
    """

    profile: Profile
    load: Load
    repeats: int
    cache_model: dict[str, str]
    settings: tuple[str, ...] = ()
    mark_file: str | None = None

    def in_guest(self, command: str) -> str:
        """A command of commands() as this task runs it."""
        if self.mark_file:
            command = command.replace("--marks", f"--mark-file {self.mark_file}")
        return " ".join([*self.settings, command])


@dataclass
class Trio:
    """Outcomes of one repetition.

    whole has the full traffic and proves delivery; port is without what the
    generator does for frames it receives; rest is without the port's part.
    """

    whole: Outcome
    port: Outcome
    rest: Outcome


def check_rate(kept: Snapshot, load: Load) -> None:
    """Refuses a rate that the sender cannot offer, by what it reached at preparation."""
    senders = {"rx": [GENERATOR], "tx": [PORT], "both": [GENERATOR, PORT]}
    for port in senders[load.direction]:
        limits = kept.limits_pps.get(port, {})
        sizes = [size for size in sorted(limits) if size <= load.size]
        limit = limits[sizes[-1]] if sizes else None
        if limit is not None and load.rate_pps > limit:
            raise UsageError(
                f"rate {load.rate_pps} is above what the sender can do: at most"
                f" {int(limit)} frames of {load.size} bytes per second here"
            )


def _command(load: Load, streams: list[str], *more: str) -> str:
    words = ["sender"]
    for stream in streams:
        words += ["--stream", stream]
    words += ["--rate", str(load.rate_pps), "--size", str(load.size)]
    words += ["--count", str(load.count), "--warmup", str(load.warmup())]
    return " ".join([*words, "--marks", *more])


@dataclass(frozen=True)
class End:
    """An interface at one end of the wire, and its station address."""

    name: str
    address: str


def commands(kept: Snapshot, load: Load) -> tuple[str, str, str]:
    """Commands of a guest's runs, as commands_between() has them."""
    port, generator = (End(name, kept.addresses[name]) for name in (PORT, GENERATOR))
    return commands_between(port, generator, load)


def commands_between(port: End, generator: End, load: Load) -> tuple[str, str, str]:
    """Commands of the whole run, of the one with the port's cost, and of the rest.

    Received frames cost the generator too. A port's transmit cost is therefore
    taken from frames to nobody, which the generator's filter drops unseen.
    """
    to_port = f"{generator.name},{port.address},{port.name}"
    from_port = f"{port.name},{generator.address},{generator.name}"
    generator_alone = _command(load, [f"{generator.name},{_NOBODY}"])
    if load.direction == "rx":
        whole = _command(load, [to_port])
        return whole, whole, generator_alone
    port_alone = f"{port.name},{_NOBODY}"
    if load.direction == "tx":
        idle = _command(load, [port_alone], "--idle")
        return _command(load, [from_port]), _command(load, [port_alone]), idle
    both = _command(load, [to_port, from_port])
    return both, _command(load, [to_port, port_alone]), generator_alone


def _execute(kept: Snapshot, task: Task, progress: Progress) -> Trio:
    """Runs the commands, equal ones once, as many at once as there are processors."""
    wanted = commands(kept, task.load)
    distinct = list(dict.fromkeys(wanted))
    marks = max(task.load.guest_s() * run.PROGRESS_PER_S, 1.0)
    parts = dict.fromkeys(distinct, 0.0)
    telling = threading.Lock()

    def one(command: str) -> Outcome:
        def told(passed: int) -> None:
            with telling:
                parts[command] = min(passed / marks, 1.0)
                progress(sum(parts.values()) / len(parts))

        with _PROCESSORS:
            return run.execute(kept, task.in_guest(command), task.cache_model, told)

    with ThreadPoolExecutor(len(distinct)) as pool:
        done = dict(zip(distinct, pool.map(one, distinct)))
    for outcome in done.values():
        if outcome.status:
            lines = outcome.output.strip().splitlines() or ["no message"]
            raise CannotMeasure(f"the sender failed: {lines[0]}")
    return Trio(*[done[command] for command in wanted])


def check(name: str, good: bool, detail: str) -> dict[str, str]:
    """runs[].checks of the result: one that holds or not."""
    return {"name": name, "result": "pass" if good else "fail", "detail": detail}


def _irq_planes(outcomes: list[Outcome]) -> dict[str, str]:
    """Interrupt lines of /proc/interrupts against the handler calls the plugin saw."""
    for outcome in outcomes:
        assert outcome.window
        kernel = Counter(
            int(value.split(":")[1])
            for value in outcome.values("irq")
            if value.split(":")[0].isdigit()
        )
        plugin = Counter(irq["count"] for irq in outcome.window["irqs"])
        if kernel != plugin:
            detail = (
                f"/proc/interrupts counts {sorted(kernel.elements())} by line,"
                f" the plugin {sorted(plugin.elements())}"
            )
            return check("planes_irqs", False, detail)
    return check("planes_irqs", True, "/proc/interrupts and the plugin agree")


def _mmio_planes(
    kept: Snapshot, profile: Profile, outcomes: list[Outcome]
) -> dict[str, str]:
    """Device truth against the accesses of the CPU that the plugin saw, per BAR."""
    aliases = {bar.index for bar in profile.bars if bar.alias_of is not None}
    for outcome in outcomes:
        assert outcome.window
        for bar in kept.bars:
            if bar.space != "mmio" or (bar.port == PORT and bar.index in aliases):
                continue
            traced = [
                sum(r[what] for r in outcome.regions if _same_bar(r, bar))
                for what in ("reads", "writes")
            ]
            seen = counts.plugin_mmio(outcome.window, bar)
            if tuple(traced) != seen:
                detail = (
                    f"BAR {bar.index} of {bar.port}: the device saw {traced[0]} reads and"
                    f" {traced[1]} writes, the CPU made {seen[0]} and {seen[1]}"
                )
                return check("planes_mmio", False, detail)
    return check("planes_mmio", True, "device truth and the plugin agree")


def _same_bar(region: dict[str, Any], bar: snapshot.BarRange) -> bool:
    return (region["port"], region["bar"]) == (bar.port, bar.index)


def _repeat_check(trios: list[Trio]) -> dict[str, str]:
    if len(trios) == 1:
        detail = "one run only: --repeat 2 or more compares them"
        return {"name": "repeat", "result": "skip", "detail": detail}
    first = trios[0]
    for number, trio in enumerate(trios[1:], 2):
        if trio != first:
            return check("repeat", False, f"run {number} differs from run 1")
    return check("repeat", True, f"{len(trios)} runs are identical to the last count")


def _log_check(trios: list[Trio]) -> dict[str, str]:
    for trio in trios:
        for outcome in (trio.whole, trio.port, trio.rest):
            if outcome.log:
                return check("kernel_log", False, outcome.log[0][:200])
    return check("kernel_log", True, "no warning in the guest's log")


def _rate_check(
    load: Load, ledger: conservation.Ledger, achieved: float
) -> dict[str, str]:
    """The offered rate, proved by the port's own counter."""
    detail = f"achieved {achieved:.0f} of {load.rate_pps} pps"
    if achieved < load.rate_pps * (1 - _RATE_TOLERANCE):
        detail += " (the guest is saturated)"
    detail += f"; the port's own counters moved by {ledger.port_counted}"
    return check("rate", ledger.port_counted == ledger.port_expected, detail)


def _null_reasons(profile: Profile, figures: dict[str, Any]) -> dict[str, str]:
    """Takes out figures that the driver cannot have, and says why."""
    if profile.napi:
        return {}
    figures["polls"] = None
    return {
        "polls": f"{profile.driver} has no NAPI: its frames go up from the interrupt"
    }


def _module_names(kernel: LabKernel, profile: Profile) -> frozenset[str]:
    files = image.module_files(kernel, profile)
    return frozenset(path.name.split(".ko")[0].replace("-", "_") for path in files)


def _identity(task: Task, kernel: LabKernel, snapshot_key: str) -> dict[str, Any]:
    load = task.load
    return {
        "nic": task.profile.name,
        "driver": task.profile.driver,
        "direction": load.direction,
        "rate_pps": load.rate_pps,
        "size": load.size,
        "count": load.count,
        "driver_sha256": image.driver_hash(kernel, task.profile),
        "profile_sha256": task.profile.hash,
        "snapshot": snapshot_key,
        "repeats": task.repeats,
    }


def _cost(kernel: LabKernel, task: Task, kept: Snapshot, trio: Trio) -> dict[str, Any]:
    """Figures of the entry: what the port cost, and what was taken off."""
    frames = task.load.frames()
    whole, port, rest = (
        counts.count(kept, task.profile, outcome)
        for outcome in (trio.whole, trio.port, trio.rest)
    )
    cost = counts.minus(port, rest)
    taken_off = counts.minus(whole, cost)
    figures: dict[str, Any] = counts.per_packet(cost, frames)
    share: dict[str, Any] = counts.per_packet(taken_off, frames)
    reasons = _null_reasons(task.profile, figures) | _null_reasons(task.profile, share)
    functions = counts.functions_table(
        cost, frames, _module_names(kernel, task.profile)
    )
    return {
        "per_packet": figures,
        "generator_per_packet": share,
        "reasons": reasons,
        "packets_per_irq": _ratio(frames, cost, reasons),
        "packets_per_poll": counts.poll_histogram(cost),
        "regions": counts.regions_table(cost, frames),
        "groups": counts.groups_table(functions),
        "functions": functions,
    }


def _ratio(frames: int, cost: Counts, reasons: dict[str, str]) -> float | None:
    if cost.irqs > 0:
        return round(frames / cost.irqs, 6)
    reasons["packets_per_irq"] = "no interrupt of the port in the window"
    return None


def delivery(
    whole: Outcome, ledger: conservation.Ledger, checks: list[dict[str, str]]
) -> dict[str, Any]:
    """Where the frames of the whole run went, when they were sent, and what holds."""
    failed = [check for check in checks if check["result"] == "fail"]
    return {
        "status": "fail" if failed else "pass",
        "error": f"{failed[0]['name']}: {failed[0]['detail']}" if failed else None,
        "sent": ledger.sent,
        "delivered": ledger.delivered,
        "dropped": sum(drop["count"] for drop in ledger.drops),
        "drops": ledger.drops,
        "unexplained": ledger.unexplained,
        "duplicated": ledger.duplicated,
        "corrupted": ledger.corrupted,
        "achieved_rate_pps": float(whole.values("achieved_rate_pps")[0]),
        "jitter_ns": {
            name: int(whole.values(f"late_ns_{name}")[0])
            for name in ("median", "p99", "max")
        },
        "window_ns": int(whole.values("window_ns")[0]),
        "checks": checks,
    }


def entry_of(
    kernel: LabKernel, task: Task, kept: Snapshot, trios: list[Trio]
) -> dict[str, Any]:
    """The result's entry of the runs, with every check."""
    trio = trios[0]
    ledger = conservation.balance(trio.whole, task.load.direction)
    achieved = float(trio.whole.values("achieved_rate_pps")[0])
    outcomes = [outcome for t in trios for outcome in (t.whole, t.port, t.rest)]
    checks = [
        check("conservation", ledger.balanced(), ledger.describe()),
        _irq_planes(outcomes),
        _mmio_planes(kept, task.profile, outcomes),
        _repeat_check(trios),
        _log_check(trios),
        _rate_check(task.load, ledger, achieved),
    ]
    return {
        **_identity(task, kernel, kept.key),
        **delivery(trio.whole, ledger, checks),
        **_cost(kernel, task, kept, trio),
        "log_excerpt": [line for o in outcomes for line in o.log][:_LOG_LINES],
    }


def unmeasured(
    kernel: LabKernel, task: Task, error: CannotMeasure, status: str = "error"
) -> dict[str, Any]:
    """The entry of a NIC that could not be measured: nulls, each with the reason."""
    reason = str(error)
    nothing = dict.fromkeys(counts.PER_PACKET)
    gaps = (
        *("sent", "delivered", "dropped", "unexplained", "duplicated", "corrupted"),
        *("achieved_rate_pps", "jitter_ns", "window_ns", "packets_per_irq"),
    )
    identity = _identity(task, kernel, "none")
    unknown = [key for key, value in identity.items() if value is None]
    return {
        **identity,
        **dict.fromkeys(gaps),
        "status": status,
        "error": reason,
        "drops": [],
        "per_packet": dict(nothing),
        "generator_per_packet": dict(nothing),
        "reasons": dict.fromkeys((*gaps, *nothing, *unknown), reason),
        "packets_per_poll": [],
        "regions": [],
        "groups": [],
        "functions": [],
        "checks": [],
        "log_excerpt": error.log[-_LOG_LINES:] if isinstance(error, GuestDied) else [],
    }


Finish = Callable[[LabKernel, Task, Snapshot, list[Trio]], dict[str, Any]]


def _blames_driver(modules: frozenset[str], log: list[str]) -> bool:
    """Whether the trace of a dead guest goes through the driver or its helpers."""
    found = {name for line in log for name in re.findall(r"\+0x\S+ \[(\w+)", line)}
    return not modules.isdisjoint(found)


def measure(
    kernel: LabKernel, task: Task, progress: Progress, finish: Finish = entry_of
) -> dict[str, Any]:
    """The result's entry of one task, made by finish() of its runs.

    Wrong use raises; what breaks is in the entry.
    """
    try:
        kept = snapshot.get(kernel, task.profile)
        check_rate(kept, task.load)
        trios = []
        for number in range(task.repeats):

            def told(part: float, number: int = number) -> None:
                progress((number + part) / task.repeats)

            trios.append(_execute(kept, task, told))
        return finish(kernel, task, kept, trios)
    except GuestDied as died:
        blamed = _blames_driver(_module_names(kernel, task.profile), died.log)
        return unmeasured(kernel, task, died, "fail" if blamed else "error")
    except CannotMeasure as error:
        return unmeasured(kernel, task, error)
