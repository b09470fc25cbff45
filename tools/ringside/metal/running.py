# SPDX-License-Identifier: GPL-2.0-only
"""The kernel that runs here, as a lab kernel: its modules, headers and source."""

import os
from pathlib import Path

from ringside import cache
from ringside.errors import CannotMeasure
from ringside.lab.kernel import LabKernel

_ROOT = Path("/")
_LOCKDOWN = Path("/sys/kernel/security/lockdown")
_ENFORCED = Path("/sys/module/module/parameters/sig_enforce")


def _there(path: Path, what: str, package: str) -> Path:
    if not path.exists():
        raise CannotMeasure(
            f"the running kernel's {what} is not there ({path}): install {package}"
        )
    return path


def refuses_modules() -> str | None:
    """Why this kernel would not load a module that is not signed; None when it would."""
    try:
        modes = _LOCKDOWN.read_text(encoding="ascii")
        if "[none]" not in modes:
            return (
                "the kernel is locked down (Secure Boot), so it loads no counted driver"
            )
    except OSError:
        pass  # a kernel without it
    try:
        if _ENFORCED.read_text(encoding="ascii").strip() == "Y":
            return "the kernel loads signed modules only (module.sig_enforce)"
    except OSError:
        pass
    return None


def find() -> LabKernel:
    """The running kernel; what is missing of it is told with the package that has it."""
    release = os.uname().release
    modules = _ROOT / "lib/modules" / release
    image = _ROOT / f"boot/vmlinuz-{release}"
    _there(modules, "modules", f"linux-image-{release}")
    _there(image, "image", f"linux-image-{release}")
    config = _there(
        _ROOT / f"boot/config-{release}", "configuration", f"linux-image-{release}"
    )
    headers = _there(modules / "build", "headers", f"linux-headers-{release}")
    key = cache.key_of(release, cache.file_hash(image))
    return LabKernel(release, image, modules, config, key, headers=headers.resolve())
