# SPDX-License-Identifier: GPL-2.0-only
"""A lab kernel: an unpacked Debian package or a built tree, never an installed one."""

import glob
import lzma
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ringside import builds, cache
from ringside.errors import EXIT_USAGE, CannotMeasure, UsageError, shortened

# struct boot_protocol: "HdrS" magic, and the offset of the version string.
_BOOT_MAGIC = (0x202, b"HdrS")
_VERSION_AT = 0x20E
# Sectors of the set-up code (0 means 4), and what follows in units of 16 bytes.
_SECTORS_AT, _SIZE_AT = 0x1F1, 0x1F4
_ECHOED = 160


@dataclass(frozen=True)
class LabKernel:
    """Where a kernel's image, modules and configuration are."""

    release: str
    image: Path
    modules: Path
    config: Path
    key: str
    # Of the archive, when it was asked for: its headers are there.
    suite: str = ""
    # Modules that are loaded in place of the package's, by name, underscores only.
    replaced: Mapping[str, Path] = field(default_factory=dict)
    # Ready for make -C, where the kernel came with them.
    headers: Path | None = None

    def config_hash(self) -> str:
        """SHA-256 of the configuration."""
        return cache.file_hash(self.config)

    def module_file(self, name: str) -> Path | None:
        """The file of a module (dashes and underscores alike), None if there is none."""
        plain = name.replace("-", "_")
        return self.replaced.get(plain) or _module_index(self.modules).get(plain)

    def module_closure(self, names: list[str]) -> list[Path]:
        """Files of the modules and of all that they need, in loading order.

        A name without a file is taken to be built in.
        """
        order: list[Path] = []
        for name in names:
            self._add(name, order, [])
        return order

    def _add(self, name: str, order: list[Path], above: list[Path]) -> None:
        path = self.module_file(name)
        if path is None or path in order or path in above:
            return
        for needed in module_depends(module_image(path)):
            self._add(needed, order, [*above, path])
        order.append(path)


_INDEXES: dict[Path, dict[str, Path]] = {}


def _module_index(folder: Path) -> dict[str, Path]:
    if folder not in _INDEXES:
        index = {}
        for path in sorted(folder.rglob("*.ko*")):
            name = re.sub(r"\.ko(\.xz|\.zst|\.gz)?$", "", path.name)
            index[name.replace("-", "_")] = path
        _INDEXES[folder] = index
    return _INDEXES[folder]


def module_image(path: Path) -> bytes:
    """The module as the kernel loads it, uncompressed."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        try:
            return lzma.decompress(data)
        except lzma.LZMAError as error:
            raise CannotMeasure(
                f"damaged kernel module {path.name}: {error}"
            ) from error
    if path.suffix in (".zst", ".gz"):
        tool = "zstd" if path.suffix == ".zst" else "gzip"
        try:
            result = subprocess.run(
                [tool, "-dc"], input=data, check=False, capture_output=True
            )
        except FileNotFoundError as error:
            raise CannotMeasure(
                f"{tool} is not installed: {path.name} needs it"
            ) from error
        if result.returncode:
            raise CannotMeasure(f"damaged kernel module {path.name}")
        return result.stdout
    return data


def module_depends(image: bytes) -> list[str]:
    """Names in the module's own "depends" line."""
    match = re.search(rb"(?:^|\0)depends=([^\0]*)\0", image)
    return [name for name in match[1].decode().split(",") if name] if match else []


def banner(image: Path) -> str:
    """The version in the image's header (Documentation/arch/x86/boot.rst)."""
    with image.open("rb") as file:
        head = file.read(0x10000)
    at, magic = _BOOT_MAGIC
    if head[at : at + 4] != magic:
        raise CannotMeasure(
            f"{image} is not an x86 kernel image, or not even its beginning is whole"
        )
    _check_whole(image, head)
    offset = int.from_bytes(head[_VERSION_AT : _VERSION_AT + 2], "little") + 0x200
    return head[offset : offset + 256].partition(b"\0")[0].decode("ascii", "replace")


def _release_of(image: Path) -> str:
    match = re.match(r"[0-9A-Za-z.+~_-]+(?= |$)", banner(image))
    if not match:
        raise CannotMeasure(f"{image} does not say its release")
    return match[0]


def _check_whole(image: Path, head: bytes) -> None:
    sectors = head[_SECTORS_AT] or 4
    paragraphs = int.from_bytes(head[_SIZE_AT : _SIZE_AT + 4], "little")
    whole = (sectors + 1) * 512 + paragraphs * 16
    there = image.stat().st_size
    if there < whole:
        raise CannotMeasure(
            f"{image} is cut: {there} of {whole} bytes are there; unpack or build it again"
        )


def _first(paths: list[Path]) -> Path | None:
    return next((path for path in paths if path.exists()), None)


def from_folder(folder: Path) -> LabKernel:
    """The kernel in an unpacked package, or in a tree in which it was built."""
    images = sorted(folder.glob("boot/vmlinuz-*")) or [
        path for path in [folder / "arch/x86/boot/bzImage"] if path.exists()
    ]
    if len(images) != 1:
        raise UsageError(
            f"{folder} holds {len(images)} kernel images: need one"
            " boot/vmlinuz-* or arch/x86/boot/bzImage"
        )
    release = _release_of(images[0])
    modules = _first(
        [folder / "lib/modules" / release, folder / "usr/lib/modules" / release]
    )
    if modules is None and images[0].name == "bzImage":
        modules = folder
    if modules is None:
        raise UsageError(f"{folder} has no modules of its kernel {release}")
    config = _first([folder / f"boot/config-{release}", folder / ".config"])
    if config is None:
        raise UsageError(f"{folder} has no configuration of its kernel {release}")
    key = cache.key_of(release, cache.file_hash(images[0]))
    return LabKernel(release, images[0], modules, config, key)


def _from_package_file(path: Path) -> LabKernel:
    """The kernel in a .deb file."""

    def make(folder: Path) -> None:
        result = subprocess.run(
            ["dpkg-deb", "-x", path, folder],
            check=False,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            lines = result.stderr.strip().splitlines() or ["no reason given"]
            raise CannotMeasure(f"damaged kernel package {path}: {lines[-1]}")

    return from_folder(cache.once("packages", cache.file_hash(path), make))


def find(name: str | None) -> LabKernel:
    """The kernel that --kernel names: a folder, a package, or the stock 6.12 for None."""
    if name is None:
        return from_folder(set_up(["kernel"], "no lab kernel"))
    if Path(name).is_dir() and name:
        return from_folder(Path(name).resolve())
    if name.endswith(".deb") and Path(name).is_file():
        return _from_package_file(Path(name).resolve())
    shown = shortened(name, _ECHOED)
    package, at, suite = name.partition("@")
    if "/" in name:
        raise UsageError(f"--kernel {shown}: no such folder or package")
    if not package or bool(at) != bool(suite):
        raise UsageError(
            f"--kernel '{shown}': needs a folder, PACKAGE or PACKAGE@SUITE"
        )
    words = [*(["--suite", suite] if suite else []), "kernel", package]
    return replace(from_folder(set_up(words, f"--kernel {shown}")), suite=suite)


def set_up(words: list[str], what: str) -> Path:
    """The folder that the set-up unpacked; it knows what is no package's name."""
    command = [str(builds.TREE / "tools/setup/run"), *words]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no reason given"]
        kind = UsageError if result.returncode == EXIT_USAGE else CannotMeasure
        raise kind(f"{what}: {lines[-1].removeprefix('ringside setup: ')}")
    return Path(result.stdout.strip())


def _is_built_tree(kernel: LabKernel) -> bool:
    return all((kernel.modules / name).exists() for name in ("Makefile", "scripts"))


def headers(kernel: LabKernel) -> Path:
    """The headers of that kernel, ready for make -C; a built tree is its own."""
    if kernel.headers:
        return kernel.headers
    if _is_built_tree(kernel):
        return kernel.modules
    suite = ["--suite", kernel.suite] if kernel.suite else []
    what = f"no headers of kernel {kernel.release}"
    try:
        return set_up([*suite, "headers", kernel.release], what)
    except UsageError as error:
        # Not the user's: a kernel was named, not its headers.
        raise CannotMeasure(str(error)) from error


def no_headers(kernel: LabKernel) -> str | None:
    """Why its headers cannot be had, as far as that is known without asking the archive."""
    why = None
    if _is_built_tree(kernel):
        return None
    if not kernel.release.endswith("-amd64"):
        why = "it is none of Debian's"
    elif os.environ.get("RINGSIDE_OFFLINE", "0") != "0":
        why = "offline, and they are not in the cache"
    pattern = f"headers/linux-headers-{glob.escape(kernel.release)}_*"
    if not why or any(cache.root().glob(pattern)):
        return None
    return f"no headers of kernel {kernel.release}: {why}"
