# SPDX-License-Identifier: GPL-2.0-only
"""A whole kernel tree: the one that is given, or the distribution's, fetched once."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ringside import cache
from ringside.errors import CannotMeasure, UsageError

_PACKAGE = "linux-source-6.12"


def _call(command: Sequence[str], cwd: Path) -> None:
    """Run a set-up command quietly; its last line tells why it failed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise CannotMeasure(f"{command[0]} failed: {said[-1]}")


def _fetch(tree: Path) -> None:
    """Unpacks the distribution's source package; under a lock."""
    print(f"ringside: fetching {_PACKAGE} into {cache.root()} (once)", file=sys.stderr)
    work = cache.root() / "unpack"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        _call(["apt-get", "download", _PACKAGE], work)
        packages = list(work.glob("*.deb"))
        if len(packages) != 1:
            raise CannotMeasure(
                f"apt-get download {_PACKAGE} left {len(packages)} packages"
            )
        _call(["dpkg-deb", "-x", packages[0].name, "."], work)
        _call(["tar", "-xf", f"usr/src/{_PACKAGE}.tar.xz"], work)
        (work / _PACKAGE).rename(tree)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def find(given: str | None) -> Path:
    """The kernel tree to build: the one given, or the distribution's, fetched once."""
    if given:
        tree = Path(given).resolve()
        if not (tree / "tools/testing/kunit/kunit.py").is_file():
            raise UsageError(
                f"--tree {given}: not a kernel tree with tools/testing/kunit"
            )
        return tree
    tree = cache.root() / _PACKAGE
    if (tree / "tools/testing/kunit/kunit.py").is_file():
        return tree
    if not shutil.which("apt-get"):
        raise CannotMeasure(
            f"no kernel tree: pass --tree DIR (no apt-get to fetch {_PACKAGE})"
        )
    with cache.told_when_full(), cache.lock(cache.root() / f"{_PACKAGE}.lock"):
        # Whoever held the lock may have fetched it.
        if not (tree / "tools/testing/kunit/kunit.py").is_file():
            _fetch(tree)
    return tree
