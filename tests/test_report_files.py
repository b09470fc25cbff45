# SPDX-License-Identifier: GPL-2.0-only
"""Where a report goes: files whole, pipes and standard output as they are."""

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import fakes
from ringside import builds
from ringside.errors import UsageError
from ringside.report import files

WRITE = (
    "import sys; from pathlib import Path; from ringside.report import files\n"
    "path = Path(sys.argv[1]); files.check(path); files.write_whole(path, 'report')"
)


def shell(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A shell line in which "write PATH" writes a report."""
    return subprocess.run(
        ["bash", "-c", f'write() {{ "$PYTHON" -B -c "$WRITE" "$@"; }}\n{text}'],
        env={
            **os.environ,
            "PYTHON": "/usr/bin/python3",
            "PYTHONPATH": str(builds.TREE / "tools"),
            "WRITE": WRITE,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "write /proc/self/fd/1",
        "write /proc/self/fd/1 | cat",
        "write /dev/fd/1 | cat",
        "write /proc/self/fd/1 > file; cat file",
        "ln -s /proc/self/fd/1 link; write link | cat",
        "ln -s /proc/self/fd/1 link; ln -s link more; write more > file; cat file",
        "{ printf ''; write /proc/self/fd/1; } >> file; cat file",
        "write /dev/fd/3 3>&1 | cat",
        "write /proc/self/fd/2 2>&1 | cat",
        "write >(cat) | cat",
        "write file; cat file",
        "touch other; ln -s other file; write file; cat other; test -L file",
        "write $'\\u20ac'; cat $'\\u20ac'",
        "name=$(printf '\\u20ac%.0s' {1..85}); write $name; cat $name",
    ],
)
def test_a_report_gets_there(tmp_path: Path, line: str) -> None:
    """Through every name of it, and once.

    Those in /dev are not tried: a fault here must not cost the machine a link
    there, which in /proc it cannot.
    """
    result = shell(f"LC_ALL=C.UTF-8; {line}", tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "report", "")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/../dev/fd/1", "link"])
def test_standard_output_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """By its names and by links to them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("more")
    (tmp_path / "more").symlink_to("/dev/stdout")
    assert files.is_standard_output(Path(name))
    assert not files.is_standard_output(Path("/dev/stderr"))


@pytest.mark.parametrize("name", ["/proc/self/fd/1", "/dev/fd/3", "/proc/self/fd/2"])
def test_an_open_file_keeps_its_place(tmp_path: Path, name: str) -> None:
    """No other file is put where the shell has one open."""
    (tmp_path / "file").touch()
    before = (tmp_path / "file").stat().st_ino
    result = shell(f"write {name} 3>file >&3 2>&3", tmp_path)
    assert result.returncode == 0
    assert (tmp_path / "file").read_text(encoding="ascii") == "report"
    assert (tmp_path / "file").stat().st_ino == before


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


NO_REPORT: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (lambda path: path.mkdir(), "Is a directory"),
    "dangling": (lambda path: path.symlink_to("nothing"), "a link to nothing"),
    "loop": (lambda path: path.symlink_to(path.name), "Too many levels"),
    "socket": (_socket, "a disk or socket"),
}


@pytest.mark.parametrize("make, told", NO_REPORT.values(), ids=NO_REPORT)
def test_what_takes_no_report_is_refused_first(
    tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    """And again by the write itself, for things change meanwhile."""
    path = tmp_path / "x"
    make(path)
    with pytest.raises(UsageError, match=f"cannot write .*/x: {told}"):
        files.check(path)
    with pytest.raises(UsageError, match=f"cannot write .*/x: {told}"):
        files.write_whole(path, "report")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_read_only_file_system_is_refused_first(tmp_path: Path) -> None:
    """As wrong use."""
    fakes.needs_mounts()
    mounted = f"mount -t tmpfs -o ro none {tmp_path}"
    result = shell(
        f"export -f write; unshare --mount bash -c '{mounted} && write {tmp_path}/x'",
        tmp_path,
    )
    assert "UsageError: cannot write" in result.stderr
    assert "/x: Read-only file system" in result.stderr


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    """An old report stays until the new one is there; no new one stands for it."""
    (tmp_path / "old").write_text("old", encoding="ascii")
    files.check(tmp_path / "old")
    files.check(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text(encoding="ascii") == "old"
