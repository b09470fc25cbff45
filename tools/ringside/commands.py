# SPDX-License-Identifier: GPL-2.0-only
"""What each command does: from a request to tables, files and an exit status."""

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ringside import bench as cost, budgets, output, profiles, session
from ringside.errors import EXIT_GOOD, CannotMeasure, UsageError, shortened
from ringside.lab import image, kernel as kernels, qemu
from ringside.lab.kernel import LabKernel
from ringside.profiles import Profile
from ringside.report import files, schema, table


@dataclass(frozen=True)
class BenchRequest:
    """A checked command line of bench."""

    command: list[str]
    kernel: str | None
    nics: str
    rates_pps: list[int]
    sizes: list[int]
    count: int
    direction: str
    repeats: int
    cache_model: dict[str, str]
    json: Path | None
    html: Path | None
    budget: Path | None
    update_budget: str | None


def nics(kernel_name: str | None, name: str | None) -> int:
    """Lists the profiles, or tells all of one."""
    chosen = profiles.all_profiles() if name is None else profiles.choose(name)
    lab_kernel = kernels.find(kernel_name)
    lines = []
    for profile in chosen:
        why = _unusable(lab_kernel, profile)
        if why is None and (profile.quirk or profile.out_of_tree):
            why = kernels.no_headers(lab_kernel)
        state = "usable" if why is None else f"not here: {why}"
        lines.append(
            f"{profile.name:<15} {profile.driver:<11} {profile.summary:<40} {state}"
        )
        if name:
            lines += _tell(profile)
    output.show("".join(f"{line}\n" for line in lines))
    return EXIT_GOOD


def _tell(profile: Profile) -> Iterator[str]:
    yield f"  source      {profile.source}"
    yield f"  QEMU        {profile.device} {_pairs(profile.properties)}".rstrip()
    yield f"  PCI         {' '.join(profile.pci_ids)}"
    for bar in profile.bars:
        alias = "" if bar.alias_of is None else f", shows BAR {bar.alias_of}'s region"
        yield f"  BAR {bar.index}       {bar.space}{alias}"
    if profile.quirk:
        yield f"  quirk       {profile.quirk.module}: {profile.quirk.why}"
    for vary in profile.vary:
        values = ", ".join(str(value) for value in vary.values)
        yield f"  parameter   {vary.parameter} = {values}: {vary.why}"


def _pairs(values: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def _unusable(kernel: LabKernel, profile: Profile) -> str | None:
    if not profile.out_of_tree and kernel.module_file(profile.driver) is None:
        return f"kernel {kernel.release} has no module {profile.driver}"
    return qemu.unusable(qemu.find(), profile)


def unmeasurable(kernel: LabKernel, profile: Profile) -> str | None:
    """As above, and that the quirk's module has no headers to be built with.

    A module that is there, or that does not build, is left to the measurement.
    """
    why = _unusable(kernel, profile)
    if why or not profile.quirk:
        return why
    try:
        image.built_module(kernel, image.QUIRKS, profile.quirk.module)
    except CannotMeasure:
        try:
            kernels.headers(kernel)
        except CannotMeasure as error:
            return str(error)
    return None


def cache_model(geometries: dict[str, str]) -> dict[str, dict[str, int]]:
    """The geometry as the result states it; wrong ones are refused here."""
    model: dict[str, dict[str, int]] = {}
    for level, text in geometries.items():
        if not re.fullmatch("[1-9][0-9]{0,15}(:[1-9][0-9]{0,15}){2}", text):
            raise UsageError(
                f"--{level} {shortened(text)}: is not SIZE:WAYS:LINE in bytes"
            )
        size, ways, line = (int(word) for word in text.split(":"))
        model[level] = {"size_bytes": size, "ways": ways, "line_bytes": line}
    lines = [level["line_bytes"] for level in model.values()]
    for level, text in geometries.items():
        why = _geometry_error(model[level], lines)
        if why:
            raise UsageError(f"--{level} {text}: {why}")
    return model


def _geometry_error(level: dict[str, int], lines: list[int]) -> str | None:
    """What the plugin has against a level: tools/qemu/plugin/cache.c in its words."""
    size, ways, line = level["size_bytes"], level["ways"], level["line_bytes"]
    if not 16 <= line <= 4096 or line.bit_count() != 1:
        return "LINE must be a power of two from 16 to 4096"
    if line != lines[0]:
        return f"LINE must be the same for l1d, l2 and llc, not {lines}"
    if ways > 64:
        return "WAYS must be from 1 to 64"
    if size > 1 << 30:
        return "SIZE must be at most 1 GiB"
    sets, rest = divmod(size, ways * line)
    if rest or sets.bit_count() != 1:
        return "SIZE must be WAYS * LINE * a power of two"
    return None


def _tasks(request: BenchRequest, chosen: list[Profile]) -> list[cost.Task]:
    geometries = cost.DEFAULT_CACHE | request.cache_model
    return [
        cost.Task(
            profile,
            cost.Load(rate, size, request.count, request.direction),
            request.repeats,
            geometries,
        )
        for profile in chosen
        for size in request.sizes
        for rate in request.rates_pps
    ]


def bench(request: BenchRequest) -> int:
    """Measures what was asked for and shows it; the exit status."""
    started = time.time()
    chosen = profiles.choose(request.nics)
    model = cache_model(cost.DEFAULT_CACHE | request.cache_model)
    if request.budget and request.update_budget is None:
        budgets.check(request.budget, [profile.name for profile in chosen])
    kernel = kernels.find(request.kernel)
    reasons = {profile.name: unmeasurable(kernel, profile) for profile in chosen}
    tasks = _tasks(request, chosen)
    measured = iter(
        session.measure_all(
            kernel,
            [task for task in tasks if not reasons[task.profile.name]],
            cost.measure,
        )
    )
    entries = []
    for task in tasks:
        reason = reasons[task.profile.name]
        entries.append(
            cost.unmeasured(kernel, task, CannotMeasure(reason))
            if reason
            else next(measured)
        )
    if request.update_budget is not None:
        folder = request.budget or budgets.FOLDER
        budgets.update(entries, kernel.release, folder, request.update_budget)
    elif request.budget:
        budgets.apply(entries, kernel.release, request.budget)
    document = {
        "schema": "ringside/1",
        "kind": "bench",
        "lab": "vm",
        "environment": session.environment(request.command, kernel, model, started),
        "runs": entries,
    }
    schema.validate(document)
    # A reader that has enough changes nothing about the result.
    with suppress(BrokenPipeError):
        _show(request, document)
    skipped = {name for name, reason in reasons.items() if reason}
    return session.status(entries, skipped if profiles.is_all(request.nics) else set())


def _show(request: BenchRequest, document: dict[str, Any]) -> None:
    """Files first: they must not depend on who reads the table."""
    reports = [path for path in (request.json, request.html) if path]
    taken = any(files.is_standard_output(path) for path in reports)
    # Standard output last: its reader may leave.
    for path in sorted(reports, key=files.is_standard_output):
        _write(request, path, document)
    stream = sys.stderr if taken else sys.stdout
    console = Console(file=stream)
    # Printed here and not by rich, which ends the program when a reader has left.
    with console.capture() as capture:
        table.render(document, console)
        if len(document["runs"]) == 1:
            table.render_detail(document, console)
    output.show(capture.get(), stream)


def _write(request: BenchRequest, path: Path, document: dict[str, Any]) -> None:
    if path == request.json:
        files.write_whole(path, json.dumps(document, indent=1) + "\n")
    else:
        # matplotlib takes a second to load.
        from ringside.report import html  # pylint: disable=import-outside-toplevel

        html.write_html(document, path)
