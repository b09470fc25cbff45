# SPDX-License-Identifier: GPL-2.0-only
"""Compare: what of the user's trees is taken, and what is refused."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import fakes
from ringside import profiles
from ringside.compare import revisions
from ringside.compare.revisions import Request
from ringside.errors import CannotMeasure, UsageError
from ringside.profiles import Helper

_PLACE = "drivers/net/ethernet/realtek"
_PROFILE = profiles.choose("8139cp")[0]
_MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\nEXTRAVERSION =\n"


def _commit(tree: Path, files: dict[str, str], tag: str) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    fakes.git(tree, "add", "-A")
    fakes.git(tree, "commit", "-q", "-m", tag)
    fakes.git(tree, "tag", tag)


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> Path:
    """A kernel tree of two revisions that differ in the driver."""
    tree = tmp_path / "linux"
    tree.mkdir()
    fakes.git(tree, "init", "-q")
    plain = {
        "Makefile": _MAKEFILE,
        f"{_PLACE}/8139cp.c": "a\nb\n",
        "net/core/dev.c": "x\n",
    }
    _commit(tree, plain, "base")
    _commit(tree, {f"{_PLACE}/8139cp.c": "a\nc\nb\n"}, "head")
    return tree


@pytest.fixture(name="out")
def fixture_out(tmp_path: Path) -> Path:
    """Where versions are exported to."""
    out = tmp_path / "out"
    out.mkdir()
    return out


def _texts(sides: revisions.Sides) -> list[str]:
    return [
        (side.tree / _PLACE / "8139cp.c").read_text()
        for side in (sides.base, sides.head)
    ]


def test_two_revisions_are_exported(tree: Path, out: Path) -> None:
    """Only the driver's folder, and the tree is as before."""
    request = Request(tree=str(tree), base="base", head="head")
    sides = revisions.export(request, _PROFILE, out)
    assert _texts(sides) == ["a\nb\n", "a\nc\nb\n"]
    assert sides.changed == (f"{_PLACE}/8139cp.c",)
    assert sides.version == "6.12.0"
    assert not (out / "base/net").exists()
    assert fakes.git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize("mailed", [False, True], ids=["patch", "mbox"])
def test_a_patch_stands_for_head(
    mailed: bool, tree: Path, out: Path, tmp_path: Path
) -> None:
    """As git diff writes one, and as a mail with text around it."""
    words = ["format-patch", "--stdout"] if mailed else ["diff"]
    patch = tmp_path / "my change.patch"
    patch.write_text(fakes.git(tree, *words, "base..head"))
    request = Request(tree=str(tree), base="base", patch=str(patch))
    assert _texts(revisions.export(request, _PROFILE, out))[1] == "a\nc\nb\n"


def test_two_folders_need_no_git(tree: Path, out: Path, tmp_path: Path) -> None:
    """Bare trees."""
    other = tmp_path / "other"
    (other / _PLACE).mkdir(parents=True)
    (other / _PLACE / "8139cp.c").write_text("z\n")
    request = Request(base_dir=str(tree), head_dir=str(other))
    assert _texts(revisions.export(request, _PROFILE, out)) == ["a\nc\nb\n", "z\n"]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (Request(head="head"), "--base is missing"),
        (Request(base="base"), "--head REV or --patch FILE, one of them"),
        (Request(base="base", head="head", patch="x"), "one of them"),
        (Request(base="nosuch", head="head"), "--base nosuch: no such revision"),
        (Request(base="--all", head="head"), "--base --all: no such revision"),
        (Request(base="base", head="$(touch x)"), "no such revision"),
        (Request(base="base", patch="/nosuch"), "--patch /nosuch: no such file"),
        (Request(base="base", head="head", base_dir="x"), "go together"),
        (Request(base="b", base_dir="x", head_dir="y"), "stand alone"),
    ],
)
def test_wrong_use_is_told(request_: Request, why: str, tree: Path, out: Path) -> None:
    """In one line each."""
    given = request_ if request_.base_dir else replace(request_, tree=str(tree))
    with pytest.raises(UsageError) as told:
        revisions.export(given, _PROFILE, out)
    assert why in str(told.value)


def test_a_dirty_worktree_is_refused(tree: Path, out: Path) -> None:
    """What is not committed would not be compared; elsewhere it does not matter."""
    request = Request(tree=str(tree), base="base", head="head")
    (tree / "net/core/dev.c").write_text("changed\n")
    revisions.export(request, _PROFILE, out)
    (tree / _PLACE / "8139cp.c").write_text("changed\n")
    with pytest.raises(UsageError, match="uncommitted changes in drivers/net"):
        revisions.export(request, _PROFILE, out)


def test_a_change_of_the_core_needs_a_kernel_each(tree: Path, out: Path) -> None:
    """Unless the driver alone is meant."""
    _commit(tree, {"net/core/dev.c": "y\n", "Documentation/x": "z\n"}, "core")
    request = Request(tree=str(tree), base="base", head="core")
    with pytest.raises(CannotMeasure, match="touches net/core/dev.c.*--driver-only"):
        revisions.export(request, _PROFILE, out)
    for folder in out.iterdir():
        subprocess.run(["rm", "-r", str(folder)], check=True)
    only = replace(request, driver_only=True)
    assert _texts(revisions.export(only, _PROFILE, out))[1] == "a\nc\nb\n"


def test_a_tree_without_the_driver_is_told(tree: Path, out: Path) -> None:
    """At that revision."""
    profile = replace(_PROFILE, source="drivers/none/none.c")
    with pytest.raises(UsageError, match="has no drivers/none at"):
        revisions.export(
            Request(tree=str(tree), base="base", head="head"), profile, out
        )


def test_a_helper_that_the_tree_lacks_is_left_out(tree: Path, out: Path) -> None:
    """Its build tells, if it is wanted."""
    helper = Helper("helper", "drivers/helper/helper.c")
    profile = replace(_PROFILE, counted=(helper,))
    request = Request(tree=str(tree), base="base", head="head")
    assert _texts(revisions.export(request, profile, out))


def _link(place: Path) -> None:
    (place / "evil.h").symlink_to("/etc/passwd")


def _folder_link(place: Path) -> None:
    (place / "evil").symlink_to("/etc")


@pytest.mark.parametrize("evil", [_link, _folder_link])
@pytest.mark.parametrize("bare", [False, True], ids=["git", "bare"])
def test_links_are_refused(
    evil: Callable[[Path], None], bare: bool, tree: Path, out: Path
) -> None:
    """They could lead anywhere."""
    evil(tree / _PLACE)
    _commit(tree, {}, "evil")
    request = Request(tree=str(tree), base="base", head="evil")
    if bare:
        request = Request(base_dir=str(tree), head_dir=str(tree))
    with pytest.raises(UsageError, match="is a link|no plain file"):
        revisions.export(request, _PROFILE, out)


def _diff(name: str, text: str = "+evil\n") -> str:
    return (
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n"
        f"+++ b/{name}\n@@ -0,0 +1 @@\n{text}"
    )


@pytest.mark.parametrize(
    "text",
    [
        _diff("../../../evil"),
        _diff(f"{_PLACE}/../../../../../evil"),
        _diff("/tmp/ringside-evil"),
        f"diff --git a/{_PLACE}/l b/{_PLACE}/l\nnew file mode 120000\n--- /dev/null\n"
        f"+++ b/{_PLACE}/l\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n"
        + _diff(f"{_PLACE}/l/ringside-evil"),
        f"diff --git a/{_PLACE}/evil b/{_PLACE}/evil\nnew file mode 120000\n"
        f"--- /dev/null\n+++ b/{_PLACE}/evil\n@@ -0,0 +1 @@\n+/etc\n"
        "\\ No newline at end of file\n",
        "no patch at all\n",
        "",
    ],
    ids=["up", "up within", "absolute", "through a link", "a link", "text", "empty"],
)
def test_a_hostile_patch_writes_nowhere_else(
    text: str, tree: Path, out: Path, tmp_path: Path
) -> None:
    """It is refused by its name."""
    patch = tmp_path / "p"
    patch.write_text(text)
    request = Request(tree=str(tree), base="base", patch=str(patch))
    with pytest.raises(UsageError, match="--patch p"):
        revisions.export(request, _PROFILE, out)
    assert not Path("/tmp/ringside-evil").exists()
    assert not [path for path in tmp_path.rglob("evil") if not path.is_symlink()]


def test_a_patch_of_another_folder_changes_nothing(
    tree: Path, out: Path, tmp_path: Path
) -> None:
    """A file of the documentation costs no packet anything."""
    patch = tmp_path / "p"
    patch.write_text(_diff("Documentation/new") + fakes.git(tree, "diff", "base..head"))
    request = Request(tree=str(tree), base="base", patch=str(patch))
    sides = revisions.export(request, _PROFILE, out)
    assert _texts(sides)[1] == "a\nc\nb\n"
    assert not (out / "head/Documentation").exists()


def test_a_huge_driver_is_refused(
    tree: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways."""
    monkeypatch.setattr(revisions, "_LARGEST", 4096)
    _commit(tree, {f"{_PLACE}/big.c": "x" * 20000}, "big")
    for request in (
        Request(tree=str(tree), base="base", head="big"),
        Request(base_dir=str(tree), head_dir=str(tree)),
    ):
        with pytest.raises(UsageError, match="larger than any driver"):
            revisions.export(request, _PROFILE, out)
        for folder in out.iterdir():
            subprocess.run(["rm", "-r", str(folder)], check=True)
