# SPDX-License-Identifier: GPL-2.0-only
"""What is kept: made once, whole or not at all, and a full disk is told in one line."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import fakes
from ringside import builds, cache
from ringside.errors import CannotMeasure


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache, and next to it the place of scratch folders."""
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "cache"


def kept(folder: Path) -> list[str]:
    """Everything in the cache but locks and listings."""
    own = (".lock", ".made")
    found = [path for path in folder.rglob("*") if not path.name.endswith(own)]
    return sorted(str(path.relative_to(folder)) for path in found)


def writer(text: str = "made") -> Callable[[Path], None]:
    """A maker that writes one file."""

    def make(scratch: Path) -> None:
        (scratch / "file").write_text(text, encoding="ascii")

    return make


# Keys and places


@pytest.mark.parametrize(
    "variables, where",
    [
        ({"RINGSIDE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/ringside"),
        ({"HOME": "/c"}, "/c/.cache/ringside"),
        (
            {"RINGSIDE_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/c"},
            "/c/.cache/ringside",
        ),
    ],
)
def test_the_cache_is_where_the_user_says(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], where: str
) -> None:
    """Ours before the general variable before the default; empty counts as unset."""
    for name in ("RINGSIDE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache.root() == Path(where)


def test_a_key_tells_its_parts_apart() -> None:
    """Also by where one ends and the next begins, and in what order."""
    parts: list[tuple[str, ...]] = [
        (),
        ("",),
        ("", ""),
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ("c", "ab"),
        ("1:a",),
        ("a1:b",),
        ("a", "b"),
    ]
    keys = [cache.key_of(*part) for part in parts]
    assert len(set(keys)) == len(parts)
    assert cache.key_of("a", b"b") == cache.key_of(b"a", "b")


def test_a_file_hash_is_of_the_content(tmp_path: Path) -> None:
    """The well-known one of "abc"."""
    (tmp_path / "f").write_bytes(b"abc")
    assert cache.file_hash(tmp_path / "f").startswith("ba7816bf8f01cfea")


# Once


def test_a_thing_is_made_once(folder: Path) -> None:
    """Then it is only looked up."""
    assert cache.once("kind", "key", writer()) == folder / "kind/key"
    again = cache.once("kind", "key", writer("again"))
    assert (again / "file").read_text() == "made"
    assert kept(folder) == ["kind", "kind/key", "kind/key/file"]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": lambda thing: (thing / "file").unlink(),
    "cut": lambda thing: (thing / "file").write_text("mad"),
    "other_content": lambda thing: (thing / "file").write_text("MADE"),
    "more": lambda thing: (thing / "more").write_text("made"),
    "no_listing": lambda thing: (thing / ".made").unlink(),
    "no_text": lambda thing: (thing / ".made").write_bytes(b"\xff"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_thing_is_made_anew(
    folder: Path, damage: Callable[[Path], object]
) -> None:
    """It would fail every run until somebody finds it."""
    damage(cache.once("kind", "key", writer()))
    again = cache.once("kind", "key", writer("again"))
    assert (again / "file").read_text() == "again"
    assert kept(folder) == ["kind", "kind/key", "kind/key/file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, CannotMeasure])
def test_a_failure_leaves_nothing(folder: Path, error: type[BaseException]) -> None:
    """And the next one may try again."""

    def fail(scratch: Path) -> None:
        writer()(scratch)
        raise error

    with pytest.raises(error):
        cache.once("kind", "key", fail)
    assert kept(folder) == ["kind"]
    cache.once("kind", "key", writer())
    assert "kind/key/file" in kept(folder)


def _count_and_make(log: Path) -> None:
    def make(scratch: Path) -> None:
        with log.open("a", encoding="ascii") as file:
            file.write("made\n")
        time.sleep(0.2)
        writer()(scratch)

    assert (cache.once("kind", "key", make) / "file").read_text() == "made"


def test_processes_at_once_make_once(tmp_path: Path) -> None:
    """One makes, the others wait for it and take the result."""
    context = multiprocessing.get_context("fork")
    log = tmp_path / "log"
    processes = [context.Process(target=_count_and_make, args=(log,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0] * 4
    assert log.read_text() == "made\n"


def test_a_lock_that_is_removed_still_keeps_others_out(tmp_path: Path) -> None:
    """Who waited for the file that is gone must not hold it beside a new one's holder."""
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            with cache.lock(tmp_path / "x.lock"):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0)
                inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(most) == 400 and max(most) == 1
    assert not list(tmp_path.glob("*.lock"))


def _make_until_killed(started: Path) -> None:
    def make(scratch: Path) -> None:
        (scratch / "half").write_text("half", encoding="ascii")
        started.touch()
        time.sleep(60)

    cache.once("kind", "key", make)


def test_what_a_killed_maker_left_is_removed(tmp_path: Path, folder: Path) -> None:
    """By the next who makes the same; another's work in progress is not touched."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_make_until_killed, args=(tmp_path / "started",))
    process.start()
    while not (tmp_path / "started").exists():
        time.sleep(0.01)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(30)
    other = folder / "kind/.other.abc"
    other.mkdir()
    assert len(kept(folder)) == 4
    cache.once("kind", "key", writer())
    assert kept(folder) == ["kind", "kind/.other.abc", "kind/key", "kind/key/file"]


def test_pruning_keeps_the_last_used(folder: Path) -> None:
    """And work in progress."""
    for number, name in enumerate("dcba"):
        path = cache.once("kind", name, writer())
        os.utime(path, (number, number))
    (folder / "kind/.e.scratch").mkdir()
    cache.prune("kind", 2)
    names = sorted(path.name for path in (folder / "kind").iterdir() if path.is_dir())
    assert names == [".e.scratch", "a", "b"]
    cache.prune("nothing", 2)


# Scratch folders


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_a_scratch_folder_is_gone_afterwards(
    tmp_path: Path, error: type[BaseException] | None
) -> None:
    """With everything in it, however the block ends."""
    try:
        with cache.scratch_folder() as scratch:
            assert scratch.parent == tmp_path / "tmp"
            writer()(scratch)
            os.mkfifo(scratch / "pipe")
            if error:
                raise error
    except (ValueError, KeyboardInterrupt):
        assert error
    assert not list((tmp_path / "tmp").iterdir())


# A full or closed disk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told(folder: Path, number: int) -> None:
    """In one line with what to do; nothing stays."""

    def fill(scratch: Path) -> None:
        writer()(scratch)
        raise OSError(number, os.strerror(number), str(scratch / "file"))

    with pytest.raises(CannotMeasure, match="no space left on the disk of") as caught:
        cache.once("kind", "key", fill)
    assert "\n" not in str(caught.value) and "TMPDIR" in str(caught.value)
    assert kept(folder) == ["kind"]
    with pytest.raises(
        CannotMeasure, match="no space left"
    ), cache.scratch_folder() as f:
        fill(f)


def test_a_copy_names_the_disk_that_is_full(folder: Path) -> None:
    """Not the one that it reads from."""
    error = OSError(errno.ENOSPC, "No space", "/from/here", None, str(folder / "to"))
    with pytest.raises(CannotMeasure, match=f"the disk of {folder}/to: "):
        with cache.told_when_full():
            raise error


FILL = """
import os, sys
from pathlib import Path
from ringside import cache
from ringside.errors import CannotMeasure
def make(scratch: Path) -> None:
    (scratch / "big").write_bytes(b"x" * (1 << 20))
try:
    cache.once("kind", "key", make)
except CannotMeasure as error:
    print(error)
print(sorted(p.name for p in Path(os.environ["RINGSIDE_CACHE"], "kind").iterdir()))
"""


def in_own_mounts(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs FILL after these commands in a mount namespace that ends with it."""
    fakes.needs_mounts()
    text = f'{commands}; exec "$0" -B -c "$1"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-ec", text, sys.executable, FILL],
        env={
            **os.environ,
            "PYTHONPATH": str(builds.TREE / "tools"),
            "RINGSIDE_CACHE": str(folder),
        },
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_really_full_disk_is_told(folder: Path) -> None:
    """A file system of 64 KiB: the message names it, and nothing stays."""
    folder.mkdir()
    result = in_own_mounts(f"mount -t tmpfs -o size=64k none {folder}", folder)
    assert result.returncode == 0, result.stderr
    told, left = result.stdout.splitlines()
    assert told.startswith("no space left on the disk of ")
    assert left == "[]"


def test_a_read_only_disk_is_told(folder: Path) -> None:
    """With the variable that names another."""
    folder.mkdir()
    (folder / "kind").mkdir()
    result = in_own_mounts(f"mount -t tmpfs -o ro none {folder}", folder)
    assert result.stdout.startswith(
        f"cannot write {folder}/kind: Read-only file system"
    )
    assert "RINGSIDE_CACHE" in result.stdout.splitlines()[0]


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_a_cache_that_is_a_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    """Or lies below one."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("RINGSIDE_CACHE", f"{tmp_path}/file{below}")
    with pytest.raises(CannotMeasure, match=r"cannot write .*RINGSIDE_CACHE") as caught:
        cache.once("kind", "key", writer())
    assert "\n" not in str(caught.value)


def test_other_errors_stay_what_they_are() -> None:
    """A missing program is no full disk."""

    def fail(_: Path) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "tool")

    with pytest.raises(FileNotFoundError):
        cache.once("kind", "key", fail)
