# SPDX-License-Identifier: GPL-2.0-only
"""Profiles of NICs and drivers (drivers/profiles, one TOML file each)."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringside import builds, cache
from ringside.errors import CannotMeasure, UsageError, shortened

_FOLDER = builds.TREE / "drivers/profiles"

# Keys of a profile and of the tables in it: type, and whether they must be there.
KEYS: dict[str, tuple[type, bool]] = {
    "summary": (str, True),
    "driver": (str, True),
    "source": (str, True),
    "out_of_tree": (bool, False),
    "dependencies": (list, False),
    "parameters": (dict, False),
    "private_flags": (dict, False),
    "napi": (bool, False),
    "qemu": (dict, True),
    "pci": (list, True),
    "bar": (list, False),
    "vary": (list, False),
    "quirk": (dict, False),
    "counted": (list, False),
}
_TABLE_KEYS: dict[str, dict[str, tuple[type, bool]]] = {
    "qemu": {"device": (str, True), "properties": (dict, False)},
    "bar": {"index": (int, True), "space": (str, True), "alias_of": (int, False)},
    "quirk": {"module": (str, True), "parameters": (str, True), "why": (str, True)},
    "vary": {"parameter": (str, True), "values": (list, True), "why": (str, True)},
    "counted": {"module": (str, True), "source": (str, True)},
}
_KINDS = {
    str: "a text",
    int: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
_BARS = 6


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
class Helper:
    """A module that makes register accesses for the driver, and where its source is."""

    module: str
    source: str


@dataclass(frozen=True)
class Profile:
    """One NIC, its driver, and the device of QEMU that plays it.

    An out-of-tree driver's source is a folder of this tree: its module is built
    for the kernel and bound through driver_override, and "all" leaves it out.
    """

    name: str
    summary: str
    driver: str
    source: str
    device: str
    pci_ids: tuple[str, ...]
    hash: str
    dependencies: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    out_of_tree: bool = False
    private_flags: dict[str, bool] = field(default_factory=dict)
    napi: bool = True
    properties: dict[str, str] = field(default_factory=dict)
    bars: tuple[Bar, ...] = ()
    quirk: Quirk | None = None
    vary: tuple[Vary, ...] = ()
    counted: tuple[Helper, ...] = ()


class _Wrong(Exception):
    """What is wrong with a profile, by key."""


def _is_a(kind: type, value: object) -> bool:
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


def _check_keys(
    prefix: str, table: dict[str, Any], keys: dict[str, tuple[type, bool]]
) -> None:
    for key, value in table.items():
        if key not in keys:
            raise _Wrong(f"unknown key {prefix + key!r}")
        if not _is_a(keys[key][0], value):
            raise _Wrong(f"'{prefix}{key}' is not {_KINDS[keys[key][0]]}")
    for key, (_, needed) in keys.items():
        if needed and key not in table:
            raise _Wrong(f"'{prefix}{key}' is missing")


def _check_table(name: str, table: Any) -> None:
    """A table of the profile, or one of a list of tables."""
    if not isinstance(table, dict):
        raise _Wrong(f"'{name}' is not a table")
    _check_keys(f"{name}.", table, _TABLE_KEYS[name])


def _check_items(name: str, items: list[Any], kinds: tuple[type, ...]) -> None:
    for item in items:
        if not any(_is_a(kind, item) for kind in kinds):
            raise _Wrong(f"'{name}' holds {item!r}")


def _texts(name: str, table: dict[str, Any]) -> dict[str, str]:
    """QEMU's properties or a module's parameters, as texts."""
    for key, value in table.items():
        _check_items(f"{name}.{key}", [value], (str, int, bool))
    words = {True: "on", False: "off"}
    return {
        key: words[value] if isinstance(value, bool) else str(value)
        for key, value in table.items()
    }


def _private_flags(table: dict[str, Any]) -> dict[str, bool]:
    """Flags of ethtool --set-priv-flags; the guest reads them as words of a line."""
    for key, value in table.items():
        _check_items(f"private_flags.{key}", [value], (bool,))
        if not re.fullmatch(r"[!-~]{1,31}", key):
            raise _Wrong(f"'private_flags' holds {key!r}, which is no flag's name")
    return table


def _bars(tables: list[Any]) -> tuple[Bar, ...]:
    for table in tables:
        _check_table("bar", table)
    bars = tuple(Bar(**table) for table in tables)
    indexes = [bar.index for bar in bars]
    for bar in bars:
        if bar.space not in ("mmio", "port"):
            raise _Wrong(f"'bar.space' is {bar.space!r} and not mmio or port")
        if bar.index not in range(_BARS) or indexes.count(bar.index) > 1:
            raise _Wrong(f"'bar.index' {bar.index} is not from 0 to 5, or there twice")
        if bar.alias_of is not None and bar.alias_of not in indexes:
            raise _Wrong(f"'bar.alias_of' {bar.alias_of} is no bar of this profile")
    return bars


def _vary(tables: list[Any]) -> tuple[Vary, ...]:
    for table in tables:
        _check_table("vary", table)
        _check_items("vary.values", table["values"], (int, str))
    return tuple(Vary(**table) for table in tables)


def _quirk(table: dict[str, Any]) -> Quirk:
    _check_table("quirk", table)
    return Quirk(**table)


def _counted(tables: list[Any]) -> tuple[Helper, ...]:
    for table in tables:
        _check_table("counted", table)
    return tuple(Helper(**table) for table in tables)


def _profile(name: str, hash_: str, table: dict[str, Any]) -> Profile:
    _check_keys("", table, KEYS)
    qemu = table["qemu"]
    _check_table("qemu", qemu)
    _check_items("dependencies", table.get("dependencies", []), (str,))
    for pci_id in table["pci"]:
        if not re.fullmatch("[0-9a-f]{4}:[0-9a-f]{4}", str(pci_id)):
            raise _Wrong(f"'pci' holds {pci_id!r}, which is not like 10ec:8139")
    return Profile(
        name=name,
        summary=table["summary"],
        driver=table["driver"],
        source=table["source"],
        device=qemu["device"],
        pci_ids=tuple(table["pci"]),
        hash=hash_,
        dependencies=tuple(table.get("dependencies", [])),
        parameters=_texts("parameters", table.get("parameters", {})),
        out_of_tree=table.get("out_of_tree", False),
        private_flags=_private_flags(table.get("private_flags", {})),
        napi=table.get("napi", True),
        properties=_texts("qemu.properties", qemu.get("properties", {})),
        bars=_bars(table.get("bar", [])),
        quirk=_quirk(table["quirk"]) if "quirk" in table else None,
        vary=_vary(table.get("vary", [])),
        counted=_counted(table.get("counted", [])),
    )


def parse(path: Path) -> Profile:
    """The profile in a file; one line says what is wrong with it."""
    where = f"drivers/profiles/{path.name}"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return _profile(path.stem, cache.file_hash(path), table)
    except OSError as error:
        raise CannotMeasure(f"{where}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, _Wrong) as error:
        raise CannotMeasure(f"{where}: {error}") from error


def all_profiles(folder: Path = _FOLDER) -> list[Profile]:
    """Every profile, by name."""
    return [parse(path) for path in sorted(folder.glob("*.toml"))]


def is_all(names: str) -> bool:
    """Whether --nic names every NIC there is."""
    return names.strip() == "all"


def choose(names: str) -> list[Profile]:
    """The profiles that --nic names: a comma-separated list, or all in-tree drivers'."""
    known = {profile.name: profile for profile in all_profiles()}
    if is_all(names):
        return [profile for profile in known.values() if not profile.out_of_tree]
    chosen = []
    for name in (word.strip() for word in names.split(",")):
        if name == "all":
            raise UsageError(
                f"--nic {shortened(names)}: 'all' stands alone, it names every NIC"
            )
        if name not in known:
            raise UsageError(
                f"unknown NIC '{shortened(name)}': ./ringside nics lists"
                f" {', '.join(known)}"
            )
        if known[name] not in chosen:
            chosen.append(known[name])
    return chosen
