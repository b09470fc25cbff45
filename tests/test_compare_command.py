# SPDX-License-Identifier: GPL-2.0-only
"""Compare: from two versions to a verdict, a status, and what a reader sees."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside import bench, cli, counts, profiles
from ringside.compare import build, runs
from ringside.compare.build import Built, DoesNotBuild
from ringside.errors import CannotMeasure
from ringside.lab import counted, kernel as kernels, source as sources
from ringside.lab.kernel import LabKernel
from ringside.lab.source import Source
from ringside.profiles import Profile
from ringside.report import schema

_PLACE = "drivers/net/ethernet/realtek"
_BASE = "int a;\nread(r);\n"
_HEAD = "int a;\nread(more);\nread(r);\n"


def _entry(reads: float, **more: Any) -> dict[str, Any]:
    figures = dict.fromkeys(counts.PER_PACKET, 1.0)
    figures |= {"mmio_reads": reads, "instructions": 3000.0}
    plain: dict[str, Any] = {"status": "pass", "error": None, "per_packet": figures}
    plain |= {"groups": [{"name": "driver", "instructions": 500.0}], "functions": []}
    return plain | more


def _site(line: int, register: str) -> dict[str, Any]:
    return {
        "context": "poll",
        "file": "8139cp.c",
        "line": line,
        "function": "f",
        "op": "readw",
        "register": register,
        "direction": "read",
        "per_packet": 1.0,
    }


class _Lab:
    """Stands for builds and guests; head has one read more."""

    def __init__(self) -> None:
        self.fails: dict[str, Exception] = {}
        self.head: dict[str, Any] = _entry(5.0)
        self.base: dict[str, Any] = _entry(4.0)
        self.counted = True

    def build(self, kernel: LabKernel, _: Profile, source: Source) -> Built:
        """One version."""
        side = source.tree.name
        if side in self.fails:
            raise self.fails[side]
        return Built(source, kernel, kernel if self.counted else None, "", side)

    def measure(
        self, _: Profile, loads: Sequence[Any], sides: Sequence[Built]
    ) -> list[list[runs.Runs]]:
        """Both versions."""
        ledgers: list[dict[str, Any]] = [
            _entry(4.0, sites=[_site(2, "r")]),
            _entry(5.0, sites=[_site(2, "more"), _site(3, "r")]),
        ]
        return [
            [runs.Runs(entry, ledger if side.counted else None)] * len(loads)
            for entry, ledger, side in zip((self.base, self.head), ledgers, sides)
        ]


@pytest.fixture(name="lab")
def fixture_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Lab:
    """A lab of fakes, and two trees in the working folder."""
    lab = _Lab()
    config = tmp_path / "config"
    config.write_text("CONFIG_DEBUG_LIST=y\n", encoding="utf-8")
    kernel = LabKernel("6.12.1", tmp_path, tmp_path, config, "k")
    monkeypatch.setattr(kernels, "find", lambda name: kernel)
    monkeypatch.setattr(sources, "kernel_version", lambda kernel: "6.12.1")
    monkeypatch.setattr(build, "build", lab.build)
    monkeypatch.setattr(runs, "measure", lab.measure)
    for name, text in (("base", _BASE), ("head", _HEAD)):
        folder = tmp_path / "trees" / name / _PLACE
        folder.mkdir(parents=True)
        (folder / "8139cp.c").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "trees")
    return lab


_WORDS = ["compare", "--base-dir", "base", "--head-dir", "head", "--nic", "8139cp"]


def test_a_read_that_was_added_is_worse_and_named(
    lab: _Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1, with the line and its text."""
    assert lab and cli.main([*_WORDS, "--json", "c.json", "--markdown", "c.md"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("WORSE: 8139cp rx 20000 pps 60 B: mmio_reads 4.00 to 5.00")
    assert "8139cp.c:2 f: readw(more) in poll" in said and "read(more);" in said
    document = json.loads(Path("c.json").read_text("utf-8"))
    schema.validate_compare(document)
    assert [run["direction"] for run in document["runs"]] == ["rx", "tx"]
    (line,) = document["runs"][0]["lines"]
    assert (line["kind"], line["source"]) == ("new", "read(more);")
    text = Path("c.md").read_text("utf-8")
    assert "| mmio_reads | 4.00 | 5.00 | +1.00 | worse |" in text
    assert len(text.splitlines()) < 30


def test_the_other_way_round_is_better(
    lab: _Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 0."""
    lab.base, lab.head = lab.head, lab.base
    assert cli.main(_WORDS) == 0
    assert capsys.readouterr().out.startswith("BETTER: ")


def test_no_change_is_the_same(lab: _Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0."""
    lab.head = lab.base
    assert cli.main(_WORDS) == 0
    assert capsys.readouterr().out.startswith("SAME: no figure changed under 2 loads")


def _does_not_build(lab: _Lab) -> None:
    lab.fails["head"] = DoesNotBuild("8139cp.c:2: error: 'more' undeclared")


def _panics(lab: _Lab) -> None:
    lab.head = _entry(5.0, status="fail", error="the guest died: Oops")


def _no_probe(lab: _Lab) -> None:
    lab.head = _entry(5.0, status="error", error="port0 did not appear")


@pytest.mark.parametrize(
    ("breaks", "why"),
    [
        (_does_not_build, "head does not build: 8139cp.c:2: error: 'more' undeclared"),
        (_panics, "head: the guest died: Oops"),
        (_no_probe, "head: port0 did not appear"),
    ],
)
def test_a_head_that_is_broken_is_worse(
    breaks: Callable[[_Lab], None],
    why: str,
    lab: _Lab,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is a verdict, with the reason."""
    breaks(lab)
    assert cli.main([*_WORDS, "--json", "c.json"]) == 1
    assert why in capsys.readouterr().out
    schema.validate_compare(json.loads(Path("c.json").read_text("utf-8")))


def test_a_base_that_is_broken_is_no_verdict(
    lab: _Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 3, built or not."""
    lab.base = _entry(4.0, status="error", error="port0 did not appear")
    assert cli.main(_WORDS) == 3
    assert capsys.readouterr().out.startswith("UNKNOWN: ")
    lab.fails["base"] = DoesNotBuild("x.c:1: error: no")
    assert cli.main(_WORDS) == 3
    assert "base does not build: x.c:1: error: no" in capsys.readouterr().err


def test_a_driver_without_a_site_is_compared_without_lines(lab: _Lab) -> None:
    """The bench needs no ledger."""
    lab.counted = False
    assert cli.main([*_WORDS, "--json", "c.json"]) == 1
    assert json.loads(Path("c.json").read_text("utf-8"))["runs"][0]["lines"] == []


def test_a_tree_of_another_series_is_told(
    lab: _Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its driver would not build for this kernel, or mean something else."""
    assert lab
    Path("base/Makefile").write_text(
        "VERSION = 6\nPATCHLEVEL = 18\nSUBLEVEL = 0\n", encoding="utf-8"
    )
    assert cli.main(_WORDS) == 3
    said = capsys.readouterr().err
    assert "the tree is Linux 6.18.0, the lab kernel 6.12.1: name one" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["compare", "--base-dir", "base", "--head-dir", "head"], "--nic is missing"),
        ([*_WORDS, "--direction", "up"], "--direction up: is none of rx, tx, both"),
        ([*_WORDS, "--rate", "x"], "'x' is not a number"),
        ([*_WORDS[:-1], "nosuch"], "nosuch"),
    ],
)
def test_wrong_use_is_told(
    words: list[str], why: str, lab: _Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2."""
    assert lab and cli.main(words) == 2
    assert why in capsys.readouterr().err


def test_what_was_measured_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it could not be: the reason may be gone."""
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    calls: list[str] = []
    answers = [{"status": "error"}, {"status": "pass"}, {"status": "fail"}]

    def measure(*_: Any) -> dict[str, Any]:
        calls.append("x")
        return answers[len(calls) - 1]

    monkeypatch.setattr(bench, "measure", measure)
    (tmp_path / "m.ko").touch()
    kernel = LabKernel(
        "6", tmp_path, tmp_path, tmp_path, "k", replaced={"m": tmp_path / "m.ko"}
    )
    profile = profiles.choose("8139cp")[0]
    load = bench.Load(20000, 60, 2000, "rx")
    side = Built(Source(tmp_path, "x"), kernel, None, "", "h")
    found = [runs.measure(profile, [load], [side])[0][0].bench for _ in range(3)]
    assert [entry["status"] for entry in found] == ["error", "pass", "pass"]
    assert len(calls) == 2
    (tmp_path / "m.ko").write_text("another driver", encoding="utf-8")
    again = runs.measure(profile, [load], [side])[0][0].bench
    assert again["status"] == "fail" and len(calls) == 3


def test_a_build_cannot_write_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A makefile that tries finds a machine that is read-only, and no network."""
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    headers = tmp_path / "headers"
    headers.mkdir()
    evil = tmp_path / "evil"
    (headers / "Makefile").write_text(
        "%.ko:\n"
        f"\t-touch {evil} $(HOME)/ringside-evil {builds_folder()}/evil\n"
        "\t-ls /sys/class/net > $(M)/net\n"
        "\ttouch $(M)/$@\n"
    )
    place = tmp_path / "source"
    place.mkdir()
    kernel = LabKernel("6", tmp_path, tmp_path, tmp_path, "k", headers=headers)
    made = build.module(kernel, "x", place)
    assert made.is_file()
    assert not evil.exists() and not (Path.home() / "ringside-evil").exists()
    assert not (builds_folder() / "evil").exists()


def builds_folder() -> Path:
    """Where this tree is."""
    return Path(build.__file__).parents[3]


def test_what_the_compiler_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first error, without the folder's name; and nothing is kept of it."""
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    headers = tmp_path / "headers"
    headers.mkdir()
    line = "$(M)/x.c:7:1: error: no such thing"
    (headers / "Makefile").write_text(f"%.ko:\n\t@echo '{line}' >&2; exit 1\n")
    place = tmp_path / "source"
    place.mkdir()
    kernel = LabKernel("6", tmp_path, tmp_path, tmp_path, "k", headers=headers)
    with pytest.raises(DoesNotBuild, match="^x.c:7:1: error: no such thing$"):
        build.module(kernel, "x", place)
    assert not [p for p in (tmp_path / "cache/modules").iterdir() if p.is_dir()]


def test_no_bwrap_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Never a build without it."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotMeasure, match="bwrap is not installed: run make setup"):
        counted.contained(["make"], tmp_path)
