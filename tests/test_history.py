# SPDX-License-Identifier: GPL-2.0-only
"""History: results are kept whole, steps are marked, old files are brought on."""

import copy
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ringside import builds, cli, history

_STORED = builds.TREE / "tests/data/results/rx_sweep.json"


def _result(folder: Path, reads: float | None, release: str = "6.12.1") -> str:
    """A stored result of one run with so many reads a packet."""
    document: dict[str, Any] = json.loads(_STORED.read_text(encoding="utf-8"))
    document["environment"]["kernel_release"] = release
    run = copy.deepcopy(document["runs"][0])
    run["per_packet"]["mmio_reads"] = reads
    if reads is None:
        run["reasons"]["mmio_reads"] = "not had"
    run["nic"] = "x"
    document["runs"] = [run]
    path = folder / f"{reads}-{release}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def _add(folder: Path, revision: str, *results: str) -> int:
    words = ["history", "--file", str(folder / "db"), "--revision", revision, "--add"]
    return cli.main([*words, *results])


def test_steps_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one load, in the order in which they came; a gap is no step."""
    for revision, reads in (("a", 4.0), ("b", 4.0), ("c", None), ("d", 5.0)):
        assert _add(tmp_path, revision, _result(tmp_path, reads)) == 0
    assert _add(tmp_path, "e", _result(tmp_path, 2.5, "6.13.0")) == 0
    found = history.points(tmp_path / "db", "x", "mmio_reads")
    assert [point.value for point in found] == [4.0, 4.0, None, 5.0, 2.5]
    assert history.steps(found) == [
        *("", "", "", "+1.00 (+25.0 %)"),
        "-2.50 (-50.0 %), another kernel",
    ]
    capsys.readouterr()
    words = ["history", "--file", str(tmp_path / "db"), "--nic", "x"]
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert "x: mmio_reads" in said and "+1.00 (+25.0 %)" in said


def test_loads_are_apart(tmp_path: Path) -> None:
    """A rate more is no step."""
    assert _add(tmp_path, "a", str(_STORED)) == 0
    nic = json.loads(_STORED.read_text(encoding="utf-8"))["runs"][0]["nic"]
    found = history.points(tmp_path / "db", nic, "mmio_reads")
    assert len({point.load for point in found}) == len(found) > 1
    assert not any(history.steps(found))


def test_a_damaged_result_adds_nothing(tmp_path: Path) -> None:
    """Not even the good one before it."""
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    good = _result(tmp_path, 4.0)
    assert _add(tmp_path, "a", good, str(tmp_path / "bad.json")) == 3
    assert not (tmp_path / "db").exists()


def test_an_old_file_is_brought_on_in_place(tmp_path: Path) -> None:
    """With what it holds; then it takes more."""
    run = json.loads(_STORED.read_text(encoding="utf-8"))["runs"][0]
    with sqlite3.connect(tmp_path / "db") as database:
        database.executescript(history.UPGRADES[0] + "PRAGMA user_version = 1;")
        database.execute(
            "INSERT INTO result VALUES (1,'2026','old','bench','x',?,?,?,'pass','','6')",
            (run["direction"], run["rate_pps"], run["size"]),
        )
        database.execute("INSERT INTO figure VALUES (1,'mmio_reads',3.0,'accesses','')")
    database.close()
    assert _add(tmp_path, "new", _result(tmp_path, 4.0)) == 0
    found = history.points(tmp_path / "db", "x", "mmio_reads")
    assert [(p.revision, p.value) for p in found] == [("old", 3.0), ("new", 4.0)]


def test_a_newer_file_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may hold what this version would lose."""
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    assert _add(tmp_path, "a", _result(tmp_path, 4.0)) == 3
    assert "of a newer Ringside" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["--nic", "x"], 2, "no history in"),
        ([], 2, "--add RESULT.json, or --nic N"),
        (["--add", "x"], 2, "--revision is missing"),
        (["--add", "x", "--revision", "r", "--nic", "n"], 2, "one of them"),
        (["--add", "/none", "--revision", "r"], 3, "cannot read results"),
    ],
)
def test_what_cannot_be_is_told(
    words: list[str],
    status: int,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line."""
    assert cli.main(["history", "--file", str(tmp_path / "db"), *words]) == status
    assert why in capsys.readouterr().err


def test_no_such_figure_is_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 4; and a file that is no database is told."""
    assert _add(tmp_path, "a", _result(tmp_path, 4.0)) == 0
    words = ["history", "--file", str(tmp_path / "db"), "--nic", "x", "--figure"]
    assert cli.main([*words, "none"]) == 4
    (tmp_path / "db").write_text("no database at all" * 100, encoding="utf-8")
    assert cli.main([*words, "irqs"]) == 3
    assert "not a database" in capsys.readouterr().err
