# SPDX-License-Identifier: GPL-2.0-only
"""./ringside ledger: from a request to tables, a file and an exit status."""

import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ringside import bench, commands, ledger, output, profiles, session, static_list
from ringside.errors import EXIT_GOOD, CannotMeasure, UsageError, shortened
from ringside.lab import counted, kernel as kernels, source as sources
from ringside.lab.kernel import LabKernel
from ringside.metal import ledger as metal_ledger
from ringside.profiles import Profile
from ringside.report import files, ledger_table, schema

_NOTHING_RAN = "nothing was run"


@dataclass(frozen=True)
class LedgerRequest:
    """A command line of ledger, its numbers checked."""

    command: list[str]
    kernel: str | None
    nic: str | None
    rates_pps: list[int]
    sizes: list[int]
    count: int
    direction: str
    tree: str | None
    bus: str
    ddio: bool
    static: bool
    module: Path | None
    lab: str
    generator: str | None
    force: bool
    json: Path | None


def _check(request: LedgerRequest) -> Profile | None:
    """The NIC's profile, None for a module alone; refuses what cannot be meant."""
    if request.bus not in ledger.BUSES:
        known = ", ".join(ledger.BUSES)
        raise UsageError(f"--bus {shortened(request.bus)}: is none of {known}")
    if request.module and not request.static:
        raise UsageError("--module is for --static: only a NIC can be measured")
    if request.module and (request.nic or request.tree):
        raise UsageError("--module stands alone: without --nic and --tree")
    if request.module:
        return None
    if not request.nic:
        raise UsageError("--nic is missing: ./ringside nics lists them")
    chosen = profiles.choose(request.nic)
    if len(chosen) != 1:
        raise UsageError(f"--nic {shortened(request.nic)}: a ledger is of one NIC")
    return chosen[0]


def _loads(request: LedgerRequest) -> list[bench.Load]:
    return [
        bench.Load(rate, size, request.count, request.direction)
        for size in request.sizes
        for rate in request.rates_pps
    ]


def _tasks(request: LedgerRequest, profile: Profile) -> list[bench.Task]:
    return [
        ledger.counted(
            bench.Task(profile, load, 1, bench.DEFAULT_CACHE),
            request.bus,
            request.ddio,
        )
        for load in _loads(request)
    ]


def _check_metal(request: LedgerRequest) -> None:
    """Refuses what only an emulated machine has."""
    for option, given in (
        ("--kernel", request.kernel),
        ("--static", request.static),
        ("--module", request.module),
        ("--ddio", request.ddio),
        ("--bus", request.bus != "none"),
    ):
        if given:
            raise UsageError(f"{option} is for the vm lab: metal is what it is")


def _on_metal(request: LedgerRequest) -> dict[str, Any]:
    _check_metal(request)
    ports = metal_ledger.choose(request.nic, request.generator, request.force)
    return metal_ledger.measure(ports, _loads(request), request.tree, request.command)


def _document(
    request: LedgerRequest,
    kernel: LabKernel,
    started: float,
    source: str,
    entries: list[dict[str, Any]],
) -> dict[str, Any]:
    """The result; source is what was built, or the module that was read."""
    model = None if request.static else commands.cache_model(bench.DEFAULT_CACHE)
    data = _NOTHING_RAN if request.static else ledger.packet_data(request.ddio)
    environment = session.environment(request.command, kernel, model, started, data)
    return {
        "schema": "ringside/1",
        "kind": "ledger",
        "lab": "vm",
        "environment": environment | {"source": source, "bus": request.bus},
        "runs": entries,
    }


def _measure(request: LedgerRequest, profile: Profile) -> dict[str, Any]:
    started = time.time()
    kernel = kernels.find(request.kernel)
    why = commands.unmeasurable(kernel, profile)
    if why:
        raise CannotMeasure(why)
    if request.ddio and not ledger.has_marks():
        raise CannotMeasure(f"--ddio: {ledger.NO_MARKS}")
    source = sources.find(kernel, request.tree)
    built = counted.build(kernel, profile, counted.Recipe(source))
    entries = session.measure_all(built, _tasks(request, profile), ledger.measure)
    return _document(request, kernel, started, source.name, entries)


def _list(request: LedgerRequest, profile: Profile | None) -> dict[str, Any]:
    started = time.time()
    kernel = kernels.find(request.kernel)
    if profile is None:
        assert request.module
        entry = static_list.of_file(kernel, request.module)
        return _document(request, kernel, started, str(request.module), [entry])
    source = sources.find(kernel, request.tree)
    built = counted.build(kernel, profile, counted.Recipe(source))
    entry = static_list.of_nic(built, profile)
    return _document(request, kernel, started, source.name, [entry])


def run(request: LedgerRequest) -> int:
    """Measures or lists what was asked for and shows it; the exit status."""
    if request.lab == "metal":
        return _shown(request, _on_metal(request))
    if request.generator or request.force:
        raise UsageError("--generator and --force are for --lab metal")
    profile = _check(request)
    if request.static:
        document = _list(request, profile)
    else:
        assert profile
        document = _measure(request, profile)
    return _shown(request, document)


def _shown(request: LedgerRequest, document: dict[str, Any]) -> int:
    """Shows a result; the exit status."""
    schema.validate(document)
    # A reader that has enough changes nothing about the result.
    with suppress(BrokenPipeError):
        _show(request, document)
    return EXIT_GOOD if request.static else session.status(document["runs"], set())


def _show(request: LedgerRequest, document: dict[str, Any]) -> None:
    """The file first: it must not depend on who reads the table."""
    if request.json:
        files.write_whole(request.json, json.dumps(document, indent=1) + "\n")
    taken = request.json and files.is_standard_output(request.json)
    stream = sys.stderr if taken else sys.stdout
    console = Console(file=stream)
    with console.capture() as capture:
        ledger_table.render(document, console)
    output.show(capture.get(), stream)
