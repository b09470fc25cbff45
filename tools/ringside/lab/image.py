# SPDX-License-Identifier: GPL-2.0-only
"""The guest's initramfs: busybox, our static programs, and the modules of one profile."""

import shutil
from pathlib import Path

from ringside import builds, cache
from ringside.errors import CannotMeasure
from ringside.lab import cpio, qemu
from ringside.lab.kernel import LabKernel, headers, module_image
from ringside.profiles import Profile

_FOLDERS = ("bin", "dev", "etc", "modules", "proc", "sys")


def _busybox() -> bytes:
    path = shutil.which("busybox")
    if not path:
        raise CannotMeasure("busybox is not installed: run make setup")
    return Path(path).read_bytes()


def quirk_module(kernel: LabKernel, name: str) -> Path:
    """One of drivers/quirks, built for that kernel."""
    source = builds.TREE / "drivers/quirks"
    parts = [
        cache.file_hash(path) for path in sorted(source.iterdir()) if path.is_file()
    ]

    def make(folder: Path) -> None:
        shutil.copytree(source, folder, dirs_exist_ok=True)
        tree = headers(kernel)
        builds.run_compiler(["make", "-s", "-C", tree, f"M={folder}", "modules"])

    folder = cache.once("quirks", cache.key_of(kernel.key, *parts), make)
    return folder / f"{name}.ko"


def _module_list(kernel: LabKernel, profile: Profile) -> list[tuple[str, bytes]]:
    """Lines of /etc/modules and the images behind them, in loading order."""
    modules = []
    if profile.quirk:
        path = quirk_module(kernel, profile.quirk.module)
        modules.append((f"{path.name} {profile.quirk.parameters}", path.read_bytes()))
    names = [qemu.GENERATOR_DRIVER, *profile.dependencies, profile.driver]
    for path in kernel.module_closure(names):
        name = path.name.split(".ko")[0]
        line = f"{name}.ko"
        if name.replace("-", "_") == profile.driver.replace("-", "_"):
            line += "".join(f" {k}={v}" for k, v in profile.parameters.items())
        modules.append((line.strip(), module_image(path)))
    return modules


def driver_file(kernel: LabKernel, profile: Profile) -> Path:
    """The module under test; a kernel without it cannot be measured."""
    path = kernel.module_file(profile.driver)
    if path is None:
        raise CannotMeasure(
            f"kernel {kernel.release} has no module {profile.driver} for {profile.name}"
        )
    return path


def build(kernel: LabKernel, profile: Profile) -> bytes:
    """The archive."""
    driver_file(kernel, profile)
    modules = _module_list(kernel, profile)
    slots = f"0000:00:{qemu.GENERATOR_SLOT:02x}.0 0000:00:{qemu.PORT_SLOT:02x}.0"
    init = builds.TREE / "tools/qemu/guest/init"
    entries = [
        *[cpio.directory(name) for name in _FOLDERS],
        cpio.program("init", init.read_bytes()),
        cpio.program("bin/busybox", _busybox()),
        cpio.program("bin/agent", builds.agent().read_bytes()),
        cpio.program("bin/sender", builds.sender().read_bytes()),
        cpio.Entry("etc/modules", "".join(f"{m[0]}\n" for m in modules).encode()),
        cpio.Entry("etc/agent", f"{slots}\n".encode()),
        *[cpio.Entry(f"modules/{line.split()[0]}", data) for line, data in modules],
    ]
    return cpio.archive(entries)
