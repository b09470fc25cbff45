# SPDX-License-Identifier: GPL-2.0-only
"""Counted drivers: built by drivers/iotally/build from an unmodified source."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ringside import builds, cache
from ringside.errors import CannotMeasure
from ringside.lab.kernel import LabKernel, headers
from ringside.lab.source import Source
from ringside.profiles import Profile

COUNTER = "iotally"
_FOLDER = builds.TREE / "drivers/iotally"
_BUILT = (".ko", ".o", ".cmd", ".mod", ".mod.c")
_NO_SITE = "no site in "


@dataclass(frozen=True)
class Recipe:
    """What is built: a source, and options that differ from the kernel's configuration.

    A source that is not trusted is contained: its makefiles can write nowhere else.
    """

    source: Source
    options: Mapping[str, bool] = field(default_factory=dict)
    contained: bool = False

    def option_lines(self) -> str:
        """The options as a header that comes after the kernel's configuration."""
        lines = []
        for name, on in sorted(self.options.items()):
            lines.append(f"#undef CONFIG_{name}\n")
            if on:
                lines.append(f"#define CONFIG_{name} 1\n")
        return "".join(lines)


def _files(place: Path) -> Iterator[Path]:
    """What decides a build: the folder of a file without its subfolders, or a whole one."""
    found = place.parent.glob("*") if place.is_file() else place.rglob("*")
    for path in sorted(found):
        if path.is_file() and not path.name.endswith(_BUILT):
            yield path


def contained(words: list[str], folder: Path, *sources: Path) -> list[str]:
    """A command that sees this machine read-only and may write into one folder.

    Of what others keep for the moment (/tmp) it sees the sources alone.
    """
    if not shutil.which("bwrap"):
        raise CannotMeasure("bwrap is not installed: run make setup")
    return [
        *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--tmpfs", "/tmp", "--ro-bind-try", str(builds.TREE), str(builds.TREE)),
        *("--ro-bind", str(cache.root()), str(cache.root())),
        *[word for path in sources for word in ("--ro-bind", str(path), str(path))],
        *("--bind", str(folder), str(folder)),
        *("--unshare-all", "--die-with-parent", "--new-session", "--", *words),
    ]


def content(place: Path) -> str:
    """A key of everything in the source that decides a build."""
    return cache.key_of(
        *(f"{path.name} {cache.file_hash(path)}" for path in _files(place))
    )


def _run(words: list[str], what: str) -> None:
    """Runs the build; the first complaint of a compiler says more than the script."""
    result = subprocess.run(words, check=False, capture_output=True, text=True)
    if not result.returncode:
        return
    lines = result.stderr.strip().splitlines() or ["no message"]
    why = lines[-1].removeprefix("iotally: ")
    errors = [line.strip() for line in lines if "error:" in line]
    if errors:
        why += f": {errors[0]}"
    raise CannotMeasure(f"cannot build {what} counted: {why}")


def _counter(kernel: LabKernel) -> Path:
    """The folder with iotally.ko and what drivers are built with."""
    key = cache.key_of(kernel.key, builds.compiler_version(), content(_FOLDER))

    def make(scratch: Path) -> None:
        words = [str(_FOLDER / "build"), str(headers(kernel)), str(scratch)]
        _run(words, COUNTER)

    return cache.once("modules", key, make)


def module(kernel: LabKernel, name: str, place: Path, recipe: Recipe) -> Path:
    """The counted module of that name, from a C file or a folder."""
    base = _counter(kernel)
    options = recipe.option_lines()
    key = cache.key_of(str(base), name, place.name, content(place), options)

    def make(scratch: Path) -> None:
        shutil.copytree(base, scratch, dirs_exist_ok=True)
        option_file = scratch / "options.h"
        option_file.write_text(options, encoding="ascii")
        words = [str(_FOLDER / "build"), str(headers(kernel)), str(scratch)]
        words += [str(place), name, "CONFIG_RINGSIDE=m"]
        words.append(f"KCFLAGS=-include {option_file}")
        if recipe.contained:
            words = contained(words, scratch, headers(kernel), recipe.source.tree)
        _run(words, name)
        shutil.rmtree(scratch / "driver", ignore_errors=True)

    return cache.once("modules", key, make) / f"{name}.ko"


def _places(
    kernel: LabKernel, profile: Profile, source: Source
) -> Iterator[tuple[str, Path]]:
    """Modules that are counted, and their sources; helpers first."""
    for helper in profile.counted:
        # What is built into the kernel cannot be replaced.
        if kernel.module_file(helper.module):
            yield helper.module, source.path_of(helper.source, helper.module)
    if profile.out_of_tree:
        yield profile.driver, builds.TREE / profile.source
    else:
        yield profile.driver, source.path_of(profile.source, profile.driver)


def built_in_helpers(kernel: LabKernel, profile: Profile) -> list[str]:
    """Modules that would be counted too, were they not built into the kernel."""
    return [h.module for h in profile.counted if not kernel.module_file(h.module)]


def build(kernel: LabKernel, profile: Profile, recipe: Recipe) -> LabKernel:
    """The kernel with the driver and its helpers replaced by counted ones.

    Any of them may have no site, but not all.
    """
    replaced: dict[str, Path] = {}
    without: CannotMeasure | None = None
    for name, place in _places(kernel, profile, recipe.source):
        try:
            replaced[name.replace("-", "_")] = module(kernel, name, place, recipe)
        except CannotMeasure as error:
            if _NO_SITE not in str(error):
                raise
            without = error
    if not replaced:
        absent = built_in_helpers(kernel, profile)
        also = f" ({', '.join(absent)}: built into this kernel)" if absent else ""
        raise CannotMeasure(f"{without}{also}") from without
    replaced[COUNTER] = _counter(kernel) / f"{COUNTER}.ko"
    return replace(kernel, replaced=replaced)
