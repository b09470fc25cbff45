# SPDX-License-Identifier: GPL-2.0-only
"""Budgets: what a packet may cost, one file a NIC (ci/budgets), kept in git with a reason.

Register accesses, interrupts and polls are exact; instructions have a limit.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ringside import bench, builds
from ringside.errors import CannotMeasure, UsageError
from ringside.report import files

FOLDER = builds.TREE / "ci/budgets"
EXACT = ("mmio_reads", "mmio_writes", "port_reads", "port_writes", "irqs", "polls")
# Instructions move a little with where a build lays the driver's data.
LIMITED = ("instructions",)
_HEADROOM = 0.01
_LOAD = ("direction", "rate_pps", "size_bytes", "count")
_KEYS = {"kernel": str, "reason": str, "load": list}

Load = tuple[str, int, int, int]


def _load_of(entry: Mapping[str, Any]) -> Load:
    return (entry["direction"], entry["rate_pps"], entry["size"], entry["count"])


def _damaged(path: Path, why: str) -> CannotMeasure:
    return CannotMeasure(f"{path.name}: no budget: {why}; --update-budget writes one")


def read(path: Path) -> dict[str, Any]:
    """A budget's file; what is not one is refused with the reason."""
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise _damaged(path, error.strerror or "unreadable") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    for name, kind in _KEYS.items():
        if not isinstance(found.get(name), kind):
            raise _damaged(path, f"{name} is missing or of the wrong kind")
    for load in found["load"]:
        names = {*_LOAD, "exact", "at_most"}
        if not isinstance(load, dict) or set(load) != names:
            raise _damaged(path, f"a load has {', '.join(sorted(names))}")
        for figures in (load["exact"], load["at_most"]):
            if not all(isinstance(value, (int, float)) for value in figures.values()):
                raise _damaged(path, "a figure is no number")
            unknown = figures.keys() - {*EXACT, *LIMITED}
            if unknown:
                raise _damaged(path, f"no figure {', '.join(sorted(unknown))}")
    return found


def _skip(why: str) -> dict[str, str]:
    return {"name": "budget", "result": "skip", "detail": why}


def _broken(load: Mapping[str, Any], figures: Mapping[str, Any], path: Path) -> str:
    """The first figure that breaks a budget, as a line; empty when none does."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for kind, word in (("exact", "exactly"), ("at_most", "at most")):
        for name, value in load[kind].items():
            there = figures[name]
            good = there is not None and (
                abs(there - value) < 5e-7 if kind == "exact" else there <= value
            )
            if not good:
                text = f"{name} = {value}"
                at = next((n for n, line in enumerate(lines, 1) if text in line), 0)
                shown = "null" if there is None else f"{there:g}"
                return f"{name} is {shown}, {word} {value:g} ({path.name}:{at})"
    return ""


def judge(entry: Mapping[str, Any], release: str, folder: Path) -> dict[str, str]:
    """The check "budget" of one entry."""
    path = folder / f"{entry['nic']}.toml"
    if not path.exists():
        return _skip(f"{entry['nic']} has no budget")
    budget = read(path)
    if budget["kernel"] != release:
        return _skip(f"the budget is of Linux {budget['kernel']}, this is {release}")
    for load in budget["load"]:
        if tuple(load[name] for name in _LOAD) == _load_of(entry):
            why = _broken(load, entry["per_packet"], path)
            return bench.check("budget", not why, why or "every figure keeps to it")
    return _skip(f"{path.name} has no such load")


def check(folder: Path, nics: Sequence[str]) -> None:
    """Refuses before a measurement what would be refused after it."""
    if not folder.is_dir():
        raise UsageError(f"--budget {folder}: no such folder")
    for nic in nics:
        path = folder / f"{nic}.toml"
        if path.exists():
            read(path)


def apply(entries: Sequence[dict[str, Any]], release: str, folder: Path) -> None:
    """Adds the check to each measured entry; a broken budget fails it."""
    for entry in entries:
        if entry["status"] == "error":
            continue
        verdict = judge(entry, release, folder)
        entry["checks"].append(verdict)
        if verdict["result"] == "fail" and entry["status"] == "pass":
            entry |= {"status": "fail", "error": f"budget: {verdict['detail']}"}


def _text(load: Mapping[str, Any]) -> str:
    lines = ["", "[[load]]"]
    lines += [f"{name} = {json.dumps(load[name])}" for name in _LOAD]
    for kind in ("exact", "at_most"):
        lines.append(f"[load.{kind}]")
        lines += [f"{name} = {value}" for name, value in load[kind].items()]
    return "\n".join(lines)


def _of_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    figures = entry["per_packet"]
    return dict(zip(_LOAD, _load_of(entry))) | {
        "exact": {n: figures[n] for n in EXACT if figures[n] is not None},
        "at_most": {
            n: round(figures[n] * (1 + _HEADROOM), 1)
            for n in LIMITED
            if figures[n] is not None
        },
    }


def update(
    entries: Sequence[Mapping[str, Any]], release: str, folder: Path, reason: str
) -> list[Path]:
    """Writes the budgets of all entries that passed; other loads of a file stay.

    Those of another kernel go: their figures mean nothing beside the new ones.
    """
    if not reason.strip():
        raise UsageError("--update-budget: say why, in a few words")
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[Path, None] = {}
    for entry in entries:
        if entry["status"] != "pass":
            continue
        path = folder / f"{entry['nic']}.toml"
        loads = []
        if path.exists() and (old := read(path))["kernel"] == release:
            loads = [
                load
                for load in old["load"]
                if tuple(load[name] for name in _LOAD) != _load_of(entry)
            ]
        loads.append(_of_entry(entry))
        head = (
            "# SPDX-License-Identifier: GPL-2.0-only\n"
            '# Written by ./ringside bench --update-budget "WHY".\n'
            f"kernel = {json.dumps(release)}\nreason = {json.dumps(reason)}\n"
        )
        files.write_whole(path, head + "\n".join(map(_text, loads)) + "\n")
        written[path] = None
    return list(written)
