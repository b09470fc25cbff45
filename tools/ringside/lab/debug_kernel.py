# SPDX-License-Identifier: GPL-2.0-only
"""The lab's own kernel, which looks for mistakes: built once from the distribution's source."""

import os
import subprocess
import sys
from pathlib import Path

from ringside import builds, cache
from ringside.errors import CannotMeasure
from ringside.lab import kernel, tree
from ringside.lab.kernel import LabKernel

CONFIG = builds.TREE / "tools/qemu/kernel/debug.config"
# The same kernel whoever builds it, whenever.
_SAME = ("KBUILD_BUILD_TIMESTAMP=@0", "KBUILD_BUILD_USER=r", "KBUILD_BUILD_HOST=r")
# Left by the build; modules of others need none of it.
_OUTPUT = (".*.cmd", "*.o", "*.a", "*.mod", "*.mod.c", "*.order", "vmlinux.*")


def _make(arguments: list[str], source: Path, what: str) -> None:
    command = ["make", "-s", "-C", str(source), *_SAME, *arguments]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotMeasure("make is not installed: run make setup") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        said = [line for line in lines if "error" in line.lower()] or lines
        raise CannotMeasure(f"cannot {what} the debug kernel: {said[0]}")


def missing_options(wanted: str, configured: str) -> list[str]:
    """Lines "CONFIG_X=.." of a fragment that a configuration does not have."""
    lines = set(configured.splitlines())
    return [
        line
        for line in wanted.splitlines()
        if line.startswith("CONFIG_") and line not in lines
    ]


def _configure(source: Path, folder: Path) -> None:
    preset = f"KCONFIG_ALLCONFIG={CONFIG}"
    _make([f"O={folder}", preset, "allnoconfig"], source, "configure")
    wanted = CONFIG.read_text(encoding="utf-8")
    missing = missing_options(wanted, (folder / ".config").read_text(encoding="utf-8"))
    if missing:
        raise CannotMeasure(
            f"the source of the debug kernel does not take {', '.join(missing)}:"
            f" see {CONFIG.relative_to(builds.TREE)}"
        )


def _remove_output(folder: Path) -> None:
    """What stays is the image, the modules and what a module's build needs."""
    for pattern in _OUTPUT:
        for path in folder.rglob(pattern):
            inside = path.relative_to(folder).parts[0]
            if path.is_file() and inside not in ("scripts", "tools", "include"):
                path.unlink()


def find() -> LabKernel:
    """The debug kernel, built when there is none yet (some 12 minutes on two processors)."""
    source = tree.find(None)
    parts = [cache.file_hash(path) for path in (CONFIG, source / "Makefile")]
    # The build folder refers to its source.
    key = cache.key_of(builds.compiler_version(), str(source), *parts)

    def make(folder: Path) -> None:
        print("ringside: building the debug kernel (once)", file=sys.stderr)
        _configure(source, folder)
        jobs = f"-j{os.cpu_count() or 1}"
        _make([f"O={folder}", jobs, "bzImage", "modules"], source, "build")
        _remove_output(folder)

    folder = cache.once("debug-kernels", key, make)
    cache.prune("debug-kernels", 2)
    return kernel.from_folder(folder)
