# SPDX-License-Identifier: GPL-2.0-only
"""The kernel source that matches a lab kernel: the user's tree, or Debian's package."""

import re
from dataclasses import dataclass
from pathlib import Path

from ringside.errors import CannotMeasure, UsageError, shortened
from ringside.lab import kernel as kernels
from ringside.lab.kernel import LabKernel

_FIELDS = re.compile(
    r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)$", re.M
)
_PACKAGED = re.compile(r"\bDebian (\d[0-9A-Za-z.+~-]*) \(")


@dataclass(frozen=True)
class Source:
    """A kernel tree, and how a message and a result name it."""

    tree: Path
    name: str

    def path_of(self, place: str, what: str) -> Path:
        """A file or folder of the tree; a user's tree without it is wrong use."""
        path = self.tree / place
        if not path.exists():
            raise UsageError(f"{self.name} has no {place}, the source of {what}")
        return path


def package_version(kernel: LabKernel) -> str | None:
    """The version of Debian's package that a kernel says it was built from."""
    match = _PACKAGED.search(kernels.banner(kernel.image))
    return match[1] if match else None


def tree_version(tree: Path) -> str | None:
    """The version in a tree's Makefile, such as 6.12.117; None when it is no kernel's."""
    try:
        text = (tree / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return version_in(text)


def version_in(text: str) -> str | None:
    """The version that the text of a kernel's Makefile gives."""
    found: dict[str, str] = dict(_FIELDS.findall(text[:4096]))
    if not found.get("VERSION") or not found.get("PATCHLEVEL"):
        return None
    numbers = [found["VERSION"], found["PATCHLEVEL"], found.get("SUBLEVEL") or "0"]
    return ".".join(numbers) + found.get("EXTRAVERSION", "")


def kernel_version(kernel: LabKernel) -> str:
    """The version whose source a kernel was built from, as a tree's Makefile has it.

    Debian's releases may name an ABI (6.1.0-51): its packages say more.
    """
    packaged = package_version(kernel)
    if packaged:
        return packaged.partition("-")[0].replace("~", "-")
    match = re.match(r"\d+\.\d+(\.\d+)?(-rc\d+)?", kernel.release)
    return match[0] if match else kernel.release


def _matches(tree: str, kernel: LabKernel) -> bool:
    """Whether a tree of that version is the kernel's; "6.12" is 6.12.0."""
    wanted = kernel_version(kernel)
    return tree in (wanted, re.sub(r"^(\d+\.\d+)(?=-|$)", r"\1.0", wanted))


def _users_tree(kernel: LabKernel, given: str) -> Source:
    tree = Path(given)
    name = f"--tree {shortened(given, 160)}"
    version = tree_version(tree)
    if version is None:
        raise UsageError(f"{name}: not a kernel tree (no Makefile with its version)")
    if not _matches(version, kernel):
        raise UsageError(
            f"{name} is Linux {version}, the lab kernel {kernel.release} is built from"
            f" {kernel_version(kernel)}: they must be the same"
        )
    return Source(tree.resolve(), name)


def find(kernel: LabKernel, given: str | None) -> Source:
    """The source of a kernel: a tree that is given, else the package it was built from."""
    if given is not None:
        return _users_tree(kernel, given)
    version = package_version(kernel)
    what = f"no source of kernel {kernel.release}"
    if version is None:
        raise CannotMeasure(
            f"{what}: it is none of Debian's, name its tree with --tree"
        )
    suite = ["--suite", kernel.suite] if kernel.suite else []
    try:
        tree = kernels.set_up([*suite, "source", version], what)
    except UsageError as error:
        # Not the user's: a kernel was named, not its source.
        raise CannotMeasure(str(error)) from error
    found = tree_version(tree)
    if found is None or not _matches(found, kernel):
        raise CannotMeasure(f"{what}: the package {version} holds {found}")
    return Source(tree, f"the source of Linux {version}")
