# SPDX-License-Identifier: GPL-2.0-only
"""Which QEMU there is, what it can do, and the machine that the lab asks it for."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from ringside import cache
from ringside.errors import CannotMeasure
from ringside.profiles import Profile

# q35 gives a port a line of its own by its slot: generator 16 + 6, port 16 + 7.
GENERATOR_SLOT = 2
PORT_SLOT = 3
GENERATOR_DEVICE = "e1000"
GENERATOR_DRIVER = "e1000"

# A plain model: newer ones make QEMU versions differ, and have random
# number instructions. Figures in docs are for this one.
CPU_MODEL = "qemu64"
MEMORY_MIB = 256
# The translation cache; QEMU's own default would be a quarter of the host's memory.
TRANSLATION_MIB = 128

# The generator where the usual one's driver is counted: its accesses would be too.
_OTHER_GENERATOR = "e1000e"

COMMAND_BYTES = 2048
# QEMU API version of a plugin by QEMU's major version: 7 and 8.0 know version 1.
_PLUGIN_API_4_SINCE = (9, 2)


@dataclass(frozen=True)
class Qemu:
    """A QEMU program and its version."""

    path: Path
    version: tuple[int, ...]
    version_text: str

    @property
    def plugin_api(self) -> int:
        """Version of the plugin interface, of the two that our plugin is built for."""
        return 4 if self.version >= _PLUGIN_API_4_SINCE else 1


def candidates() -> list[Path]:
    """Every QEMU that could be used: the set-up's and the system's, or the named one."""
    named = os.environ.get("RINGSIDE_QEMU")
    if named:
        return [Path(named)]
    private = sorted(cache.root().glob("qemu/*/qemu-system-x86_64"))
    system = shutil.which("qemu-system-x86_64")
    return [*private, *([Path(system)] if system else [])]


def _probe(path: Path) -> Qemu:
    try:
        result = subprocess.run(
            [str(path), "--version"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotMeasure(f"cannot run QEMU {path}: {error}") from error
    match = re.search(r"version (\d+(?:\.\d+)+).*", result.stdout)
    if not match:
        raise CannotMeasure(f"{path} does not say that it is QEMU")
    return Qemu(path, tuple(int(part) for part in match[1].split(".")), match[0][8:])


@functools.cache
def find() -> Qemu:
    """The newest QEMU of the set-up's and the system's; RINGSIDE_QEMU names another."""
    found = [_probe(path) for path in candidates()]
    if not found:
        raise CannotMeasure("qemu-system-x86_64 is not installed: run make setup")
    return max(found, key=lambda qemu: qemu.version)


@functools.cache
def has_device(qemu: Qemu, device: str) -> bool:
    """Whether this QEMU emulates the device."""
    result = subprocess.run(
        [qemu.path, "-device", f"{device},help"],
        check=False,
        capture_output=True,
        text=True,
    )
    return result.returncode == 0 and f"{device} options" in result.stdout


def unusable(qemu: Qemu, profile: Profile) -> str | None:
    """Why this QEMU cannot play the profile's NIC, None when it can."""
    if has_device(qemu, profile.device):
        return None
    return f"QEMU {qemu.version_text.split()[0]} has no device {profile.device}"


def _port_device(profile: Profile) -> str:
    properties = "".join(f",{key}={value}" for key, value in profile.properties.items())
    return (
        f"{profile.device},netdev=net1,addr={PORT_SLOT},romfile=,"
        f"mac=52:54:00:12:34:57{properties}"
    )


def generator(counted: Container[str]) -> str:
    """The generator's driver, which is its device's name too."""
    return _OTHER_GENERATOR if GENERATOR_DRIVER in counted else GENERATOR_DRIVER


def machine(
    profile: Profile, image: Path, initrd: Path, device: str = GENERATOR_DEVICE
) -> list[str]:
    """Arguments that decide the guest: the same ones for the snapshot and each run.

    device plays the generator.
    """
    kernel_arguments = (
        "console=ttyS0 nokaslr norandmaps no_hash_pointers tsc=reliable panic=-1"
        " loglevel=5"
    )
    return [
        *("-M", "q35", "-cpu", CPU_MODEL, "-m", str(MEMORY_MIB), "-smp", "1"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-accel", f"tcg,thread=single,tb-size={TRANSLATION_MIB}"),
        *("-icount", "shift=0,sleep=off", "-seed", "1"),
        *("-device", "pvpanic", "-action", "panic=pause"),
        *("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
        *("-kernel", str(image), "-initrd", str(initrd), "-append", kernel_arguments),
        *("-netdev", "hubport,hubid=0,id=net0", "-netdev", "hubport,hubid=0,id=net1"),
        "-device",
        f"{device},netdev=net0,addr={GENERATOR_SLOT},romfile=," "mac=52:54:00:12:34:56",
        *("-device", _port_device(profile)),
    ]


def channels(folder: Path, command: str) -> list[str]:
    """Arguments of one process: where its console, frames, monitor and command are."""
    data = command.encode()
    if len(data) >= COMMAND_BYTES:
        raise CannotMeasure("the command for the guest is too long")
    (folder / "command").write_bytes(data.ljust(COMMAND_BYTES, b"\0"))
    return [
        *("-chardev", f"file,id=console,path={folder}/console"),
        *("-serial", "chardev:console"),
        *("-chardev", f"file,id=frames,path={folder}/frames"),
        *("-device", "isa-debugcon,iobase=0xe9,chardev=frames"),
        *("-fw_cfg", f"name=opt/org.ringside/command,file={folder}/command"),
        *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
        *("-drive", f"if=none,id=state,format=qcow2,file={folder}/state.qcow2"),
    ]
