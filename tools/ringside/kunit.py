# SPDX-License-Identifier: GPL-2.0-only
"""./ringside kunit: the driver's KUnit suites under the kernel's own kunit.py."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ringside.builds import TREE
from ringside.cache import lock, root
from ringside.errors import (
    EXIT_CANNOT_MEASURE,
    EXIT_GOOD,
    EXIT_NOT_GOOD,
    CannotMeasure,
    UsageError,
)
from ringside.lab import tree as trees

SUITES = (
    *("ring", "mapping", "irqmask", "irqmask_auto"),
    *("rx_schemes", "rx_lengths", "rx_8139", "tx"),
)
ARCHES = ("um", "x86_64")

# The units whose logic the suites must cover, and how much of it (issue 3).
COVERED_UNITS = ("ring", "mapping", "irqmask")
MIN_LINES_PERCENT = 95.0
MIN_BRANCHES_PERCENT = 85.0

MUTANTS = TREE / "kunit/mutants/mutants.toml"
# A run takes a few seconds; a mutant that makes the kernel hang is killed by this.
MUTANT_TIMEOUT_S = 30

# Where the overlay puts this repository; kbuild names objects after it.
PLACE = Path("drivers/net/ethernet/ringside")


@dataclass(frozen=True)
class Coverage:
    """What gcov saw of one unit."""

    unit: str
    lines: int
    lines_hit: int
    branches: int
    branches_hit: int

    @property
    def lines_percent(self) -> float:
        """Lines run at least once."""
        return 100.0 * self.lines_hit / self.lines if self.lines else 0.0

    @property
    def branches_percent(self) -> float:
        """Branches taken at least once."""
        return 100.0 * self.branches_hit / self.branches if self.branches else 0.0

    @property
    def enough(self) -> bool:
        """Is it what the issue asks for?"""
        return (
            self.lines_percent >= MIN_LINES_PERCENT
            and self.branches_percent >= MIN_BRANCHES_PERCENT
        )


@dataclass(frozen=True)
class Mutant:
    """One wrong edit of a unit that some suite must notice."""

    id: str
    file: str
    why: str
    find: str
    replace: str

    def apply(self, text: str) -> str:
        """The file's text with the edit, which must fit in one place."""
        if text.count(self.find) != 1:
            raise CannotMeasure(
                f"mutant {self.id}: its line is not once in {self.file}"
            )
        return text.replace(self.find, self.replace)


def _quiet(
    command: Sequence[str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def _limited(command: Sequence[str], limit_s: float) -> tuple[int | None, str]:
    """Exit status and output; no status if it took too long and was ended."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            # the kernel it started is in its process group
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
    return process.returncode, output


def _link_all(source: Path, target: Path, real: Iterable[str]) -> None:
    """Fill target with links to all of source but the names in real."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.name not in real:
            (target / entry.name).symlink_to(entry)


def make_overlay(tree: Path, overlay: Path) -> None:
    """Make a tree of links that reads as `tree` with this repository added.

    Only the directories on the way to PLACE and kunit.py are real, so nothing is
    ever written through a link into the user's tree, and a change there is seen by
    the next build. kunit.py is copied because it finds its tree by realpath().
    """
    shutil.rmtree(overlay, ignore_errors=True)
    for step in (
        "",
        "drivers",
        "drivers/net",
        "drivers/net/ethernet",
        "tools",
        "tools/testing",
    ):
        real = {
            "": ("drivers", "tools", ".git"),
            "drivers": ("net",),
            "drivers/net": ("ethernet",),
            "drivers/net/ethernet": ("Kconfig", "Makefile", PLACE.name),
            "tools": ("testing",),
            "tools/testing": ("kunit",),
        }[step]
        _link_all(tree / step, overlay / step, real)
    shutil.copytree(tree / "tools/testing/kunit", overlay / "tools/testing/kunit")

    ethernet = overlay / PLACE.parent
    original = tree / PLACE.parent
    kconfig = (original / "Kconfig").read_text().rstrip()
    end = "endif # ETHERNET"
    if not kconfig.endswith(end):
        raise CannotMeasure(f"{original / 'Kconfig'} does not end with '{end}'")
    source = "".join(
        f'source "{PLACE}/{part}/Kconfig"\n' for part in ("drivers/ringside", "kunit")
    )
    (ethernet / "Kconfig").write_text(
        kconfig.removesuffix(end) + source + "\n" + end + "\n"
    )
    makefile = (original / "Makefile").read_text()
    (ethernet / "Makefile").write_text(makefile + f"obj-y += {PLACE.name}/\n")

    place = overlay / PLACE
    place.mkdir()
    (place / "Makefile").write_text(
        "obj-$(CONFIG_RINGSIDE) += drivers/ringside/\n"
        "obj-$(CONFIG_RINGSIDE_KUNIT_TEST) += kunit/\n"
    )
    link_sources(overlay, TREE)


def link_sources(overlay: Path, repository: Path) -> None:
    """Let the overlay read our sources from a repository, or from a copy of one."""
    for name in ("drivers", "kunit"):
        link = overlay / PLACE / name
        link.unlink(missing_ok=True)
        link.symlink_to(repository / name)


def overlay_of(tree: Path, cache: Path) -> Path:
    """The overlay of that tree, made once and kept, showing this repository.

    Clones share it: building the kernel takes minutes. Our objects go when another
    clone had it last, since make would take an older source for unchanged.
    """
    key = sha256(str(tree).encode()).hexdigest()[:12]
    overlay = cache / "kunit" / key / "tree"
    stamp = overlay.parent / "made-by"
    recipe = sha256(Path(__file__).read_bytes()).hexdigest()
    if not (overlay.is_dir() and stamp.is_file() and stamp.read_text() == recipe):
        make_overlay(tree, overlay)
        stamp.write_text(recipe)
    elif (overlay / PLACE / "drivers").resolve() != TREE / "drivers":
        link_sources(overlay, TREE)
        for arch in ARCHES:
            shutil.rmtree(overlay.parent / arch / PLACE, ignore_errors=True)
    return overlay


def parse_suites(text: str | None) -> list[str]:
    """The suites asked for; an empty list means all."""
    suites = [name for name in (text or "").split(",") if name]
    unknown = [name for name in suites if name not in SUITES]
    if unknown:
        raise UsageError(
            f"no suite {', '.join(unknown)}; there are: {', '.join(SUITES)}"
        )
    return suites


def kunit_command(
    step: str, overlay: Path, arch: str, extra: Sequence[str] = ()
) -> list[str]:
    """The stock kunit.py call for one step (config, build or exec)."""
    command = [sys.executable, str(overlay / "tools/testing/kunit/kunit.py"), step]
    command += ["--build_dir", str(overlay.parent / arch)]
    if step != "exec":
        command += ["--kunitconfig", str(TREE / "kunit/.kunitconfig")]
        if arch == "um":
            command += ["--kunitconfig", str(TREE / "kunit/coverage_um.config")]
    command += ["--arch", arch]
    if step == "build":
        command += ["--jobs", str(os.cpu_count() or 1)]
    return command + list(extra)


def read_gcov(unit: str, text: str) -> Coverage:
    """Sum gcov's JSON of one unit; inline functions of headers are not the unit's."""
    lines: dict[int, int] = {}
    branches: dict[tuple[int, int], int] = {}
    for file in json.loads(text)["files"]:
        if Path(file["file"]).name != f"{unit}.c":
            continue
        for line in file["lines"]:
            number = line["line_number"]
            lines[number] = max(lines.get(number, 0), line["count"])
            for index, branch in enumerate(line["branches"]):
                key = (number, index)
                branches[key] = max(branches.get(key, 0), branch["count"])
    return Coverage(
        unit,
        len(lines),
        sum(count > 0 for count in lines.values()),
        len(branches),
        sum(count > 0 for count in branches.values()),
    )


def coverage(build: Path) -> list[Coverage]:
    """What the last run under UML covered of each unit, or nothing if not counted."""
    objects = build / PLACE / "drivers/ringside"
    result = []
    for unit in COVERED_UNITS:
        if not (objects / f"{unit}.gcda").is_file():
            return []
        gcov = ["gcov", "--json-format", "--stdout", "--branch-probabilities"]
        done = _quiet([*gcov, f"{unit}.gcda"], objects)
        if done.returncode:
            raise CannotMeasure(f"gcov failed on {unit}: {done.stderr.strip()}")
        result.append(read_gcov(unit, done.stdout))
    return result


def print_coverage(found: Sequence[Coverage]) -> None:
    """Say in plain lines what was covered and what is asked for."""
    print(
        f"coverage (asked: {MIN_LINES_PERCENT:g} % of lines, "
        f"{MIN_BRANCHES_PERCENT:g} % of branches)"
    )
    for one in found:
        print(
            f"  {one.unit}.c: {one.lines_percent:.1f} % of {one.lines} lines, "
            f"{one.branches_percent:.1f} % of {one.branches} branches"
            f"{'' if one.enough else '  TOO LITTLE'}"
        )


def forget_coverage(build: Path) -> None:
    """Drop counts of earlier runs: gcov adds them up."""
    for counts in (build / PLACE).rglob("*.gcda"):
        counts.unlink()


def read_mutants(file: Path, wanted: str) -> list[Mutant]:
    """The mutants of a file; wanted is "all" or ids with commas between."""
    with file.open("rb") as stream:
        mutants = [Mutant(**entry) for entry in tomllib.load(stream)["mutant"]]
    if wanted == "all":
        return mutants
    ids = wanted.split(",")
    unknown = set(ids) - {mutant.id for mutant in mutants}
    if unknown:
        raise UsageError(f"no mutant {', '.join(sorted(unknown))} in {file.name}")
    return [mutant for mutant in mutants if mutant.id in ids]


def failed_cases(output: str) -> list[str]:
    """The cases that kunit.py's output calls failed, suites and parameters left out."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    cases = re.findall(r"\[FAILED\] ((?:ring|mapping|irqmask|rx|tx)_\w+)", plain)
    return [case for case in cases if case not in SUITES]


def try_mutant(mutant: Mutant, source: Path, overlay: Path) -> tuple[str, str]:
    """Build and run the suites with one mutant in place: outcome and what did it."""
    file = source / "drivers/ringside" / mutant.file
    original = file.read_text()
    file.write_text(mutant.apply(original))
    try:
        build = _quiet(kunit_command("build", overlay, "um"))
        if build.returncode:
            return "error", "does not build"
        limit = ["--timeout", str(MUTANT_TIMEOUT_S)]
        # kunit.py itself may spin on the log of a kernel that broke off
        status, output = _limited(
            kunit_command("exec", overlay, "um", limit), 2 * MUTANT_TIMEOUT_S
        )
    finally:
        file.write_text(original)
    if status == 0:
        return "survived", ""
    cases = failed_cases(output)
    return "killed", cases[0] if cases else "crash or hang"


def run_mutants(mutants: Sequence[Mutant], overlay: Path) -> int:
    """Try mutants on a copy of the sources that stands in the overlay meanwhile."""
    source = overlay.parent / "mutated"
    shutil.rmtree(source, ignore_errors=True)
    for name in ("drivers", "kunit"):
        shutil.copytree(TREE / name, source / name)
    link_sources(overlay, source)
    outcomes: list[str] = []
    try:
        for mutant in mutants:
            outcome, by = try_mutant(mutant, source, overlay)
            outcomes.append(outcome)
            print(f"{outcome}: {mutant.id}{f' by {by}' if by else ''}", flush=True)
    finally:
        link_sources(overlay, TREE)
        # the last mutant's objects are newer than the sources that stand here again
        shutil.rmtree(overlay.parent / "um" / PLACE, ignore_errors=True)
    print(f"mutants: {outcomes.count('killed')} of {len(outcomes)} killed")
    if "error" in outcomes:
        return EXIT_CANNOT_MEASURE
    return EXIT_GOOD if "survived" not in outcomes else EXIT_NOT_GOOD


def run(options: Namespace) -> int:
    """Build and run the suites: options suite, arch, tree, mutants; exit status.

    mutants is None, "all" or ids with commas between; they need --arch um.
    """
    suites = parse_suites(options.suite)
    arch = options.arch or "um"
    if arch not in ARCHES:
        raise UsageError(f"--arch {arch}: um or x86_64")
    mutants = read_mutants(MUTANTS, options.mutants) if options.mutants else []
    if mutants and arch != "um":
        raise UsageError("mutants are tried with --arch um only")
    kernel = trees.find(options.tree)
    with lock(root() / "kunit.lock"):
        return _run_in(overlay_of(kernel, root()), arch, suites, mutants)


def _run_in(
    overlay: Path, arch: str, suites: Sequence[str], mutants: Sequence[Mutant]
) -> int:
    """Configure, build and run; one at a time, for there is one build folder."""
    for step in ("config", "build"):
        if subprocess.run(kunit_command(step, overlay, arch), check=False).returncode:
            print(
                f"ringside: kunit.py {step} failed, nothing was tested", file=sys.stderr
            )
            return EXIT_CANNOT_MEASURE

    build = overlay.parent / arch
    forget_coverage(build)
    status = EXIT_GOOD
    for suite in suites or [""]:
        glob = [suite] if suite else []
        sys.stdout.flush()
        if subprocess.run(
            kunit_command("exec", overlay, arch, glob), check=False
        ).returncode:
            status = EXIT_NOT_GOOD
    if status == EXIT_GOOD and mutants:
        return run_mutants(mutants, overlay)
    if arch == "um" and not suites and status == EXIT_GOOD:
        found = coverage(build)
        print_coverage(found)
        if not found or not all(one.enough for one in found):
            status = EXIT_NOT_GOOD
    return status
