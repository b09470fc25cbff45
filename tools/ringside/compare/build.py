# SPDX-License-Identifier: GPL-2.0-only
"""One version of a driver, built plain and counted, where a makefile can do no harm.

A makefile is a program, and a patch may bring one: the build sees the machine
read-only, without network, and writes into its own folder only.
"""

import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from ringside import builds, cache
from ringside.errors import CannotMeasure
from ringside.lab import counted
from ringside.lab.counted import Recipe
from ringside.lab.kernel import LabKernel, headers
from ringside.lab.source import Source
from ringside.profiles import Profile

_KBUILD = ("CONFIG_RINGSIDE=m", "CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES=")
_LIMIT_S = 600.0
_BUILT = shutil.ignore_patterns("*.ko", "*.o", "*.mod*", ".*.cmd", "Module.symvers")


class DoesNotBuild(CannotMeasure):
    """The compiler refused a version of the driver."""


@dataclass(frozen=True)
class Built:
    """A version of a driver as a lab kernel loads it: plain, and counted if it can be."""

    source: Source
    plain: LabKernel
    counted: LabKernel | None
    why_not_counted: str
    driver_sha256: str


def _compose(place: Path, name: str, folder: Path) -> None:
    """The source in a folder that kbuild takes: of one file, or as it is."""
    if place.is_dir():
        shutil.copytree(place, folder, ignore=_BUILT)
        return
    folder.mkdir()
    for path in sorted(place.parent.iterdir()):
        if path.suffix == ".h" or path == place or path.match("lib*.c"):
            shutil.copy2(path, folder / path.name)
    (folder / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")


def _first_error(text: str) -> str:
    lines = text.strip().splitlines() or ["no message"]
    return next((line.strip() for line in lines if "error:" in line), lines[-1].strip())


def module(kernel: LabKernel, name: str, place: Path) -> Path:
    """The module of that name as its makefile builds it; DoesNotBuild if it cannot."""
    key = cache.key_of(
        *("plain", kernel.key, builds.compiler_version(), name, place.name),
        counted.content(place),
    )

    def make(scratch: Path) -> None:
        folder = scratch / "driver"
        _compose(place, name, folder)
        words = ["make", "-s", "-C", str(headers(kernel)), f"M={folder}"]
        command = counted.contained(
            [*words, *_KBUILD, f"{name}.ko"], scratch, headers(kernel)
        )
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=_LIMIT_S
            )
        except subprocess.TimeoutExpired as error:
            raise DoesNotBuild(f"no end after {_LIMIT_S:.0f} s") from error
        if done.returncode or not (folder / f"{name}.ko").is_file():
            # The folder's name means nothing to who reads it.
            raise DoesNotBuild(_first_error(done.stderr).replace(f"{folder}/", ""))
        (folder / f"{name}.ko").rename(scratch / f"{name}.ko")
        shutil.rmtree(folder)

    return cache.once("modules", key, make) / f"{name}.ko"


def plain(kernel: LabKernel, profile: Profile, source: Source) -> Built:
    """One version as it is, for a bench alone."""
    name = profile.driver
    path = module(kernel, name, source.path_of(profile.source, name))
    with_it = replace(kernel, replaced={name.replace("-", "_"): path})
    return Built(source, with_it, None, "not wanted", cache.file_hash(path))


def build(kernel: LabKernel, profile: Profile, source: Source) -> Built:
    """Both builds of one version; a driver without a site is compared without a ledger."""
    bare = plain(kernel, profile, source)
    in_tree = replace(profile, out_of_tree=False)
    why = ""
    with_sites: LabKernel | None = None
    try:
        with_sites = counted.build(kernel, in_tree, Recipe(source, contained=True))
    except CannotMeasure as error:
        why = str(error)
    return replace(bare, counted=with_sites, why_not_counted=why)
