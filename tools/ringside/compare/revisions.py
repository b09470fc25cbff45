# SPDX-License-Identifier: GPL-2.0-only
"""The two versions of a driver's source, exported into folders of their own.

Nothing of a user's tree is changed, and nothing of it is run: only files of the
driver's folders are copied out.
"""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ringside import profiles
from ringside.errors import CannotMeasure, UsageError, shortened
from ringside.lab import source as sources
from ringside.lab.source import Source

# No driver's folder of the kernel comes near it.
_LARGEST = 64 << 20
# What decides the driver's build from outside its folder; more would need a kernel each.
_ELSEWHERE = ("arch", "block", "include", "kernel", "lib", "mm", "net")


@dataclass(frozen=True)
class Request:
    """What the user named: a git tree with revisions or a patch, or two folders."""

    tree: str | None = None
    base: str | None = None
    head: str | None = None
    patch: str | None = None
    base_dir: str | None = None
    head_dir: str | None = None
    driver_only: bool = False


@dataclass(frozen=True)
class Sides:
    """Base and head, the files of the driver that differ, and the tree's version."""

    base: Source
    head: Source
    changed: tuple[str, ...]
    version: str | None


def git(tree: str, *words: str) -> bytes:
    """Output of git in a tree; CannotMeasure when it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", tree, *words], check=False, capture_output=True
        )
    except FileNotFoundError as error:
        raise CannotMeasure("git is not installed: apt-get install git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CannotMeasure(f"git {words[0]}: {said[-1] if said else 'failed'}")
    return done.stdout


def folders_of(profile: profiles.Profile) -> tuple[str, ...]:
    """Folders of a tree that hold the driver and its helpers."""
    found = []
    for place in (profile.source, *(helper.source for helper in profile.counted)):
        path = PurePosixPath(place)
        found.append(str(path.parent if path.suffix == ".c" else path))
    return tuple(dict.fromkeys(found))


def commit_of(tree: str, option: str, name: str) -> str:
    """The commit that a revision names."""
    try:
        # --end-of-options: a name may look like an option.
        out = git(
            tree,
            *("rev-parse", "--verify", "--quiet"),
            "--end-of-options",
            name + "^{commit}",
        )
    except CannotMeasure as error:
        shown = shortened(name)
        raise UsageError(
            f"{option} {shown}: no such revision in {shortened(tree)}"
        ) from error
    return out.decode("ascii").strip()


def _write(member: tarfile.TarInfo, data: bytes, out: Path) -> None:
    path = out / member.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def export_commit(tree: str, commit: str, folders: Sequence[str], out: Path) -> None:
    """Files of the folders as a commit has them; links and strange names are refused."""
    listed = git(tree, "ls-tree", "-d", "--name-only", "-z", commit, "--", *folders)
    there = [name for name in listed.decode("utf-8", "replace").split("\0") if name]
    if folders[0] not in there:
        raise UsageError(f"{shortened(tree)} has no {folders[0]} at {commit[:12]}")
    text = git(tree, "archive", "--format=tar", commit, "--", *there)
    if len(text) > _LARGEST:
        raise UsageError(f"{folders[0]} at {commit[:12]} is larger than any driver")
    with tarfile.open(fileobj=io.BytesIO(text)) as archive:
        for member in archive:
            parts = PurePosixPath(member.name).parts
            if member.isdir():
                continue
            if not member.isfile() or ".." in parts or member.name.startswith("/"):
                raise UsageError(
                    f"{shortened(member.name)} at {commit[:12]} is no plain file"
                )
            file = archive.extractfile(member)
            assert file
            _write(member, file.read(), out)


def _copy(folder: str, option: str, folders: Sequence[str], out: Path) -> None:
    """The same out of a bare tree."""
    root = Path(folder)
    for name in folders:
        place = root / name
        if not place.is_dir():
            if name == folders[0]:
                raise UsageError(f"{option} {shortened(folder)} has no {name}")
            continue
        size = 0
        for path in sorted(place.rglob("*")):
            if path.is_symlink():
                raise UsageError(f"{option}: {path.relative_to(root)} is a link")
            if path.is_file():
                size += path.stat().st_size
                if size > _LARGEST:
                    raise UsageError(f"{option}: {name} is larger than any driver")
        shutil.copytree(place, out / name, symlinks=True)


def _apply(patch: Path, folder: Path, folders: Sequence[str]) -> list[str]:
    """Applies a patch or an mbox in a copy; files that it changes outside are named."""
    include = [f"--include={name}/*" for name in folders]
    # Not a repository's: only what lies in this folder may be changed.
    command = ["git", "apply", "--numstat", "-z", str(patch)]
    plain = {"GIT_DIR": str(folder / ".none"), "GIT_CEILING_DIRECTORIES": str(folder)}
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, env=_environment(plain)
    )
    if done.returncode:
        raise UsageError(f"--patch {patch.name}: {_last(done.stderr)}")
    names = [
        line.split("\t")[-1]
        for line in done.stdout.decode("utf-8", "replace").split("\0")
    ]
    names = [name for name in names if name]
    for name in names:
        if name.startswith("/") or ".." in name.split("/"):
            raise UsageError(
                f"--patch {patch.name}: {shortened(name)} is outside the tree"
            )
    command = ["git", "apply", *include, str(patch)]
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, env=_environment(plain)
    )
    if done.returncode:
        raise UsageError(f"--patch {patch.name} does not apply: {_last(done.stderr)}")
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise UsageError(f"--patch {patch.name}: makes a link of {path.name}")
    return names


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **more}


def _last(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    return lines[-1].removeprefix("error: ")


def _outside(names: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Changed files that other code sees too: headers, the network core."""
    return [
        name
        for name in names
        if name.split("/")[0] in _ELSEWHERE
        and not any(name.startswith(f"{folder}/") for folder in folders)
    ]


def _differing(base: Path, head: Path) -> tuple[str, ...]:
    names = {
        str(path.relative_to(root))
        for root in (base, head)
        for path in root.rglob("*")
        if path.is_file()
    }

    def content(root: Path, name: str) -> bytes | None:
        path = root / name
        return path.read_bytes() if path.is_file() else None

    return tuple(n for n in sorted(names) if content(base, n) != content(head, n))


def _git_version(tree: str, commit: str) -> str | None:
    """What the Makefile of a commit says; None for a tree that is no kernel's."""
    try:
        text = git(tree, "show", f"{commit}:Makefile")
    except CannotMeasure:
        return None
    return sources.version_in(text.decode("utf-8", "replace"))


def _check_outside(names: Sequence[str], folders: Sequence[str], only: bool) -> None:
    outside = _outside(names, folders)
    if outside and not only:
        raise CannotMeasure(
            f"the change touches {shortened(outside[0])} too ({len(outside)} files outside"
            " the driver): that needs a kernel each, which is not built here;"
            " --driver-only compares the driver alone"
        )


def _from_git(request: Request, folders: Sequence[str], out: Path) -> Sides:
    tree, base_name = request.tree or ".", request.base
    if not base_name:
        raise UsageError("--base is missing: the revision that the change starts from")
    if bool(request.head) == bool(request.patch):
        raise UsageError("name the change: --head REV or --patch FILE, one of them")
    if not Path(tree).is_dir():
        raise UsageError(f"--tree {shortened(tree)}: no such folder")
    base = commit_of(tree, "--base", base_name)
    export_commit(tree, base, folders, out / "base")
    if request.patch:
        patch = Path(request.patch).resolve()
        if not patch.is_file():
            raise UsageError(f"--patch {shortened(request.patch)}: no such file")
        shutil.copytree(out / "base", out / "head")
        names = _apply(patch, out / "head", folders)
        shown = patch.name
    else:
        assert request.head
        dirty = git(tree, "status", "--porcelain", "-z", "--", *folders)
        if dirty:
            raise UsageError(
                f"{shortened(tree)} has uncommitted changes in {folders[0]}: commit or"
                " stash them, or compare them with --patch"
            )
        head = commit_of(tree, "--head", request.head)
        export_commit(tree, head, folders, out / "head")
        diff = git(tree, "diff", "--name-only", "-z", "--no-renames", base, head)
        names = [n for n in diff.decode("utf-8", "replace").split("\0") if n]
        shown = f"{request.head} ({head[:12]})"
    _check_outside(names, folders, request.driver_only)
    return Sides(
        Source(out / "base", f"{base_name} ({base[:12]})"),
        Source(out / "head", shown),
        _differing(out / "base", out / "head"),
        _git_version(tree, base),
    )


def export(request: Request, profile: profiles.Profile, out: Path) -> Sides:
    """Base and head of the profile's driver, below @out, which is empty."""
    folders = folders_of(profile)
    if not (request.base_dir or request.head_dir):
        return _from_git(request, folders, out)
    if not (request.base_dir and request.head_dir):
        raise UsageError("--base-dir and --head-dir go together")
    if request.tree or request.base or request.head or request.patch:
        raise UsageError(
            "--base-dir and --head-dir stand alone: without --tree and others"
        )
    for option, folder in (("base", request.base_dir), ("head", request.head_dir)):
        _copy(folder, f"--{option}-dir", folders, out / option)
    return Sides(
        Source(out / "base", request.base_dir),
        Source(out / "head", request.head_dir),
        _differing(out / "base", out / "head"),
        sources.tree_version(Path(request.base_dir)),
    )
