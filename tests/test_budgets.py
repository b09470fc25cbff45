# SPDX-License-Identifier: GPL-2.0-only
"""Budgets: what breaks one is named with its line, and a measurement writes one."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ringside import budgets, builds, profiles
from ringside.errors import CannotMeasure, UsageError

_STORED = builds.TREE / "tests/data/results/rx_sweep.json"
_RELEASE = "6.12.1"


@pytest.fixture(name="entry")
def fixture_entry() -> dict[str, Any]:
    """One that passed."""
    document = json.loads(_STORED.read_text(encoding="utf-8"))
    entry: dict[str, Any] = copy.deepcopy(document["runs"][0])
    entry["per_packet"] |= {"mmio_reads": 4.0, "instructions": 3000.0}
    return entry | {"status": "pass", "error": None, "checks": []}


@pytest.fixture(name="folder")
def fixture_folder(entry: dict[str, Any], tmp_path: Path) -> Path:
    """Budgets as they are written of that entry."""
    folder = tmp_path / "budgets"
    path = budgets.update([entry], _RELEASE, folder, 'a "first" one')[0]
    assert path == folder / f"{entry['nic']}.toml"
    return folder


def _applied(entry: dict[str, Any], folder: Path, release: str = _RELEASE) -> str:
    budgets.check(folder, [entry["nic"]])
    budgets.apply([entry], release, folder)
    return str(entry["checks"][-1]["result"])


def test_what_was_measured_keeps_to_its_budget(
    entry: dict[str, Any], folder: Path
) -> None:
    """The reason stands in the file."""
    assert _applied(entry, folder) == "pass" and entry["status"] == "pass"
    text = (folder / f"{entry['nic']}.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["reason"] == 'a "first" one'


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("mmio_reads", 4.0005, "mmio_reads is 4.0005, exactly 4 ("),
        ("mmio_reads", 3.0, "mmio_reads is 3, exactly 4 ("),
        ("mmio_reads", None, "mmio_reads is null, exactly 4 ("),
        ("instructions", 3031.0, "instructions is 3031, at most 3030 ("),
    ],
)
def test_a_figure_that_breaks_it_fails_with_the_line(
    name: str, value: float | None, why: str, entry: dict[str, Any], folder: Path
) -> None:
    """A figure that got better breaks it too: somebody must say why."""
    entry["per_packet"][name] = value
    assert _applied(entry, folder) == "fail" and entry["status"] == "fail"
    assert why in entry["error"]
    number = int(entry["error"].rpartition(":")[2].rstrip(")"))
    path = folder / f"{entry['nic']}.toml"
    assert path.read_text("utf-8").splitlines()[number - 1].startswith(name)


def test_fewer_instructions_are_welcome(entry: dict[str, Any], folder: Path) -> None:
    """A limit is no exact value."""
    entry["per_packet"]["instructions"] = 2000.0
    assert _applied(entry, folder) == "pass"


def test_what_has_no_budget_is_a_skip(entry: dict[str, Any], folder: Path) -> None:
    """Another load, another kernel, another NIC: said, not passed."""
    assert _applied(entry, folder, "6.13.0") == "skip"
    assert _applied(entry | {"rate_pps": 7}, folder) == "skip"
    assert _applied(entry | {"nic": "other"}, folder) == "skip"
    assert entry["status"] == "pass"


def test_an_update_keeps_other_loads(entry: dict[str, Any], folder: Path) -> None:
    """Of the same kernel; what did not pass is not written."""
    other = entry | {"rate_pps": 7}
    path = budgets.update([other], _RELEASE, folder, "another load")[0]
    assert [load["rate_pps"] for load in budgets.read(path)["load"]] == [
        entry["rate_pps"],
        7,
    ]
    assert not budgets.update([entry | {"status": "fail"}], _RELEASE, folder, "x")
    budgets.update([entry], "6.13.0", folder, "a new kernel")
    assert len(budgets.read(path)["load"]) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kernel", "kennel"),
        ("[[load]]", "[[lode]]"),
        ("mmio_reads = 4.0", 'mmio_reads = "4"'),
        ("mmio_reads = 4.0", "mmio_feeds = 4.0"),
        ("rate_pps", "rate"),
        ("reason", "= ="),
    ],
)
def test_a_damaged_budget_is_told(
    old: str, new: str, entry: dict[str, Any], folder: Path
) -> None:
    """Before anything is measured."""
    path = folder / f"{entry['nic']}.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CannotMeasure, match=f"{path.name}: no budget: "):
        budgets.check(folder, [entry["nic"]])


def test_wrong_use_is_told(entry: dict[str, Any], tmp_path: Path) -> None:
    """No folder, no reason."""
    with pytest.raises(UsageError, match="no such folder"):
        budgets.check(tmp_path / "none", [])
    with pytest.raises(UsageError, match="say why"):
        budgets.update([entry], _RELEASE, tmp_path, " ")


def test_every_nic_of_the_bench_has_a_budget() -> None:
    """And each can be read."""
    names = [profile.name for profile in profiles.choose("all")]
    budgets.check(budgets.FOLDER, names)
    assert [n for n in names if not (budgets.FOLDER / f"{n}.toml").exists()] == []
