# SPDX-License-Identifier: GPL-2.0-only
"""./ringside kunit: the overlay, the exit status, coverage and mutants."""

import json
import os
import shutil
from argparse import Namespace
from pathlib import Path

import pytest

from ringside import builds, kunit
from ringside.cache import root
from ringside.errors import CannotMeasure, UsageError

# Stands in for the kernel's kunit.py: fails in the step that FAKE_FAILS names.
FAKE_KUNIT = """
import os, sys, time
step = sys.argv[1]
if step == os.environ.get("FAKE_HANGS"):
    time.sleep(60)
print("fake kunit.py", *sys.argv[1:])
if step == "exec" and "MUTANT_KILLER" in os.environ:
    print("[FAILED] ring_some_case")
    print("[FAILED] ring")
    sys.exit(1)
sys.exit(1 if step == os.environ.get("FAKE_FAILS") else 0)
"""


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> Path:
    """The few files of a kernel tree that the overlay looks at."""
    tree = tmp_path / "linux"
    tools = tree / "tools/testing/kunit"
    ethernet = tree / "drivers/net/ethernet"
    tools.mkdir(parents=True)
    (ethernet / "intel").mkdir(parents=True)
    (tools / "kunit.py").write_text(FAKE_KUNIT)
    (tree / "Makefile").write_text("all:\n")
    (tree / "drivers/Kconfig").write_text("menu\n")
    (ethernet / "Kconfig").write_text("if ETHERNET\n\nendif # ETHERNET\n")
    (ethernet / "Makefile").write_text("obj-y += intel/\n")
    return tree


@pytest.fixture(name="cache", autouse=True)
def fixture_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("RINGSIDE_CACHE", str(folder))
    return folder


def options(tree: Path | None, **more: str) -> Namespace:
    """The options as the command line gives them."""
    given = Namespace(suite=None, arch=None, mutants=None)
    given.tree = str(tree) if tree else None
    for name, value in more.items():
        setattr(given, name, value)
    return given


def snapshot(tree: Path) -> dict[str, str]:
    """Every file of a tree with its text."""
    files = (path for path in tree.rglob("*") if path.is_file())
    return {str(path.relative_to(tree)): path.read_text() for path in files}


def test_overlay_reads_as_the_tree_with_us_in_it(tree: Path, tmp_path: Path) -> None:
    """The user's tree stays as it is; the overlay has our Kconfig and sources."""
    before = snapshot(tree)
    overlay = tmp_path / "overlay"
    kunit.make_overlay(tree, overlay)
    assert snapshot(tree) == before
    kconfig = (overlay / "drivers/net/ethernet/Kconfig").read_text()
    assert kconfig.count(f'source "{kunit.PLACE}/kunit/Kconfig"') == 1
    assert kconfig.rstrip().endswith("endif # ETHERNET")
    assert (overlay / kunit.PLACE / "kunit/ring_test.c").is_file()
    assert (overlay / kunit.PLACE / "drivers/ringside/ring.c").is_file()
    assert (overlay / "Makefile").read_text() == "all:\n"
    assert (overlay / "drivers/net/ethernet/intel").is_dir()
    # kunit.py finds its tree by realpath(), so it must not be a link
    script = overlay / "tools/testing/kunit/kunit.py"
    assert Path(os.path.realpath(script)) == script


def test_overlay_is_made_once(tree: Path, cache: Path) -> None:
    """A second run uses what the first one built."""
    overlay = kunit.overlay_of(tree, cache)
    (overlay / "mark").touch()
    assert kunit.overlay_of(tree, cache) == overlay
    assert (overlay / "mark").exists()


def test_overlay_refuses_a_tree_it_does_not_understand(
    tree: Path, tmp_path: Path
) -> None:
    """Better no build than one without our Kconfig."""
    (tree / "drivers/net/ethernet/Kconfig").write_text("config X\n")
    with pytest.raises(CannotMeasure, match="does not end with"):
        kunit.make_overlay(tree, tmp_path / "overlay")


@pytest.mark.parametrize(
    ("fails", "status"), [("", 1), ("config", 3), ("build", 3), ("exec", 1)]
)
def test_exit_status(
    tree: Path, monkeypatch: pytest.MonkeyPatch, fails: str, status: int
) -> None:
    """No kernel: not measured. A failed case, or no coverage: not good."""
    monkeypatch.setenv("FAKE_FAILS", fails)
    assert kunit.run(options(tree)) == status


def test_suites_run_one_after_the_other(
    tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """kunit.py takes one pattern, so each suite is a run."""
    assert kunit.run(options(tree, suite="ring,tx")) == 0
    out = capfd.readouterr().out
    assert out.count("fake kunit.py exec") == 2
    assert out.rstrip().endswith("tx")


@pytest.mark.parametrize(
    "wrong",
    [
        {"suite": "rings"},
        {"arch": "arm64"},
        {"mutants": "no-such"},
        {"mutants": "all", "arch": "x86_64"},
    ],
)
def test_wrong_use(tree: Path, wrong: dict[str, str]) -> None:
    """Each wrong word is refused before anything is built."""
    with pytest.raises(UsageError):
        kunit.run(options(tree, **wrong))
    assert not root().exists()


def test_tree_that_is_none(tmp_path: Path) -> None:
    """--tree must be a kernel tree."""
    with pytest.raises(UsageError, match="not a kernel tree"):
        kunit.run(options(tmp_path))


def test_no_tree_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a tree and without apt-get: one line, and status 3."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotMeasure, match="--tree DIR") as caught:
        kunit.run(options(None))
    assert caught.value.status == 3


def gcov_line(number: int, count: int, branches: list[int]) -> dict[str, object]:
    """One line as gcov writes it."""
    return {
        "line_number": number,
        "count": count,
        "branches": [{"count": taken} for taken in branches],
    }


def test_read_gcov() -> None:
    """Lines and branches of the unit; those of headers are somebody else's."""
    text = json.dumps(
        {
            "files": [
                {
                    "file": "drivers/ringside/ring.c",
                    "lines": [
                        gcov_line(1, 5, [3, 2]),
                        gcov_line(2, 0, [0, 0]),
                        gcov_line(2, 1, [1, 0]),
                        gcov_line(3, 0, []),
                    ],
                },
                {"file": "include/linux/x.h", "lines": [gcov_line(9, 0, [0])]},
            ]
        }
    )
    found = kunit.read_gcov("ring", text)
    assert (found.lines, found.lines_hit) == (3, 2)
    assert (found.branches, found.branches_hit) == (4, 3)
    assert not found.enough


@pytest.mark.parametrize(
    ("lines", "branches", "enough"),
    [(95, 85, True), (94, 85, False), (95, 84, False)],
)
def test_coverage_limits(lines: int, branches: int, enough: bool) -> None:
    """Both limits hold at the limit and not below."""
    assert kunit.Coverage("ring", 100, lines, 100, branches).enough is enough


def test_coverage_of_nothing_is_not_enough() -> None:
    """A unit without counts is not covered."""
    assert not kunit.Coverage("ring", 0, 0, 0, 0).enough


def test_every_mutant_applies() -> None:
    """Each mutant's line is in its file exactly once, and the edit changes it."""
    mutants = kunit.read_mutants(kunit.MUTANTS, "all")
    assert len(mutants) >= 20
    assert len({mutant.id for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        assert mutant.file.removesuffix(".c") in (*kunit.COVERED_UNITS, "8139")
        text = (builds.TREE / "drivers/ringside" / mutant.file).read_text()
        assert mutant.apply(text) != text


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (0, "killed: ring-posts-when-full by ring_some_case"),
        (1, "survived: ring-posts-when-full"),
    ],
)
def test_mutants_run_on_a_copy(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    said: str,
) -> None:
    """The repository is never edited, and stands in the overlay again after."""
    unit = builds.TREE / "drivers/ringside/ring.c"
    before = unit.read_text()
    overlay = kunit.overlay_of(tree, root())
    if status == 0:
        monkeypatch.setenv("MUTANT_KILLER", "1")
    mutants = kunit.read_mutants(kunit.MUTANTS, "ring-posts-when-full")
    assert kunit.run_mutants(mutants, overlay) == status
    assert said in capsys.readouterr().out
    assert unit.read_text() == before
    link = overlay / kunit.PLACE / "drivers"
    assert link.resolve() == builds.TREE / "drivers"


def test_mutant_that_hangs(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kunit.py that never ends is ended, and the next mutant has its turn."""
    monkeypatch.setenv("FAKE_HANGS", "exec")
    monkeypatch.setattr(kunit, "MUTANT_TIMEOUT_S", 0.2)
    overlay = kunit.overlay_of(tree, root())
    mutants = kunit.read_mutants(kunit.MUTANTS, "all")[:2]
    assert kunit.run_mutants(mutants, overlay) == 0
    assert capsys.readouterr().out.count("by crash or hang") == 2


def test_mutant_whose_line_is_gone() -> None:
    """A mutant that no longer fits is an error, not a survivor."""
    mutant = kunit.Mutant("m", "ring.c", "why", "no such line", "")
    with pytest.raises(CannotMeasure, match="not once"):
        mutant.apply("text")


def test_failed_cases() -> None:
    """Colours, suites and passed cases are left out."""
    output = (
        "[12:00:00] \x1b[31m[FAILED]\x1b[0m 3 of 8 used\n"
        "[12:00:00] \x1b[31m[FAILED]\x1b[0m page_pool\n"
        "[12:00:00] \x1b[31m==== [FAILED] ring_stops ====\x1b[0m\n"
        "[12:00:00] \x1b[32m[PASSED]\x1b[0m ring_wakes\n"
        "[12:00:00] # ring: pass:1 fail:1\n"
        "[12:00:00] \x1b[31m==== [FAILED] rx_lengths ====\x1b[0m\n"
        "[12:00:00] \x1b[31m==== [FAILED] ring ====\x1b[0m\n"
    )
    assert kunit.failed_cases(output) == ["ring_stops"]
