# SPDX-License-Identifier: GPL-2.0-only
"""The source of a lab kernel: the same version, or refused in one line."""

from dataclasses import replace
from pathlib import Path

import pytest

import fakes
from ringside.errors import CannotMeasure, RingsideError, UsageError
from ringside.lab import kernel, source
from ringside.lab.kernel import LabKernel

DEBIAN = (
    b"6.1.0-51-amd64 (d@l.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.177-1~x (2026-07-16)\0"
)


def lab(folder: Path, banner: bytes = b"6.12.7 (me@here) #1\0") -> LabKernel:
    """A kernel whose image says this."""
    found = kernel.from_folder(fakes.kernel_folder(folder, {}))
    found.image.write_bytes(fakes.boot_image(banner))
    return replace(found, release=banner.split()[0].decode())


def tree(folder: Path, version: str) -> str:
    """A tree of that version with one driver."""
    numbers, _, extra = version.partition("-")
    parts = numbers.split(".")
    (folder / "drivers/net").mkdir(parents=True)
    (folder / "drivers/net/tun.c").touch()
    (folder / "Makefile").write_text(
        f"# SPDX\nVERSION = {parts[0]}\nPATCHLEVEL = {parts[1]}\nSUBLEVEL = {parts[2]}\n"
        f"EXTRAVERSION = {'-' + extra if extra else ''}\nNAME = Opossum\n"
    )
    return str(folder)


@pytest.mark.parametrize(
    "banner, version",
    [
        (b"6.12.7 (me@here) #1\0", "6.12.7"),
        (b"7.1.0-rc2+ (me@here) #1\0", "7.1.0-rc2"),
        (b"7.1.0-rc2-00012-gabc (me@here) #1\0", "7.1.0-rc2"),
        (DEBIAN, "6.1.177"),
        (b"6.12.10+deb13-amd64 (d) #1 SMP Debian 6.12.10-1 (2026-01-01)\0", "6.12.10"),
    ],
)
def test_a_tree_of_the_same_version_is_taken(
    tmp_path: Path, banner: bytes, version: str
) -> None:
    """Debian's releases may name an ABI: its package's version counts then."""
    found = source.find(lab(tmp_path / "k", banner), tree(tmp_path / "t", version))
    assert found.tree == tmp_path / "t"
    assert found.path_of("drivers/net/tun.c", "tun").is_file()
    with pytest.raises(UsageError, match="has no drivers/net/x.c, the source of x"):
        found.path_of("drivers/net/x.c", "x")


@pytest.mark.parametrize("version", ["6.12.8", "6.13.7", "6.12.7-rc1", "6.12.70"])
def test_another_version_is_refused(tmp_path: Path, version: str) -> None:
    """With both versions; it is the user's tree, so wrong use."""
    with pytest.raises(UsageError) as caught:
        source.find(lab(tmp_path / "k"), tree(tmp_path / "t", version))
    text = str(caught.value)
    assert f"is Linux {version}" in text and "built from 6.12.7" in text


@pytest.mark.parametrize("content", [None, "", "all:\n\tcc x.c\n", "VERSION = 6\n"])
def test_a_folder_that_is_no_tree_is_refused(
    tmp_path: Path, content: str | None
) -> None:
    """Also one that is not there."""
    if content is not None:
        (tmp_path / "t").mkdir()
        (tmp_path / "t/Makefile").write_text(content)
    with pytest.raises(UsageError, match="not a kernel tree"):
        source.find(lab(tmp_path / "k"), str(tmp_path / "t"))


def test_a_kernel_of_no_package_needs_a_tree(tmp_path: Path) -> None:
    """There is nothing to fetch."""
    with pytest.raises(CannotMeasure, match="none of Debian's, name its tree"):
        source.find(lab(tmp_path / "k"), None)


@pytest.mark.parametrize("holds", ["6.1.177", "6.1.176", None])
def test_the_package_is_fetched_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: str | None
) -> None:
    """What the set-up unpacks must be that version too."""
    asked: list[list[str]] = []

    def set_up(words: list[str], _: str) -> Path:
        asked.append(words)
        if holds is None:
            raise UsageError("source: of which version?")
        return Path(tree(tmp_path / "t", holds))

    monkeypatch.setattr(kernel, "set_up", set_up)
    found = replace(lab(tmp_path / "k", DEBIAN), suite="bookworm")
    if holds == "6.1.177":
        assert source.find(found, None).name == "the source of Linux 6.1.177-1~x"
    else:
        with pytest.raises(RingsideError) as caught:
            source.find(found, None)
        assert caught.value.status == 3
    assert asked == [["--suite", "bookworm", "source", "6.1.177-1~x"]]
