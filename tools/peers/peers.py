# SPDX-License-Identifier: GPL-2.0-only
"""Runs the kernel's own selftests, drivers/net, against the reference driver in a guest.

Writes each case's outcome and reason into docs/kernel-selftests.md: `make peers`.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ringside import builds, cache, profiles
from ringside.errors import EXIT_CANNOT_MEASURE, EXIT_GOOD, EXIT_NOT_GOOD, CannotMeasure
from ringside.lab import kernel, userland
from ringside.lab.kernel import LabKernel
from ringside.profiles import Profile
from ringside.report import pages

_PAGE = builds.TREE / "docs/kernel-selftests.md"
_GUEST = Path(__file__).with_name("guest.sh")
_TESTS = Path("tools/testing/selftests")
_LIMIT_S = 3600.0
# The tests choose between processors for a line.
_PROCESSORS = 4
# One with a line interrupt and one with messages: the others differ in their chip
# file only.
_NICS = "ringside-8139cp,ringside-82574"


@dataclass(frozen=True)
class Release:
    """A release of the selftests: its suite in the archive and what is run of it."""

    series: str
    suite: str
    programs: tuple[str, ...]


RELEASES = (
    Release(
        "6.12",
        "",
        (
            *("ping.py", "stats.py", "queues.py"),
            *("hw/csum.py", "hw/rss_ctx.py"),
        ),
    ),
    Release(
        "7.3",
        "trixie-backports",
        (
            *("ping.py", "stats.py", "queues.py", "ring_reconfig.py", "xdp.py"),
            *("napi_id.py", "napi_threaded.py", "hds.py", "shaper.py"),
            *("netpoll_basic.py", "hw/irq.py", "hw/csum.py"),
            *("hw/rss_ctx.py", "hw/tso.py", "hw/nic_timestamp.py", "hw/ntuple.py"),
        ),
    ),
)
# Helpers that the programs call; the kernel's own make needs its whole tree.
_C_HELPERS = (
    *("net/lib/csum.c", "net/lib/xdp_helper.c", "net/lib/gro.c"),
    "drivers/net/napi_id_helper.c",
)
_BPF_HELPERS = (
    "net/xdp_dummy.bpf.c",
    "net/lib/xdp_dummy.bpf.c",
    "net/lib/xdp_native.bpf.c",
)

# What a failure of this machine, or of the test itself, looks like; the reason is
# ours. What fits none of these is a failure of the driver.
_NOT_THE_DRIVER = {
    r"no attribute 'remote_ifname'": "6.12's csum.py wants a name that its netns peer lacks",
    r"ethtool: bad command line": "the distribution's ethtool (6.1) has no JSON for this",
    r"mtu greater than device maximum": "wants an MTU of 9000; the chip takes less",
    r"obj \S+/xdp_native\.bpf\.o": "the driver has no native XDP",
    r"q\.get\('xsk'": "6.12's netlink does not tell of AF_XDP sockets",
    r"Family 'net-shaper' not supported": "6.12 has no shaper",
    r"traffic did not ramp up": "wants more traffic than an emulated guest carries",
    r"napis?\[1\]|Check failed 1 (<|>=|!=) 2": "needs two queues, the driver has one",
}


@dataclass(frozen=True)
class Case:
    """One case: pass, skip, xfail or fail, and why."""

    program: str
    name: str
    outcome: str
    why: str


def _without_folders(text: str) -> str:
    """A reason without the folders of this machine: a program's name will do."""
    return re.sub(r"(?<![\w.])(?:/[\w.+~-]+)+/(?=\w)", "", text)


def _why_failed(said: Sequence[str]) -> str:
    text = "\n".join(said)
    for pattern, reason in _NOT_THE_DRIVER.items():
        if re.search(pattern, text):
            return reason
    return ""


def _case(program: str, match: re.Match[str], said: Sequence[str]) -> Case:
    bad, name, directive, reason = match.groups()
    if bad:
        why = _why_failed(said)
        plain = [line.partition("| ")[2] for line in said if "| " in line]
        last = next(
            (line for line in reversed(plain) if line.strip()), "no reason given"
        )
        return Case(program, name, "skip" if why else "fail", why or last.strip())
    return Case(program, name, (directive or "pass").lower(), (reason or "").strip())


def _silent(program: str, status: str, said: Sequence[str]) -> Case:
    """A program that came to no case."""
    text = "\n".join(said)
    skip = re.search(r"KsftSkipEx: (.*)", text)
    why = skip[1] if skip else _why_failed(said)
    last = (said or ["no output"])[-1].strip()
    outcome = "skip" if why else "fail"
    return Case(program, "all", outcome, why or f"status {status}: {last}")


def read_results(text: str) -> list[Case]:
    """Cases of all programs, of TAP 13 or KTAP; a program without any is one that failed."""
    cases: list[Case] = []
    program, said, seen = "", [""], 0
    for line in text.splitlines():
        if begun := re.fullmatch(r"== (\S+\.(?:py|sh))", line):
            program, said, seen = begun[1], [], len(cases)
        elif ended := re.fullmatch(r"== status (\d+)", line):
            if len(cases) == seen:
                cases.append(_silent(program, ended[1], said))
        elif match := re.fullmatch(
            r"(not )?ok \d+ ([^#]*?)(?: # (SKIP|XFAIL)(.*))?", line
        ):
            cases.append(_case(program, match, said))
            said = []
        else:
            said.append(line)
    return cases


def _helpers(tests: Path) -> None:
    """Compiles what is missing; a test says so when its helper is not there."""
    for name in _C_HELPERS:
        source = tests / name
        program = source.with_suffix("")
        if source.exists() and not program.exists():
            flags = ["-O2", "-w", "-D_GNU_SOURCE", f"-I{tests}", f"-I{tests}/net/lib"]
            subprocess.run(["gcc", *flags, source, "-o", program], check=False)
    for name in _BPF_HELPERS:
        source = tests / name
        program = source.with_suffix(".o")
        if source.exists() and not program.exists():
            flags = ["-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu"]
            subprocess.run(["clang", *flags, "-c", source, "-o", program], check=False)


def run(lab_kernel: LabKernel, release: Release, profile: Profile) -> list[Case]:
    """All programs of a release against one port."""
    suite = ["--suite", release.suite] if release.suite else []
    tree = kernel.set_up([*suite, "selftests", release.series], release.series)
    _helpers(tree / _TESTS)
    settings = (
        f"folder={tree / _TESTS / 'drivers/net'}\n"
        f"programs='{' '.join(release.programs)}'\n"
        f"results={userland.SHARED}/results\n"
    )
    job = userland.Job(settings + _GUEST.read_text(encoding="utf-8"))
    machine = userland.Machine(lab_kernel, [profile], processors=_PROCESSORS)
    with cache.scratch_folder() as folder:
        userland.run(machine, job, folder, _LIMIT_S)
        results = folder / "shared/results"
        return read_results(results.read_text(encoding="utf-8", errors="replace"))


def table(nics: Sequence[str], columns: Sequence[Sequence[Case]]) -> str:
    """Each case's outcome by chip, with the reason of the first that has one."""
    lines = [f"| program | case | {' | '.join(nics)} | why |"]
    lines.append("|---|---|" + "---|" * (len(nics) + 1))
    found: dict[tuple[str, str], list[Case | None]] = {}
    for number, cases in enumerate(columns):
        for case in cases:
            row = found.setdefault((case.program, case.name), [None] * len(columns))
            row[number] = case
    for (program, name), row in found.items():
        cells = [case.outcome if case else "" for case in row]
        why = next((case.why for case in row if case and case.why), "")
        why = _without_folders(why).replace("|", "\\|")[:160]
        lines.append(f"| {program} | {name} | {' | '.join(cells)} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Exit status 0, 1 when a case failed, 3 when nothing could be run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nic", help="profiles, commas between; shows, writes nothing")
    parser.add_argument("--series", choices=[release.series for release in RELEASES])
    options = parser.parse_args()
    failed = False
    try:
        nics = profiles.choose(options.nic or _NICS)
        lab_kernel = kernel.find(None)
        for release in RELEASES:
            if options.series not in (None, release.series):
                continue
            with ThreadPoolExecutor(len(nics)) as pool:
                columns = list(pool.map(partial(run, lab_kernel, release), nics))
            text = table([nic.name for nic in nics], columns)
            failed |= any(case.outcome == "fail" for cases in columns for case in cases)
            if options.nic:
                print(text, end="")
            else:
                pages.write(_PAGE, f"selftests {release.series}", text)
                print(f"wrote {release.series} into {_PAGE.relative_to(builds.TREE)}")
    except CannotMeasure as error:
        print(f"ringside: {error}", file=sys.stderr)
        return EXIT_CANNOT_MEASURE
    return EXIT_NOT_GOOD if failed else EXIT_GOOD


if __name__ == "__main__":
    sys.exit(main())
