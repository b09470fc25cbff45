# SPDX-License-Identifier: GPL-2.0-only
"""Soaks the reference driver's chips in one guest whose kernel looks for mistakes.

Writes what was changed and found into docs/reference-driver.md: `make soak`.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ringside import builds, cache, profiles
from ringside.errors import EXIT_CANNOT_MEASURE, EXIT_GOOD, EXIT_NOT_GOOD, CannotMeasure
from ringside.lab import debug_kernel, kernel, splats, userland
from ringside.profiles import Profile
from ringside.report import pages

_PAGE = builds.TREE / "docs/reference-driver.md"
_CHECKS = Path(__file__).with_name("checks.sh")
# Boot, suspends and scans beside the soak itself.
_BESIDE_S = 900.0
# Of the recovery of all ports.
_RECOVERY_S = 1800.0
_CHECK_LINE = "check "


@dataclass(frozen=True)
class Finding:
    """One check of the run."""

    name: str
    good: bool
    detail: str


def job(
    nics: Sequence[Profile], seconds: float, seed: int, debug: bool
) -> userland.Job:
    """What the guest runs: a soak of one port after the other, then the checks.

    The sender spins, and two at once would leave the kernel nothing.
    """
    program = builds.TREE / "selftests/soak.py"
    lines = ["echo 1 > /sys/kernel/debug/dma-api/all_errors"] if debug else []
    for number, profile in enumerate(nics):
        words = [
            *("/usr/bin/python3", "-B", str(program), "--port", f"port{number}"),
            *("--peer", f"gen{number}", "--sender", str(builds.sender())),
            *("--seconds", f"{seconds / len(nics):g}", "--seed", str(seed + number)),
        ]
        target = shlex.quote(f"{userland.SHARED}/{profile.name}.tap")
        lines.append(f"{shlex.join(words)} > {target} 2>&1")
    for number in range(len(nics)):
        # A drop point would hide what the checks send.
        flags = "drop-stack off drop-stack-raw off drop-driver off"
        lines.append(f"ethtool --set-priv-flags port{number} {flags}")
        lines.append(f"ip link set port{number} up mtu 1500")
    return userland.Job(
        script="\n".join(lines) + "\n",
        last=f"debug={int(debug)}\nports={len(nics)}\n{_CHECKS.read_text('utf-8')}",
        programs={"sender": builds.sender().read_bytes()},
    )


def read_checks(console: Sequence[str]) -> list[Finding]:
    """The lines "check NAME: good|bad DETAIL"; without the last of them it is bad."""
    lines = [re.search(r"check ([^:]+): (good|bad) ?(.*)$", line) for line in console]
    found = [Finding(m[1], m[2] == "good", m[3]) for m in lines if m]
    if not any(finding.name == "end" for finding in found):
        found.append(Finding("end of the checks", False, "they did not come to it"))
    return found


def read_tap(of: str, program: str, text: str) -> list[Finding]:
    """The cases of one program; a plan that was not fulfilled is bad."""
    found = rf"^(not )?ok \d+ {program}\.(.*)$"
    cases = re.findall(found, text, re.MULTILINE)
    plan = re.search(r"^1\.\.(\d+)$", text, re.MULTILINE)
    if not plan or not cases or len(cases) != int(plan[1]):
        last = (text.strip().splitlines() or ["it said nothing"])[-1]
        return [Finding(f"{of}: {program}", False, f"it did not end: {last}")]
    said = re.findall(r"^# ([\w .]+): (.*)$", text, re.MULTILINE)
    return [
        Finding(
            f"{of}: {name}",
            not bad,
            "; ".join(what for check, what in said if check == name),
        )
        for bad, name in cases
    ]


def metrics(text: str) -> dict[str, int]:
    """The lines "# metric NAME=VALUE unit=.."."""
    found = re.findall(r"^# metric (\w+)=(\S+) unit", text, re.MULTILINE)
    return {name: int(float(value)) for name, value in found}


def table(taps: dict[str, str], findings: Sequence[Finding]) -> str:
    """What the page shows."""
    lines = [
        "| chip | s | frames | live | stopping | calm | changes | refused |",
        "|---|---|---|---|---|---|---|---|",
    ]
    columns = ("seconds", "frames", "rounds_live", "rounds_stop", "rounds_calm")
    for nic, text in taps.items():
        values = metrics(text)
        cells = [str(values.get(c, 0)) for c in (*columns, "changes", "refused")]
        lines.append(f"| {nic} | {' | '.join(cells)} |")
    bad = [finding for finding in findings if not finding.good]
    recovery = [f for f in findings if f.name.startswith("recovery: ")]
    skipped = sum("# SKIP" in finding.name for finding in recovery)
    lines += [
        "",
        f"{len(findings)} checks, {len(bad)} failed; of recovery {len(recovery)},"
        f" {skipped} skipped.",
    ]
    return "\n".join(lines) + "\n"


def recover(machine: userland.Machine) -> list[Finding]:
    """Breaks what the driver must mend, on all ports of one guest of their own.

    In a guest of its own, because the stack's watchdog speaks up there.
    """
    count = len(machine.ports)
    words = [
        *("/usr/bin/python3", "-B", str(builds.TREE / "selftests/recovery.py")),
        *("--ports", ",".join(f"port{number}" for number in range(count))),
        *("--peers", ",".join(f"gen{number}" for number in range(count))),
        *("--sender", str(builds.sender())),
    ]
    # Reaching past the driver to its registers is what is meant here.
    guest = replace(machine, arguments=f"{machine.arguments} iomem=relaxed")
    with cache.scratch_folder() as folder:
        work = userland.Job(f"{shlex.join(words)}\n")
        result = userland.run(guest, work, folder, _RECOVERY_S)
    lines = splats.find(result.console, (splats.WATCHDOG,))
    log = Finding("recovery: kernel log", not lines, "; ".join(lines[:5]))
    return [*read_tap("recovery", "recovery", result.output), log]


def soak(
    machine: userland.Machine, seconds: float, seed: int, debug: bool
) -> tuple[dict[str, str], list[Finding]]:
    """Runs it; each chip's TAP and all findings."""
    with cache.scratch_folder() as folder:
        work = job(machine.ports, seconds, seed, debug)
        result = userland.run(machine, work, folder, seconds + _BESIDE_S)
        taps = {}
        for profile in machine.ports:
            path = folder / "shared" / f"{profile.name}.tap"
            taps[profile.name] = path.read_text("utf-8") if path.exists() else ""
    findings = [f for nic, tap in taps.items() for f in read_tap(nic, "soak", tap)]
    findings += read_checks(result.console)
    said = [line for line in result.console if _CHECK_LINE not in line]
    lines = splats.find(said)
    findings.append(Finding("kernel log", not lines, "; ".join(lines[:5])))
    return taps, findings


def main() -> int:
    """Exit status 0, 1 when a check failed, 3 when it could not be run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nic", help="profiles, commas between; shows, writes nothing")
    parser.add_argument(
        "--stock", action="store_true", help="on the lab's stock kernel"
    )
    options = parser.parse_args()
    all_of_them = [p.name for p in profiles.all_profiles() if p.out_of_tree]
    try:
        nics = profiles.choose(options.nic or ",".join(all_of_them))
        lab_kernel = kernel.find(None) if options.stock else debug_kernel.find()
        machine = userland.Machine(lab_kernel, nics, memory_mib=2048)
        findings = recover(machine)
        taps, soaked = soak(machine, options.seconds, options.seed, not options.stock)
        findings += soaked
    except CannotMeasure as error:
        print(f"ringside: {error}", file=sys.stderr)
        return EXIT_CANNOT_MEASURE
    for finding in findings:
        print(f"{'ok' if finding.good else 'FAILED'}: {finding.name} {finding.detail}")
    text = table(taps, findings)
    print(text, end="")
    if not options.nic and not options.stock:
        pages.write(_PAGE, "soak", text)
        print(f"wrote {_PAGE.relative_to(builds.TREE)}")
    return EXIT_GOOD if all(f.good for f in findings) else EXIT_NOT_GOOD


if __name__ == "__main__":
    sys.exit(main())
