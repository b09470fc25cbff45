# SPDX-License-Identifier: GPL-2.0-only
"""Profiles of NICs and drivers (drivers/profiles, one TOML file each)."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringside import builds, cache
from ringside.errors import CannotMeasure, UsageError

_FOLDER = builds.TREE / "drivers/profiles"

KEYS: dict[str, tuple[type, bool]] = {
    "summary": (str, True),
    "driver": (str, True),
    "source": (str, True),
    "dependencies": (list, False),
    "parameters": (dict, False),
    "napi": (bool, False),
    "qemu": (dict, True),
    "pci": (list, True),
    "bar": (list, False),
    "vary": (list, False),
    "quirk": (dict, False),
}


@dataclass(frozen=True)
class Bar:
    """A base address register; alias_of is the BAR whose QEMU region it shows again."""

    index: int
    space: str
    alias_of: int | None = None


@dataclass(frozen=True)
class Quirk:
    """One of our modules that must be there before the driver probes."""

    module: str
    parameters: str
    why: str


@dataclass(frozen=True)
class Vary:
    """A module parameter whose values are worth comparing."""

    parameter: str
    values: list[int | str]
    why: str


@dataclass(frozen=True)
class Profile:
    """One NIC, its driver, and the device of QEMU that plays it."""

    name: str
    summary: str
    driver: str
    source: str
    device: str
    pci_ids: tuple[str, ...]
    hash: str
    dependencies: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    napi: bool = True
    properties: dict[str, str] = field(default_factory=dict)
    bars: tuple[Bar, ...] = ()
    quirk: Quirk | None = None
    vary: tuple[Vary, ...] = ()


def _check_keys(where: str, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if key not in KEYS:
            raise CannotMeasure(f"{where}: unknown key '{key}'")
        if not isinstance(value, KEYS[key][0]):
            raise CannotMeasure(f"{where}: '{key}' is not a {KEYS[key][0].__name__}")
    missing = [key for key, (_, needed) in KEYS.items() if needed and key not in table]
    if missing:
        raise CannotMeasure(f"{where}: '{missing[0]}' is missing")


def _as_text(value: object) -> str:
    """A QEMU property or a module parameter as its text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _bar(where: str, table: dict[str, Any]) -> Bar:
    bar = Bar(**table) if set(table) <= {"index", "space", "alias_of"} else None
    if bar is None or bar.space not in ("mmio", "port"):
        raise CannotMeasure(f"{where}: a bar has index, space (mmio or port), alias_of")
    return bar


def parse(path: Path) -> Profile:
    """The profile in a file; one line says what is wrong with it."""
    where = f"drivers/profiles/{path.name}"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotMeasure(f"{where}: {error}") from error
    _check_keys(where, table)
    qemu = table["qemu"]
    if not isinstance(qemu.get("device"), str):
        raise CannotMeasure(f"{where}: 'qemu.device' is missing")
    try:
        bars = tuple(_bar(where, bar) for bar in table.get("bar", []))
        quirk = Quirk(**table["quirk"]) if "quirk" in table else None
        vary = tuple(Vary(**entry) for entry in table.get("vary", []))
    except TypeError as error:
        raise CannotMeasure(f"{where}: {error}") from error
    for pci_id in table["pci"]:
        if not re.fullmatch("[0-9a-f]{4}:[0-9a-f]{4}", str(pci_id)):
            raise CannotMeasure(f"{where}: PCI id '{pci_id}' is not like 10ec:8139")
    return Profile(
        name=path.stem,
        summary=table["summary"],
        driver=table["driver"],
        source=table["source"],
        device=qemu["device"],
        pci_ids=tuple(table["pci"]),
        hash=cache.file_hash(path),
        dependencies=tuple(table.get("dependencies", [])),
        parameters={k: str(v) for k, v in table.get("parameters", {}).items()},
        napi=table.get("napi", True),
        properties={k: _as_text(v) for k, v in qemu.get("properties", {}).items()},
        bars=bars,
        quirk=quirk,
        vary=vary,
    )


def all_profiles(folder: Path = _FOLDER) -> list[Profile]:
    """Every profile, by name."""
    return [parse(path) for path in sorted(folder.glob("*.toml"))]


def choose(names: str) -> list[Profile]:
    """The profiles that --nic names: a comma-separated list, or all."""
    known = {profile.name: profile for profile in all_profiles()}
    if names == "all":
        return list(known.values())
    chosen = []
    for name in names.split(","):
        if name not in known:
            raise UsageError(
                f"unknown NIC '{name}': ./ringside nics lists"
                f" {', '.join(known)}"
            )
        if known[name] not in chosen:
            chosen.append(known[name])
    return chosen
