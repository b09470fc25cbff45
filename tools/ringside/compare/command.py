# SPDX-License-Identifier: GPL-2.0-only
"""./ringside compare: from two versions of a driver to a verdict and an exit status."""

import difflib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ringside import bench, cache, commands, output, profiles, session
from ringside.bench import Load
from ringside.compare import build, report, revisions, runs, verdict
from ringside.compare.revisions import Request, Sides
from ringside.compare.verdict import BETTER, SAME, UNKNOWN, WORSE, Change, Line
from ringside.errors import (
    EXIT_CANNOT_MEASURE,
    EXIT_GOOD,
    EXIT_NOT_GOOD,
    CannotMeasure,
    UsageError,
)
from ringside.lab import kernel as kernels, source as sources
from ringside.lab.kernel import LabKernel
from ringside.lab.source import Source
from ringside.profiles import Profile
from ringside.report import files, schema

_STATUS = {
    SAME: EXIT_GOOD,
    BETTER: EXIT_GOOD,
    WORSE: EXIT_NOT_GOOD,
    UNKNOWN: EXIT_CANNOT_MEASURE,
}


@dataclass(frozen=True)
class CompareRequest:
    """A command line of compare, its numbers checked."""

    command: list[str]
    versions: Request
    kernel: str | None
    nics: str | None
    loads: list[Load]
    json: Path | None
    markdown: Path | None


@dataclass(frozen=True)
class _Case:
    """One driver: its profile, both versions, and the kernel that they are built for."""

    profile: Profile
    sides: Sides
    kernel: LabKernel


def _check_version(kernel: LabKernel, version: str | None) -> None:
    """A driver is built for a kernel of its own series, whose interfaces it uses."""
    wanted = sources.kernel_version(kernel).split(".")[:2]
    if version and version.replace("-", ".").split(".")[:2] != wanted:
        raise CannotMeasure(
            f"the tree is Linux {version}, the lab kernel {kernel.release}: name one of"
            " the tree's series with --kernel"
        )


def _moved(sides: Sides, folder: str) -> dict[tuple[str, int], int | None]:
    """Where each line of base's changed files is in head; None: no more."""
    found: dict[tuple[str, int], int | None] = {}
    for name in sides.changed:
        texts = []
        for side in (sides.base, sides.head):
            path = side.tree / name
            text = path.read_text("utf-8", "replace") if path.is_file() else ""
            texts.append(text.splitlines())
        # Sites name files from the folder that was built.
        shown = name.removeprefix(f"{folder}/")
        found |= {(shown, n): None for n in range(1, len(texts[0]) + 1)}
        matcher = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False)
        for old, new, length in matcher.get_matching_blocks():
            for step in range(length):
                found[shown, old + step + 1] = new + step + 1
    return found


def _text_of(source: Source, folder: str, line: Line) -> str:
    path = source.tree / folder / line.file
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return texts[line.number - 1].strip()
    except (OSError, IndexError):
        return ""


def _rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    return [
        {
            "kind": change.kind,
            "what": change.what,
            "base": change.base,
            "head": change.head,
            "source": change.source,
            "verdict": change.verdict(),
        }
        for change in changes
    ]


def _lines(case: _Case, base: runs.Runs, head: runs.Runs) -> list[dict[str, Any]]:
    """What changed by line, with the line's text."""
    if not base.ledger or not head.ledger:
        return []
    folder = revisions.folders_of(case.profile)[0]
    moved = _moved(case.sides, folder)
    found = []
    for change, line in verdict.lines(base.ledger, head.ledger, moved):
        side = case.sides.head if line.of_head else case.sides.base
        found.append(
            Change(
                *(change.what, change.kind, change.base, change.head),
                _text_of(side, folder, line),
            )
        )
    return _rows(found)


def _metrics(found: Sequence[verdict.Metric]) -> list[dict[str, Any]]:
    return [
        {
            "name": metric.name,
            "base": metric.base,
            "head": metric.head,
            "delta": metric.delta(),
            "ci95": None,
            "verdict": metric.verdict,
            "reason": metric.reason or "a count of virtual time: it has no spread",
        }
        for metric in found
    ]


def _status_verdict(
    base: Mapping[str, Any], head: Mapping[str, Any]
) -> tuple[str, str]:
    """The verdict of what did not pass, and why; empty when both did."""
    if base["status"] != "pass":
        return UNKNOWN, f"base: {base['error']}"
    if head["status"] != "pass":
        return WORSE, f"head: {head['error']}"
    return "", ""


def _run(case: _Case, load: Load, base: runs.Runs, head: runs.Runs) -> dict[str, Any]:
    """runs[] of the result: one NIC under one load."""
    said, why = _status_verdict(base.bench, head.bench)
    metrics: list[verdict.Metric] = []
    if not said:
        metrics = verdict.metrics(base.bench, head.bench)
        said = verdict.overall([metric.verdict for metric in metrics])
        for side in (base, head):
            if side.ledger and side.ledger["status"] != "pass":
                why = f"by line: {side.ledger['error']}"
    return {
        **_identity(case.profile, load),
        "verdict": said,
        "reason": why,
        "metrics": _metrics(metrics),
        "lines": _lines(case, base, head) if metrics else [],
        "functions": (
            _rows(verdict.functions(base.bench, head.bench)) if metrics else []
        ),
    }


def _identity(profile: Profile, load: Load) -> dict[str, Any]:
    return {
        "nic": profile.name,
        "driver": profile.driver,
        "direction": load.direction,
        "rate_pps": load.rate_pps,
        "size": load.size,
        "count": load.count,
    }


def _unbuilt(case: _Case, loads: Sequence[Load], why: str) -> list[dict[str, Any]]:
    empty: dict[str, Any] = {"metrics": [], "lines": [], "functions": []}
    said = {"verdict": WORSE, "reason": why}
    return [_identity(case.profile, load) | said | empty for load in loads]


def _compare(case: _Case, loads: Sequence[Load]) -> list[dict[str, Any]]:
    """All loads of one driver."""
    try:
        base = build.build(case.kernel, case.profile, case.sides.base)
    except build.DoesNotBuild as error:
        raise CannotMeasure(f"base does not build: {error}") from error
    try:
        head = build.build(case.kernel, case.profile, case.sides.head)
    except build.DoesNotBuild as error:
        return _unbuilt(case, loads, f"head does not build: {error}")
    found = runs.measure(case.profile, loads, [base, head])
    return [
        _run(case, load, *pair)
        for load, pair in zip(loads, zip(*found, strict=True), strict=True)
    ]


def _summary(request: CompareRequest, results: Sequence[Mapping[str, Any]]) -> str:
    """One sentence: what is worse or better, and where."""
    said = verdict.overall([run["verdict"] for run in results])
    if said == SAME:
        return f"no figure changed under {len(request.loads)} loads"
    chosen = next(run for run in results if run["verdict"] == said)
    name = report.load_name(dict(chosen))
    if chosen["reason"] and not chosen["metrics"]:
        return f"{name}: {chosen['reason']}"
    changed = [m for m in chosen["metrics"] if m["verdict"] == said]
    parts = [
        f"{m['name']} {m['base']:.2f} to {m['head']:.2f}"
        for m in changed
        if m["base"] is not None and m["head"] is not None
    ]
    lines = [change for change in chosen["lines"] if change["verdict"] == said]
    where = f", {lines[0]['kind']}: {lines[0]['what']}" if lines else ""
    return f"{name}: {', '.join(parts[:3]) or chosen['reason']}{where}"


def _document(
    request: CompareRequest,
    case: _Case,
    started: float,
    results: list[dict[str, Any]],
) -> dict[str, Any]:
    model = commands.cache_model(bench.DEFAULT_CACHE)
    environment = session.environment(request.command, case.kernel, model, started)
    return {
        "schema": "ringside/1",
        "kind": "compare",
        "lab": "vm",
        "environment": environment
        | {"base": case.sides.base.name, "head": case.sides.head.name},
        "verdict": verdict.overall([run["verdict"] for run in results]),
        "reason": _summary(request, results),
        "runs": results,
    }


def run(request: CompareRequest) -> int:
    """Compares and shows; the exit status: 1 when head is worse."""
    if not request.nics:
        raise UsageError("--nic is missing: ./ringside nics lists them")
    started = time.time()
    kernel = kernels.find(request.kernel)
    results: list[dict[str, Any]] = []
    with cache.scratch_folder() as folder:
        for profile in profiles.choose(request.nics):
            out = folder / profile.name
            out.mkdir()
            sides = revisions.export(request.versions, profile, out)
            _check_version(kernel, sides.version)
            case = _Case(profile, sides, kernel)
            results += _compare(case, request.loads)
    document = _document(request, case, started, results)
    schema.validate_compare(document)
    with suppress(BrokenPipeError):
        _show(request, document)
    return _STATUS[document["verdict"]]


def _show(request: CompareRequest, document: dict[str, Any]) -> None:
    """Files first: they must not depend on who reads the table."""
    texts = (
        (request.json, json.dumps(document, indent=1) + "\n"),
        (request.markdown, report.markdown(document)),
    )
    taken = False
    for path, text in texts:
        if path:
            files.write_whole(path, text)
            taken |= files.is_standard_output(path)
    stream = sys.stderr if taken else sys.stdout
    console = Console(file=stream)
    with console.capture() as capture:
        report.render(document, console)
    output.show(capture.get(), stream)
