# SPDX-License-Identifier: GPL-2.0-only
"""Bisect: git finds the commit, in a clone; what cannot be measured is skipped."""

from pathlib import Path
from typing import Any

import pytest

import fakes
from ringside import cli, counts
from ringside.compare import bisect, build, runs
from ringside.compare.build import Built, DoesNotBuild
from ringside.lab import kernel as kernels
from ringside.lab.kernel import LabKernel
from ringside.lab.source import Source
from ringside.profiles import Profile

_FILE = "drivers/net/ethernet/realtek/8139cp.c"


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight commits of the driver, tagged by number; the file's text is its figure."""
    tree = tmp_path / "linux"
    (tree / _FILE).parent.mkdir(parents=True)
    fakes.git(tree, "init", "-q")
    for number, text in enumerate(("4", "4", "4", "x", "x", "5", "5", "5")):
        (tree / _FILE).write_text(f"{text}\n{number}\n", encoding="utf-8")
        (tree / f"other{number}").touch()
        fakes.git(tree, "add", "-A")
        fakes.git(tree, "commit", "-q", "-m", f"change {number}")
        fakes.git(tree, "tag", f"v{number}")
    monkeypatch.setattr(
        kernels,
        "find",
        lambda name: LabKernel("6", tmp_path, tmp_path, tmp_path, "k"),
    )
    monkeypatch.setattr(build, "plain", _built)
    monkeypatch.setattr(runs, "measure", _measured)
    return tree


def _text(source: Source) -> str:
    return (source.tree / _FILE).read_text(encoding="utf-8").splitlines()[0]


def _built(kernel: LabKernel, _: Profile, source: Source) -> Built:
    if _text(source) == "x":
        raise DoesNotBuild("x.c:1: error: x")
    return Built(source, kernel, None, "", _text(source))


def _measured(_: Profile, loads: Any, sides: list[Built]) -> list[list[runs.Runs]]:
    figures = dict.fromkeys(counts.PER_PACKET, 1.0)
    figures["mmio_reads"] = float(sides[0].driver_sha256)
    entry = {"status": "pass", "error": None, "per_packet": figures}
    return [[runs.Runs(entry, None)] * len(loads)]


def _bisect(tree: Path, good: str, bad: str, *more: str) -> int:
    words = ["bisect", "--tree", str(tree), "--nic", "8139cp", *more]
    return cli.main([*words, "--good", good, "--bad", bad])


def _state(tree: Path) -> str:
    return (
        fakes.git(tree, "for-each-ref")
        + fakes.git(tree, "status")
        + fakes.git(tree, "worktree", "list")
    )


def test_the_commit_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the user's tree is as before."""
    fakes.git(tree, "checkout", "-q", "v7")
    fakes.git(tree, "branch", "mine")
    before = _state(tree)
    # From a base whose next commits build again.
    assert _bisect(tree, "v5", "v7") == 4
    assert "the same at both ends" in capsys.readouterr().out
    (tree / _FILE).write_text("6\n", encoding="utf-8")
    fakes.git(tree, "commit", "-q", "-a", "-m", "change 8")
    (tree / _FILE).write_text("6\n9\n", encoding="utf-8")
    fakes.git(tree, "commit", "-q", "-a", "-m", "change 9")
    after = _state(tree)
    assert before != after
    assert _bisect(tree, "v5", "HEAD") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("first with another mmio_reads: ")
    assert said[-1].endswith(" change 8")
    assert _state(tree) == after


def test_commits_that_do_not_build_are_skipped(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When nothing else is left, that is said."""
    assert _bisect(tree, "v0", "v7") == 3
    said = capsys.readouterr().out
    assert "skip" in said and "does not build: x.c:1: error: x" in said
    assert said.splitlines()[-1] == "only commits that could not be measured are left"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--good", "v0"], "--good REV and --bad REV"),
        (["--good", "v0", "--bad", "none"], "--bad none: no such revision"),
        (["--good", "v0", "--bad", "v7", "--figure", "x"], "--figure x: is none of"),
        (["--good", "v0", "--bad", "v7", "--rate", "1,2"], "one rate"),
        (["--good", "v0", "--bad", "v7", "--nic", "tulip,e100"], "of one NIC"),
    ],
)
def test_wrong_use_is_told(
    words: list[str], why: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is measured."""
    start = ["bisect", "--tree", str(tree), "--nic", "8139cp"]
    assert cli.main([*start, *words]) == 2
    assert why in capsys.readouterr().err


def test_an_end_that_cannot_be_measured_is_told(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to go by."""
    assert _bisect(tree, "v3", "v7") == 3
    assert "does not build" in capsys.readouterr().err


def test_the_search_asks_git(tree: Path) -> None:
    """All bad: the first after the good end."""
    found = bisect.search(
        str(tree),
        (
            fakes.git(tree, "rev-parse", "v0").strip(),
            fakes.git(tree, "rev-parse", "v2").strip(),
        ),
        ("drivers",),
        lambda commit: "bad",
    )
    assert found == fakes.git(tree, "rev-parse", "v1").strip()
