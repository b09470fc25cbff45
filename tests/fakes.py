# SPDX-License-Identifier: GPL-2.0-only
"""Stand-ins that several tests use: an unpacked kernel, a QEMU that is a script, mounts."""

import os
import subprocess
from pathlib import Path

import pytest

RELEASE = "6.12.0-fake"
CONFIG = "CONFIG_KASAN=y\nCONFIG_MODULES=y\n# CONFIG_UBSAN is not set\n"


def boot_image(version: bytes) -> bytes:
    """The parts of a bzImage that name its release (x86 boot protocol)."""
    image = bytearray(0x1000)
    image[0x202:0x206] = b"HdrS"
    image[0x20E:0x210] = (0x800 - 0x200).to_bytes(2, "little")
    image[0x800 : 0x800 + len(version)] = version
    return bytes(image)


def module(depends: str = "") -> bytes:
    """What the lab reads of a module: its modinfo strings."""
    return f"\x7fELF\0license=GPL\0depends={depends}\0retpoline=Y\0".encode()


def kernel_folder(folder: Path, modules: dict[str, str]) -> Path:
    """An unpacked kernel package; modules maps a name to its depends line."""
    drivers = folder / f"lib/modules/{RELEASE}/kernel/drivers"
    drivers.mkdir(parents=True)
    for name, depends in modules.items():
        (drivers / f"{name}.ko").write_bytes(module(depends))
    boot = folder / "boot"
    boot.mkdir()
    (boot / f"vmlinuz-{RELEASE}").write_bytes(boot_image(f"{RELEASE} (x@y)\0".encode()))
    (boot / f"config-{RELEASE}").write_text(CONFIG, encoding="ascii")
    return folder


def script(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def qemu(
    path: Path, devices: str, run: str = "exit 1", version: str = "10.0.2"
) -> Path:
    """A QEMU that has these devices (space-separated) and runs a guest by a script."""
    return script(
        path,
        f"""case $* in
--version) echo "QEMU emulator version {version} (fake)"; exit ;;
*,help) for d in {devices}; do
    [ "$2" = "$d,help" ] && {{ echo "$d options:"; exit; }}
    done; echo "no such device" >&2; exit 1 ;;
esac
{run}""",
    )


def needs_mounts() -> None:
    """Skips a test where this user may not mount; what the test itself says is not asked."""
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("needs to be allowed to mount (root)")


def git(tree: Path, *words: str) -> str:
    """Output of git in a tree, as somebody whom every machine has."""
    who = {
        f"GIT_{role}_{what}": "x@y"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(tree), *words],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | who,
    )
    return done.stdout
