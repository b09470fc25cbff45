# SPDX-License-Identifier: GPL-2.0-only
"""The ledger on this machine: a port's own driver, counted, with the time of each access."""

import datetime
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside import __version__, bench, builds, conservation, counts, session, sites
from ringside.bench import End, Load
from ringside.counts import GENERATOR, PORT, port_interrupts
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import counted, image, source as sources
from ringside.lab.kernel import LabKernel
from ringside.lab.run import Outcome, log_trouble
from ringside.lab.source import Source
from ringside.metal import interfaces, running, swap
from ringside.metal.interfaces import Interface
from ringside.profiles import Profile, all_profiles

_FILES = Path("/sys/kernel/debug/iotally")
_KMSG = "/dev/kmsg"
_RECORD_BYTES = 8192
_LOG_LINES = 40
# Of a run beyond its load: opening the sockets, reading the counts.
_BESIDE_S = 60.0
_NO_TRUTH = "no device truth on metal: what the header cannot see is not noticed here"
_UNCOUNTED = "the generator's driver is not counted"
_NO_PLANE = "not measured by the ledger on metal"
_GAPS = {
    "profile_sha256": "the port is this machine's, no profile's",
    "snapshot": "metal has none",
    "counting_instructions": _NO_PLANE,
    "bus_wait_instructions": "the bus is a real one",
}


@dataclass(frozen=True)
class Ports:
    """The port under test and the one at the other end of its cable."""

    port: Interface
    generator: Interface

    def ends(self) -> tuple[End, End]:
        """As the sender's streams name them: port, generator."""
        return (
            End(self.port.name, self.port.read("address")),
            End(self.generator.name, self.generator.read("address")),
        )


@dataclass(frozen=True)
class Counted:
    """The running kernel with a counted driver, what was built, and from where."""

    kernel: LabKernel
    profile: Profile
    source: str


def choose(nic: str | None, generator: str | None, force: bool) -> Ports:
    """The two interfaces; refuses those that this machine needs."""
    if not nic or not generator:
        raise UsageError("--lab metal takes --nic IF and --generator IF, of one cable")
    if nic == generator:
        raise UsageError("--generator: must be another interface than --nic")
    ports = Ports(
        interfaces.find(nic, "--nic"), interfaces.find(generator, "--generator")
    )
    others = [n for n in interfaces.of_module(ports.port.module) if n != nic]
    if generator in others:
        raise UsageError(
            f"--generator {generator}: has the driver of {nic}, which is replaced: take"
            " a port of another driver"
        )
    why = interfaces.why_spared([nic, generator, *others])
    if why and not force:
        raise CannotMeasure(
            f"{why}, and would go down: take another port (--force does it all the same)"
        )
    if others and not force:
        raise CannotMeasure(
            f"{ports.port.module} also serves {', '.join(others)}, which would go down"
            " with it: --force takes them along"
        )
    return ports


def _is_of_many_files(folder: Path, stem: str) -> bool:
    """Whether a folder's makefile composes that module of several objects."""
    for name in ("Kbuild", "Makefile"):
        path = folder / name
        if path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            plain = rf"^{re.escape(stem)}-(?:y|objs)\b"
            return bool(re.search(plain, text, re.MULTILINE))
    return False


def profile_of(port: Interface, kernel: LabKernel, source: Source) -> Profile:
    """What is built for a port: as a profile of its driver says, else by the tree.

    A module lies in the kernel's package where its source lies in the tree.
    """
    file = kernel.module_file(port.module)
    if file is None:
        raise CannotMeasure(
            f"{port.module} is none of the running kernel's own modules, so it could not"
            " be loaded again"
        )
    stem = re.sub(r"\.ko(\.\w+)?$", "", file.name)
    for profile in all_profiles():
        if profile.driver == stem and not profile.out_of_tree:
            return profile
    place = file.relative_to(kernel.modules / "kernel").parent
    if (source.tree / place / f"{stem}.c").exists() and not _is_of_many_files(
        source.tree / place, stem
    ):
        place = place / f"{stem}.c"
    return Profile(port.name, "", stem, str(place), "", (), "")


@contextmanager
def _kernel_log() -> Iterator[list[str]]:
    """Fills a list with what the kernel said meanwhile that is a warning or worse."""
    found: list[str] = []
    try:
        reader = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise CannotMeasure(f"cannot read {_KMSG}: {error.strerror}") from error
    try:
        os.lseek(reader, 0, os.SEEK_END)
        yield found
        records = []
        while True:
            try:
                records.append(os.read(reader, _RECORD_BYTES))
            except BlockingIOError:
                break
            except BrokenPipeError:
                # Some were overwritten before they were read.
                records.append(b"4,0,0,-;the kernel's log ran over\n")
        text = b"".join(records).decode("utf-8", errors="replace")
        found += log_trouble(text)
    finally:
        os.close(reader)


def _set(name: str, value: str) -> None:
    (_FILES / name).write_text(value, encoding="ascii")


def _run(ports: Ports, command: str, limit_s: float) -> tuple[Outcome, str]:
    """One load; its outcome and the counter's times."""
    words = [str(builds.sender()), *shlex.split(command)[1:]]
    _set("histogram", "1")
    statistics = {}
    pair = ((PORT, ports.port), (GENERATOR, ports.generator))
    for name, interface in pair:
        statistics[f"{name}.before"] = interface.statistics()
    with _kernel_log() as log:
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=limit_s
            )
        except subprocess.TimeoutExpired as error:
            raise CannotMeasure(f"the sender did not end in {limit_s:.0f} s") from error
    for name, interface in pair:
        statistics[f"{name}.after"] = interface.statistics()
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise CannotMeasure(f"the sender failed: {lines[0]}")
    outcome = Outcome(0, done.stdout, None, [], statistics, log)
    outcome.sites = (_FILES / "sites").read_text(encoding="utf-8")
    return outcome, (_FILES / "histograms").read_text(encoding="utf-8")


def _checks(
    load: Load, outcome: Outcome, log: Sequence[str]
) -> tuple[conservation.Ledger, list[dict[str, str]]]:
    """What holds of the run, and where its frames went."""
    balance = conservation.balance(outcome, load.direction)
    achieved = float(outcome.values("achieved_rate_pps")[0])
    said = log[0][:200] if log else "no warning in the kernel's log"
    # Neighbours speak too: the port's own counters may have more, never less.
    proved = balance.port_counted >= balance.port_expected
    checks = [
        {"name": "ledger", "result": "skip", "detail": _NO_TRUTH},
        bench.check("conservation", balance.balanced(), balance.describe()),
        bench.check("kernel_log", not log, said),
        bench.check(
            "rate",
            proved,
            f"achieved {achieved:.0f} of {load.rate_pps} pps; the port's own counters"
            f" moved by {balance.port_counted}",
        ),
    ]
    return balance, checks


def _figures(
    rows: Sequence[dict[str, Any]], per: sites.Per, reasons: dict[str, str]
) -> dict[str, Any]:
    """per_packet of the entry: accesses from the ledger, interrupts from the kernel."""
    figures: dict[str, Any] = dict.fromkeys(counts.PER_PACKET)
    for space in ("mmio", "port"):
        for direction in ("read", "write"):
            figures[f"{space}_{direction}s"] = round(
                sum(
                    row["per_packet"]
                    for row in rows
                    if (row["space"], row["direction"]) == (space, direction)
                ),
                6,
            )
    figures["irqs"] = round(per.irqs / per.packets, 6)
    for name, value in figures.items():
        reasons[name] = _UNCOUNTED if value is not None else _NO_PLANE
    return figures


def _accesses(
    ports: Ports, load: Load, runs: Sequence[tuple[Outcome, str]]
) -> dict[str, Any]:
    """The ledger itself: of the port's run and of the rest."""
    (port, times), (rest, _) = runs
    bars, lines = ports.port.bars(), ports.port.lines()
    irqs = port_interrupts(port, lines) - port_interrupts(rest, lines)
    per = sites.Per(load.frames(), irqs)
    listing = sites.parse(port.sites, bars)
    alone = sites.parse(rest.sites, bars).counts
    rows = sites.result_rows(listing.counts, alone, per, sites.parse_times(times))
    reasons = dict(_GAPS)
    if any(row["ns_median"] is None for row in rows):
        reasons["ns_median"] = "no call in the port's run"
    if irqs <= 0:
        reasons |= {"per_irq": sites.NO_IRQ, "packets_per_irq": sites.NO_IRQ}
    return {
        "per_packet": _figures(rows, per, reasons),
        "generator_per_packet": dict.fromkeys(counts.PER_PACKET),
        "reasons": reasons,
        "packets_per_irq": round(load.frames() / irqs, 6) if irqs > 0 else None,
        "sites": rows,
        "places": listing.places,
        "cross_check": [],
        "static": False,
        "counting_instructions": None,
        "bus_wait_instructions": None,
        **{name: [] for name in ("packets_per_poll", "regions", "groups", "functions")},
    }


def _entry(
    ports: Ports, built: Counted, load: Load, runs: Sequence[tuple[Outcome, str]]
) -> dict[str, Any]:
    """The result's entry: runs are the whole, the port's and the rest's."""
    log = [line for outcome, _ in runs for line in outcome.log]
    return {
        "nic": ports.port.name,
        "driver": built.profile.driver,
        "direction": load.direction,
        "rate_pps": load.rate_pps,
        "size": load.size,
        "count": load.count,
        "driver_sha256": image.driver_hash(built.kernel, built.profile),
        "profile_sha256": None,
        "snapshot": None,
        "repeats": 1,
        **bench.delivery(runs[0][0], *_checks(load, runs[0][0], log)),
        "log_excerpt": log[:_LOG_LINES],
        **_accesses(ports, load, runs[1:]),
    }


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    match = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return match[1].strip() if match else os.uname().machine


def _environment(command: list[str], built: Counted, started: float) -> dict[str, Any]:
    kernel = built.kernel
    when = datetime.datetime.fromtimestamp(started, datetime.timezone.utc)
    return {
        "kernel_release": kernel.release,
        "kernel_config_sha256": kernel.config_hash(),
        "command": command,
        "qemu_version": None,
        "cpu_model": _processor(),
        "tool_version": __version__,
        "seed": 1,
        "started": when.isoformat(timespec="seconds"),
        "wall_time_s": round(time.time() - started, 1),
        "icount_shift": None,
        "guest_clock_hz": None,
        "cache_model": None,
        "packet_data": "as this machine has it",
        "debug_options": session.debug_options(kernel),
        "source": built.source,
        "bus": "none",
    }


def _counted(port: Interface, tree: str | None) -> Counted:
    """The running kernel with the port's driver built counted."""
    kernel = running.find()
    source = sources.find(kernel, tree)
    profile = profile_of(port, kernel, source)
    built = counted.build(kernel, profile, counted.Recipe(source))
    return Counted(built, profile, source.name)


def _measure_one(ports: Ports, built: Counted, load: Load) -> dict[str, Any]:
    """The entry of one load; equal commands are run once."""
    wanted = bench.commands_between(*ports.ends(), load)
    done = {}
    for command in dict.fromkeys(wanted):
        marked = command.replace("--marks", f"--mark-file {_FILES}/mark")
        done[command] = _run(ports, marked, load.guest_s() + _BESIDE_S)
    return _entry(ports, built, load, [done[command] for command in wanted])


def measure(
    ports: Ports, loads: Sequence[Load], tree: str | None, command: list[str]
) -> dict[str, Any]:
    """The result; everything on this machine is as before when it returns or raises."""
    if os.geteuid():
        raise CannotMeasure("--lab metal loads modules: run it as root")
    why = running.refuses_modules()
    if why:
        raise CannotMeasure(why)
    started = time.time()
    built = _counted(ports.port, tree)
    builds.sender()
    with swap.counted(ports.port, ports.generator, built.kernel):
        entries = [_measure_one(ports, built, load) for load in loads]
    return {
        "schema": "ringside/1",
        "kind": "ledger",
        "lab": "metal",
        "environment": _environment(command, built, started),
        "runs": entries,
    }
