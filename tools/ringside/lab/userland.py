# SPDX-License-Identifier: GPL-2.0-only
"""A guest with the host's programs, for what needs more than a static program.

It sees the host's files over 9p; what it changes stays in its memory. It is booted
for one script. In real time it proves behaviour and measures nothing; with virtual
time an instruction takes a nanosecond, and its time-stamp counter counts them.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ringside import builds
from ringside.errors import CannotMeasure
from ringside.lab import cpio, image, qemu
from ringside.lab.guest import Guest
from ringside.lab.kernel import LabKernel, module_image
from ringside.profiles import Profile

# Where the guest's script finds its own folder, which is the host's too.
SHARED = "/run/ringside"
# What the guest itself needs; built in or as modules.
_MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay", qemu.GENERATOR_DRIVER)
_FOLDERS = ("bin", "dev", "etc", "modules", "proc", "sys")
_FIRST_SLOT = 2


@dataclass(frozen=True)
class Machine:
    """Kernel, ports under test (each on a wire with a generator), and size.

    The ports are port0, port1, ...; the generator at the other end of a port's
    wire is gen0, gen1, ...
    """

    kernel: LabKernel
    ports: Sequence[Profile]
    processors: int = 2
    memory_mib: int = 1024
    # More of the kernel's command line.
    arguments: str = ""
    virtual_time: bool = False


@dataclass(frozen=True)
class Job:
    """What a guest is booted for.

    script is run by the host's shell. last is run after it by busybox, from memory
    alone: a guest that was suspended has lost the host's files. It speaks through
    /dev/kmsg, and has programs (name and content) beside busybox's.
    """

    script: str
    last: str = ""
    programs: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What a script left: exit status, output and the guest's console."""

    status: int
    output: str
    console: list[str]


def _slots(machine: Machine) -> list[tuple[str, Profile | None, int]]:
    """Name, profile (None for a generator) and PCI slot of each port."""
    found: list[tuple[str, Profile | None, int]] = []
    for number, profile in enumerate(machine.ports):
        slot = _FIRST_SLOT + 2 * number
        found.append((f"gen{number}", None, slot))
        found.append((f"port{number}", profile, slot + 1))
    return found


def _pci(slot: int) -> str:
    return f"0000:00:{slot:02x}.0"


def _modules(machine: Machine) -> list[tuple[str, bytes]]:
    """Lines of /etc/modules, in loading order, and the modules' images."""
    kernel = machine.kernel
    lines: dict[str, bytes] = {}
    for profile in machine.ports:
        if profile.quirk:
            path = image.built_module(kernel, image.QUIRKS, profile.quirk.module)
            lines[f"{path.name} {profile.quirk.parameters}"] = path.read_bytes()
    for path in kernel.module_closure(list(_MODULES)):
        lines.setdefault(f"{path.name.split('.ko')[0]}.ko", module_image(path))
    for profile in machine.ports:
        given = "".join(f" {k}={v}" for k, v in profile.parameters.items())
        for path in image.module_files(kernel, profile):
            name = path.name.split(".ko")[0]
            own = name.replace("-", "_") == profile.driver.replace("-", "_")
            line = f"{name}.ko{given if own else ''}"
            lines.setdefault(line, module_image(path))
    return list(lines.items())


def _archive(machine: Machine, job: Job) -> bytes:
    """The initramfs."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise CannotMeasure("busybox is not installed: run make setup")
    slots = _slots(machine)
    overrides = [
        f"{_pci(slot)} {profile.driver}\n"
        for _, profile, slot in slots
        if profile and profile.out_of_tree
    ]
    names = [f"{_pci(slot)} {name}\n" for name, _, slot in slots]
    modules = _modules(machine)
    init = builds.TREE / "tools/qemu/guest/init-userland"
    return cpio.archive(
        [
            *[cpio.directory(name) for name in _FOLDERS],
            cpio.program("init", init.read_bytes()),
            cpio.program("bin/busybox", Path(busybox).read_bytes()),
            *[cpio.program(f"bin/{n}", data) for n, data in job.programs.items()],
            cpio.Entry("etc/last", job.last.encode()),
            cpio.Entry("etc/modules", "".join(f"{m[0]}\n" for m in modules).encode()),
            cpio.Entry("etc/overrides", "".join(overrides).encode()),
            cpio.Entry("etc/ports", "".join(names).encode()),
            *[cpio.Entry(f"modules/{ln.split()[0]}", data) for ln, data in modules],
        ]
    )


def _wire(name: str, profile: Profile | None, slot: int) -> list[str]:
    """A port's device and its end of the wire; wires are numbered as the ports are."""
    number = int(name.lstrip("genport"))
    properties = {"mac": f"52:54:00:12:{slot:02x}:01"}
    device = qemu.GENERATOR_DEVICE
    if profile:
        device = profile.device
        properties |= profile.properties
    words = "".join(f",{key}={value}" for key, value in properties.items())
    return [
        *("-netdev", f"hubport,hubid={number},id={name}"),
        *("-device", f"{device},netdev={name},addr={slot:#x},romfile={words}"),
    ]


def _command(machine: Machine, folder: Path) -> list[str]:
    arguments = (
        "console=ttyS0 tsc=reliable no_hash_pointers panic=-1 net.ifnames=0"
        f" loglevel=5 {machine.arguments}"
    )
    share = "security_model=none,multidevs=remap"
    clock = ["-accel", "tcg,thread=multi"]
    if machine.virtual_time:
        clock = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
    return [
        str(qemu.find().path),
        *("-M", "q35", "-cpu", qemu.CPU_MODEL, "-m", str(machine.memory_mib)),
        *("-smp", str(machine.processors), *clock),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", str(machine.kernel.image), "-initrd", f"{folder}/initrd"),
        *("-append", arguments.strip()),
        *("-chardev", f"file,id=console,path={folder}/console"),
        *("-serial", "chardev:console"),
        *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
        *[word for port in _slots(machine) for word in _wire(*port)],
        *("-fsdev", f"local,id=host,path=/,readonly=on,{share}"),
        *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host,addr=0x1c"),
        *("-fsdev", f"local,id=ringside,path={folder}/shared,{share}"),
        *("-device", "virtio-9p-pci,fsdev=ringside,mount_tag=ringside,addr=0x1d"),
    ]


def run(machine: Machine, job: Job, folder: Path, limit_s: float) -> Result:
    """Boots the machine for the job; raises when it does not come to its end.

    @folder is empty and the caller's; its subfolder "shared" is SHARED in the guest.
    """
    shared = folder / "shared"
    shared.mkdir()
    (shared / "script").write_text(job.script, encoding="utf-8")
    (folder / "initrd").write_bytes(_archive(machine, job))
    with Guest(folder, _command(machine, folder)) as guest:
        guest.wait_end(limit_s)
        console = guest.console()
    status = shared / "status"
    if not status.exists() or not status.read_text(encoding="ascii").strip():
        why = [line for line in console if line.startswith("ringside: ")]
        said = why[-1].removeprefix("ringside: ") if why else "it ended early"
        raise CannotMeasure(f"the guest did not run the script: {said}")
    return Result(
        int(status.read_text(encoding="ascii")),
        (shared / "output").read_text(encoding="utf-8", errors="replace"),
        console,
    )
