# SPDX-License-Identifier: GPL-2.0-only
"""Our C programs are built once for each state of their sources."""

import subprocess
from pathlib import Path

import pytest

from ringside import builds
from ringside.errors import CannotMeasure

SOURCE = '#include "value.h"\nint main(void) { return VALUE; }\n'


@pytest.fixture(name="tree", autouse=True)
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one program, and a cache of its own."""
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(builds, "TREE", tmp_path)
    builds.compiler_version.cache_clear()
    (tmp_path / "src/lib").mkdir(parents=True)
    (tmp_path / "src/main.c").write_text(SOURCE, encoding="ascii")
    (tmp_path / "src/value.h").write_text("#define VALUE 3\n", encoding="ascii")
    (tmp_path / "selftests/lib").mkdir(parents=True)
    (tmp_path / "selftests/lib/marks.h").touch()
    return tmp_path


def build(*flags: str) -> Path:
    """The program of the tree."""
    return builds.program("tool", ["src/main.c"], *flags)


def status(program: Path) -> int:
    """Exit status of a program."""
    return subprocess.run([program], check=False).returncode


def test_a_program_is_built_and_runs() -> None:
    """And is not built again."""
    first = build()
    assert status(first) == 3
    time_ns = first.stat().st_mtime_ns
    assert build() == first and first.stat().st_mtime_ns == time_ns


@pytest.mark.parametrize("name", ["src/main.c", "src/value.h", "src/lib/deep.h"])
def test_a_changed_source_is_built_anew(tree: Path, name: str) -> None:
    """Also a header beside or below it."""
    first = build()
    with (tree / name).open("a", encoding="ascii") as file:
        file.write("/* changed */\n")
    assert build() != first


def test_a_shared_header_counts_for_every_program(tree: Path) -> None:
    """The marks are read by programs in other folders."""
    first = build()
    (tree / "selftests/lib/marks.h").write_text("#define MARK 1\n", encoding="ascii")
    assert build() != first


def test_flags_are_part_of_the_key() -> None:
    """A static program is another one."""
    assert build() != build("-DOTHER")


def test_a_compiler_error_is_told_in_one_line(tree: Path) -> None:
    """Its first error, not the context lines; nothing is kept."""
    (tree / "src/value.h").write_text("#define VALUE x\n", encoding="ascii")
    with pytest.raises(CannotMeasure) as caught:
        build()
    text = str(caught.value)
    assert text.startswith("cannot build ") and "error" in text and "\n" not in text
    assert [
        path.name for path in (tree / "cache/builds").iterdir() if path.is_dir()
    ] == []


@pytest.mark.parametrize(
    "script, told",
    [
        ("echo first >&2; echo last >&2; exit 1", "cannot build x: first"),
        (
            "echo w: warning >&2; echo e: error: y >&2; exit 1",
            "cannot build x: e: error: y",
        ),
        ("exit 1", "cannot build x: no message"),
    ],
)
def test_a_failing_build_is_told_by_its_error(script: str, told: str) -> None:
    """Whatever there is of it."""
    with pytest.raises(CannotMeasure) as caught:
        builds.run_compiler(["sh", "-c", script, "x"])
    assert str(caught.value) == told


def test_no_compiler_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    monkeypatch.setenv("PATH", str(tree))
    with pytest.raises(CannotMeasure, match="gcc is not installed: run make setup"):
        build()


def test_a_missing_builder_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """make may be missing where gcc is there."""
    monkeypatch.setenv("PATH", str(tree))
    with pytest.raises(CannotMeasure, match="make is not installed: run make setup"):
        builds.run_compiler(["make", "x"])
