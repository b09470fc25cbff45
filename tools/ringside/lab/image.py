# SPDX-License-Identifier: GPL-2.0-only
"""The guest's initramfs: busybox, our static programs, and the modules of one profile."""

import shutil
from pathlib import Path

from ringside import builds, cache
from ringside.errors import CannotMeasure
from ringside.lab import cpio, qemu
from ringside.lab.kernel import LabKernel, headers, module_depends, module_image
from ringside.profiles import Profile

_FOLDERS = ("bin", "dev", "etc", "etc/private-flags", "modules", "proc", "sys")
# Modules that make a device what it is not in QEMU.
QUIRKS = "drivers/quirks"
_PORT = f"0000:00:{qemu.PORT_SLOT:02x}.0"


def _busybox() -> bytes:
    path = shutil.which("busybox")
    if not path:
        raise CannotMeasure("busybox is not installed: run make setup")
    return Path(path).read_bytes()


# What kbuild and its users leave beside a source.
_OUTPUT = shutil.ignore_patterns("*.ko", "*.o", "*.mod*", ".*", "Module.symvers")
# Without debug information a module does not depend on the folder it was built in.
_KBUILD = ("CONFIG_RINGSIDE=m", "CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES=")


def built_module(kernel: LabKernel, source: str, name: str) -> Path:
    """The module of that name in a folder of this tree, built for that kernel."""
    folder = builds.TREE / source
    if not folder.is_dir():
        raise CannotMeasure(f"no folder {source} in this tree")
    parts = [source, builds.compiler_version(), *_KBUILD]
    names = [path.name for path in folder.iterdir() if path.is_file()]
    for file_name in sorted(set(names) - _OUTPUT(str(folder), names)):
        parts += [file_name, cache.file_hash(folder / file_name)]

    def make(scratch: Path) -> None:
        shutil.copytree(folder, scratch, dirs_exist_ok=True, ignore=_OUTPUT)
        make_there = ["make", "-s", "-C", str(headers(kernel)), f"M={scratch}"]
        builds.run_compiler([*make_there, *_KBUILD, "modules"])

    made = cache.once("modules", cache.key_of(kernel.key, *parts), make)
    return made / f"{name}.ko"


def _module_list(kernel: LabKernel, profile: Profile) -> list[tuple[str, bytes]]:
    """Lines of /etc/modules and the images behind them, in loading order."""
    modules = []
    if profile.quirk:
        path = built_module(kernel, QUIRKS, profile.quirk.module)
        modules.append((f"{path.name} {profile.quirk.parameters}", path.read_bytes()))
    files = kernel.module_closure([qemu.generator(kernel.replaced)])
    files += [path for path in module_files(kernel, profile) if path not in files]
    for path in files:
        name = path.name.split(".ko")[0]
        line = f"{name}.ko"
        if name.replace("-", "_") == profile.driver.replace("-", "_"):
            line += "".join(f" {k}={v}" for k, v in profile.parameters.items())
        modules.append((line.strip(), module_image(path)))
    return modules


def driver_file(kernel: LabKernel, profile: Profile) -> Path:
    """The module under test; a kernel without it cannot be measured."""
    path = kernel.module_file(profile.driver)
    if path is None and profile.out_of_tree:
        return built_module(kernel, profile.source, profile.driver)
    if path is None:
        raise CannotMeasure(f"kernel {kernel.release} has no module {profile.driver}")
    return path


def driver_hash(kernel: LabKernel, profile: Profile) -> str | None:
    """SHA-256 of the module under test; None when there is none."""
    try:
        return cache.file_hash(driver_file(kernel, profile))
    except CannotMeasure:
        return None


def loaded_file(kernel: LabKernel, profile: Profile, module: str) -> Path | None:
    """The file of a module that the guest has loaded; None for one built in."""
    if profile.out_of_tree and module == profile.driver:
        return driver_file(kernel, profile)
    return kernel.module_file(module)


def module_files(kernel: LabKernel, profile: Profile) -> list[Path]:
    """The module under test after all that it needs, in loading order."""
    path = driver_file(kernel, profile)
    needed = [*profile.dependencies, *module_depends(module_image(path))]
    return [*kernel.module_closure(needed), path]


def _settings(profile: Profile) -> list[cpio.Entry]:
    """What /init and the agent do to the port before it comes up."""
    entries = []
    if profile.out_of_tree:
        override = f"{_PORT} {profile.driver}\n"
        entries.append(cpio.Entry("etc/override", override.encode()))
    if profile.private_flags:
        lines = [
            f"{name} {'on' if on else 'off'}\n"
            for name, on in profile.private_flags.items()
        ]
        entries.append(cpio.Entry("etc/private-flags/port0", "".join(lines).encode()))
    return entries


def build(kernel: LabKernel, profile: Profile) -> bytes:
    """The archive."""
    modules = _module_list(kernel, profile)
    slots = f"0000:00:{qemu.GENERATOR_SLOT:02x}.0 {_PORT}"
    init = builds.TREE / "tools/qemu/guest/init"
    entries = [
        *[cpio.directory(name) for name in _FOLDERS],
        cpio.program("init", init.read_bytes()),
        cpio.program("bin/busybox", _busybox()),
        cpio.program("bin/agent", builds.agent().read_bytes()),
        cpio.program("bin/sender", builds.sender().read_bytes()),
        cpio.Entry("etc/modules", "".join(f"{m[0]}\n" for m in modules).encode()),
        cpio.Entry("etc/agent", f"{slots}\n".encode()),
        *_settings(profile),
        *[cpio.Entry(f"modules/{line.split()[0]}", data) for line, data in modules],
    ]
    return cpio.archive(entries)
