# SPDX-License-Identifier: GPL-2.0-only
"""What counting an access costs, and whether many sites on many processors count right.

Writes the table and the sentence of docs/ledger.md: `make counting`.
"""

import re
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside import builds, profiles
from ringside.errors import EXIT_CANNOT_MEASURE, EXIT_GOOD, EXIT_NOT_GOOD, CannotMeasure
from ringside.lab import counted, image, kernel, userland
from ringside.lab.kernel import LabKernel
from ringside.lab.source import Source
from ringside.report import pages

_PAGE = builds.TREE / "docs/ledger.md"
_METER = "drivers/meter"
# Status may be read and the type of a VLAN written at any time.
_NIC, _READABLE, _WRITABLE = "e1000", 0x8, 0x38
# Timed, after as many that are not.
PASSES = 500
# What the ledger promises to add to an access at most.
ADDED_AT_MOST = 8
PROCESSORS, ROUNDS = 64, 10
# A processor that writes must not share one with another.
CACHE_LINE_BYTES = 64
_LIMIT_S = 900.0
_COLUMNS = ("as it is", "counted", "traced", "with mmiotrace")
_DEBUGFS = "/sys/kernel/debug/iotally"
_TRACING = "/sys/kernel/tracing"


@dataclass(frozen=True)
class Costs:
    """Instructions of one access in a loop, by accessor and space, then by column."""

    instructions: Mapping[tuple[str, str], Mapping[str, int]]
    # Lines of the tracepoint by operation, and all lines of mmiotrace.
    traced: Mapping[str, int]
    mmiotraced: int

    def added(self) -> dict[str, int]:
        """What counting adds to each accessor."""
        return {
            f"{operation}, {space}": by["counted"] - by["as it is"]
            for (operation, space), by in self.instructions.items()
        }


@dataclass(frozen=True)
class Crowd:
    """How many sites, processors and rounds there were, and what was counted."""

    sites: int
    processors: int
    rounds: int
    # By site.
    counts: Sequence[int]
    bytes_apart: int

    def good(self) -> bool:
        """Whether no access was lost and no cache line shared."""
        exact = [self.processors * self.rounds] * self.sites
        return list(self.counts) == exact and self.bytes_apart >= CACHE_LINE_BYTES


def modules(lab_kernel: LabKernel) -> dict[str, Path]:
    """The meter as it is, the meter counted, and what counts."""
    place = builds.TREE / _METER
    recipe = counted.Recipe(Source(place, "the meter's source"))
    made = counted.module(lab_kernel, "meter", place, recipe)
    return {
        "plain": image.built_module(lab_kernel, _METER, "meter"),
        "counted": made,
        "counter": made.with_name("iotally.ko"),
    }


def _said(column: str) -> str:
    """Takes the meter's lines out of the kernel's log, with the column's name."""
    return f"dmesg -c | sed -n 's/.*meter: /{column}: /p'\nrmmod meter\n"


def cost_script(built: Mapping[str, Path]) -> str:
    """Measures the columns one after the other, with the driver of the port away."""
    plain, counting = (shlex.quote(str(built[name])) for name in ("plain", "counted"))
    given = (
        f'memory="$memory" readable={_READABLE} writable={_WRITABLE} passes={PASSES}'
    )
    return f"""set -e
device=$(readlink -f /sys/class/net/port0/device)
memory=$(head -n 1 "$device/resource" | cut -d ' ' -f 1)
ip link set port0 up
dmesg -c > /dev/null
insmod {plain} {given}
{_said("as it is")}
insmod {shlex.quote(str(built["counter"]))}
insmod {counting} {given}
{_said("counted")}
echo 4096 > {_TRACING}/buffer_size_kb
echo 1 > {_DEBUGFS}/trace
echo > {_TRACING}/trace
insmod {counting} {given}
{_said("traced")}
sed -n 's/.*iotally_access: \\([a-z0-9]*\\) .* address=.*/traced \\1/p' {_TRACING}/trace |
	sort | uniq -c
echo 0 > {_DEBUGFS}/trace
echo mmiotrace > {_TRACING}/current_tracer
cat {_TRACING}/trace_pipe > /tmp/seen &
insmod {plain} {given}
{_said("with mmiotrace")}
sleep 2
kill $!
wait $! || true
echo nop > {_TRACING}/current_tracer
echo "mmiotraced $(grep -cE '^[RW] 4 ' /tmp/seen)"
"""


def crowd_script(built: Mapping[str, Path]) -> str:
    """Every processor meets every site, and the counts of the sites are listed."""
    return f"""set -e
insmod {shlex.quote(str(built["counter"]))}
dmesg -c > /dev/null
insmod {shlex.quote(str(built["counted"]))} rounds={ROUNDS}
dmesg -c | sed -n 's/.*meter: /crowd: /p'
awk -F '\\t' '$5 == "readl" && $4 ~ /^crowd_/ {{ print "count", $11 }}' {_DEBUGFS}/sites
"""


def read_costs(text: str) -> Costs:
    """What the guest of cost_script() said."""
    table: dict[tuple[str, str], dict[str, int]] = {}
    for column, operation, space, number in re.findall(
        r"^([a-z ]+): cost (\w+) (\w+) (\d+)$", text, re.MULTILINE
    ):
        table.setdefault((operation, space), {})[column] = int(number)
    traced = re.findall(r"^ *(\d+) traced (\w+)$", text, re.MULTILINE)
    seen = re.search(r"^mmiotraced (\d+)$", text, re.MULTILINE)
    if not table or not seen or any(set(by) != set(_COLUMNS) for by in table.values()):
        raise CannotMeasure(f"the guest measured too little: {text[-300:].strip()}")
    lines = {operation: int(number) for number, operation in traced}
    return Costs(table, lines, int(seen[1]))


def read_crowd(text: str) -> Crowd:
    """What the guest of crowd_script() said."""
    met = re.search(r"^crowd: crowd (\d+) (\d+) (\d+)$", text, re.MULTILINE)
    apart = re.search(r"^crowd: apart (\d+)$", text, re.MULTILINE)
    if not met or not apart:
        raise CannotMeasure(f"the guest measured too little: {text[-300:].strip()}")
    counts = [int(n) for n in re.findall(r"^count (\d+)$", text, re.MULTILINE)]
    sites, processors, rounds = map(int, met.groups())
    return Crowd(sites, processors, rounds, counts, int(apart[1]))


def _run(machine: userland.Machine, script: str) -> str:
    """What a guest's script printed; a failed one, or a complaint of its kernel, raises."""
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        job = userland.Job(script)
        result = userland.run(machine, job, Path(folder), _LIMIT_S)
    if result.status:
        said = result.output.strip().splitlines()[-1:] or ["it said nothing"]
        raise CannotMeasure(f"the guest's script failed: {said[0]}")
    return result.output


def costs() -> Costs:
    """Measures an access in virtual time: an instruction is one nanosecond."""
    lab_kernel = kernel.find(None)
    machine = userland.Machine(
        lab_kernel, profiles.choose(_NIC), processors=1, virtual_time=True
    )
    return read_costs(_run(machine, cost_script(modules(lab_kernel))))


def crowd(processors: int) -> Crowd:
    """Lets that many processors meet many sites at a time."""
    lab_kernel = kernel.find(None)
    machine = userland.Machine(lab_kernel, [], processors=processors, memory_mib=2048)
    return read_crowd(_run(machine, crowd_script(modules(lab_kernel))))


def cost_table(measured: Costs) -> str:
    """The table, and against mmiotrace in a sentence."""
    lines = [f"| access | {' | '.join(_COLUMNS)} |", "|---|" + "---|" * len(_COLUMNS)]
    for (operation, space), by in measured.instructions.items():
        cells = [f"{by[column]:,}" for column in _COLUMNS[:-1]]
        seen = space == "mmio"
        cells.append(f"{by[_COLUMNS[-1]]:,}" if seen else "not seen")
        lines.append(f"| `{operation}`, {space} | {' | '.join(cells)} |")
    by = measured.instructions[("readl", "mmio")]
    ours, theirs = (by[name] - by["as it is"] for name in ("counted", _COLUMNS[-1]))
    lines += [
        "",
        f"Counting adds {min(measured.added().values())} to"
        f" {max(measured.added().values())} instructions. mmiotrace adds {theirs:,} to a"
        f" `readl` where counting adds {ours}: {theirs / ours:.0f} times as much.",
    ]
    return "\n".join(lines) + "\n"


def crowd_text(measured: Crowd) -> str:
    """What was counted, in a sentence."""
    expected = measured.processors * measured.rounds
    exact = sum(count == expected for count in measured.counts)
    return (
        f"{measured.sites:,} sites in one module, met {measured.rounds} times each by"
        f" {measured.processors} processors at a time: {exact:,} of them counted exactly"
        f" {expected:,}. The counts of two processors lie {measured.bytes_apart:,} bytes"
        " or more apart.\n"
    )


def main() -> int:
    """Measures both into the page; 1 when one is not as promised, 3 without figures."""
    try:
        measured, many = costs(), crowd(PROCESSORS)
    except CannotMeasure as error:
        print(f"counting: {error}", file=sys.stderr)
        return EXIT_CANNOT_MEASURE
    pages.write(_PAGE, "counting costs", cost_table(measured))
    pages.write(_PAGE, "counting crowd", crowd_text(many))
    print(cost_table(measured) + "\n" + crowd_text(many))
    print(f"wrote both into {_PAGE.relative_to(builds.TREE)}")
    cheap = max(measured.added().values()) <= ADDED_AT_MOST
    return EXIT_GOOD if cheap and many.good() else EXIT_NOT_GOOD


if __name__ == "__main__":
    sys.exit(main())
