# SPDX-License-Identifier: GPL-2.0-only
"""./ringside kunit --module: the suites as a module of the lab's debug kernel.

UML has one processor and none of the kernel's checkers; here the same objects run
under KASAN, lockdep and DEBUG_ATOMIC_SLEEP. Read by the kernel's own kunit.py.
"""

import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from ringside import builds, cache, kunit
from ringside.errors import EXIT_GOOD, EXIT_NOT_GOOD, CannotMeasure, UsageError
from ringside.lab import debug_kernel, kernel, splats, tree, userland
from ringside.lab.kernel import LabKernel

_MODULE = "ringside-kunit.ko"
# Booting included; the suites themselves take half a minute under all the checkers.
_LIMIT_S = 900.0
_FOLDERS = ("drivers/ringside", "kunit")
_KBUILD = ("CONFIG_RINGSIDE_KUNIT_TEST=m",)
_OUTPUT = shutil.ignore_patterns("*.ko", "*.o", "*.mod*", ".*", "Module.symvers")
_TIME = r"^\[[ 0-9.]+\] "
_LOG = f"{userland.SHARED}/log"


def built_suites(lab_kernel: LabKernel) -> Path:
    """The suites' module, built for that kernel."""
    parts = [builds.compiler_version(), *_KBUILD]
    for folder in _FOLDERS:
        for path in sorted((builds.TREE / folder).glob("*")):
            if path.suffix in (".c", ".h") or path.name in ("Makefile", "Kbuild"):
                parts += [f"{folder}/{path.name}", cache.file_hash(path)]

    def make(scratch: Path) -> None:
        for folder in _FOLDERS:
            shutil.copytree(
                builds.TREE / folder, scratch / folder, ignore=_OUTPUT, symlinks=True
            )
        there = ["make", "-s", "-C", str(kernel.headers(lab_kernel))]
        builds.run_compiler([*there, f"M={scratch}/kunit", *_KBUILD, "modules"])

    key = cache.key_of(lab_kernel.key, *parts)
    return cache.once("modules", key, make) / "kunit" / _MODULE


def script(lab_kernel: LabKernel, module: Path, suites: Sequence[str]) -> str:
    """What the guest runs: KUnit, then the suites, one load each when some are named."""
    core = lab_kernel.module_file("kunit")
    if core is None:
        raise CannotMeasure(f"kernel {lab_kernel.release} has no module kunit")
    # What the kernel says when it boots is not the suites'.
    lines = ["set -e", "dmesg --clear"]
    for suite in suites or [""]:
        chosen = f" filter_glob={suite}" if suite else ""
        lines += [f"insmod {core} enable=1{chosen}", f"insmod {module}"]
        lines += ["rmmod ringside_kunit", "rmmod kunit"]
    lines.append(f"dmesg > {_LOG}")
    return "\n".join(lines) + "\n"


def parse(log: Path) -> bool:
    """Whether the kernel's kunit.py finds all suites there and none failed."""
    program = tree.find(None) / "tools/testing/kunit/kunit.py"
    sys.stdout.flush()
    command = [sys.executable, str(program), "parse", str(log)]
    return subprocess.run(command, check=False).returncode == 0


def run(options: Namespace) -> int:
    """Builds and runs the suites: options suite, and none of arch, tree and mutants."""
    suites = kunit.parse_suites(options.suite)
    for name, usual in (("arch", "um"), ("tree", None), ("mutants", None)):
        if getattr(options, name) not in (None, usual):
            raise UsageError(
                f"--{name} does not go with --module, which takes the lab's kernel"
            )
    lab_kernel = debug_kernel.find()
    machine = userland.Machine(
        lab_kernel, [], memory_mib=2048, arguments="log_buf_len=8M"
    )
    with cache.scratch_folder() as folder:
        job = userland.Job(script(lab_kernel, built_suites(lab_kernel), suites))
        result = userland.run(machine, job, folder, _LIMIT_S)
        log = folder / "shared" / Path(_LOG).name
        if result.status or not log.exists():
            said = (result.output.strip().splitlines() or ["it said nothing"])[-1]
            raise CannotMeasure(f"the suites did not run: {said}")
        good = parse(log)
        text = log.read_text(encoding="utf-8", errors="replace")
    trouble = splats.find([*result.console, *text.splitlines()])
    for line in dict.fromkeys(trouble):
        print(f"ringside: kernel log: {re.sub(_TIME, '', line)}")
    return EXIT_GOOD if good and not trouble else EXIT_NOT_GOOD
