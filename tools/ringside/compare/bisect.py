# SPDX-License-Identifier: GPL-2.0-only
"""./ringside bisect: the commit that changed a figure, found by git bisect.

git bisects a bare clone that borrows the user's objects, so the user's tree and its
references stay as they are. A commit is measured as a comparison measures it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ringside import cache, counts, output, profiles
from ringside.bench import Load
from ringside.compare import build, revisions, runs
from ringside.errors import (
    EXIT_CANNOT_MEASURE,
    EXIT_GOOD,
    EXIT_SKIP,
    CannotMeasure,
    UsageError,
    shortened,
)
from ringside.lab import kernel as kernels
from ringside.lab.kernel import LabKernel
from ringside.lab.source import Source
from ringside.profiles import Profile
from ringside.report.figures import visible

_EQUAL = 5e-7
_FIRST = re.compile(
    r"^([0-9a-f]{40,64}) is the first (?:bad|changed) commit", re.MULTILINE
)


@dataclass(frozen=True)
class BisectRequest:
    """Between which revisions, of which figure, under which load."""

    tree: str
    good: str | None
    bad: str | None
    nics: str | None
    figure: str
    load: Load
    kernel: str | None


class Unmeasured(CannotMeasure):
    """A commit whose driver does not build or does not pass: git bisect skips it."""


@dataclass(frozen=True)
class _Meter:
    """Measures commits of one driver."""

    request: BisectRequest
    profile: Profile
    kernel: LabKernel

    def __call__(self, commit: str) -> float:
        """The figure of a commit; Unmeasured when it has none."""
        request, folders = self.request, revisions.folders_of(self.profile)
        with cache.scratch_folder() as folder:
            revisions.export_commit(request.tree, commit, folders, folder)
            source = Source(folder, commit[:12])
            try:
                built = build.plain(self.kernel, self.profile, source)
            except build.DoesNotBuild as error:
                raise Unmeasured(f"does not build: {error}") from error
            found = runs.measure(self.profile, [request.load], [built])
        entry = found[0][0].bench
        if entry["status"] != "pass":
            raise Unmeasured(str(entry["error"]))
        value = entry["per_packet"][request.figure]
        if value is None:
            raise Unmeasured(f"no {request.figure}: {entry['reasons'][request.figure]}")
        return float(value)


def _subject(tree: str, commit: str) -> str:
    text = revisions.git(tree, "log", "-1", "--format=%h %s", commit)
    return visible(text.decode("utf-8", "replace").strip())


def _tell(line: str) -> None:
    output.show(f"{line}\n")


def search(
    tree: str,
    ends: tuple[str, str],
    folders: tuple[str, ...],
    verdict: Callable[[str], str],
) -> str | None:
    """The first commit that verdict() calls bad; None when only skipped ones are left.

    @ends are a good commit and a bad one; verdict() says good, bad or skip.
    """
    with cache.scratch_folder() as folder:
        clone = str(folder / "clone")
        revisions.git(
            ".",
            "clone",
            "--quiet",
            "--shared",
            "--bare",
            str(Path(tree).resolve()),
            clone,
        )
        good, bad = ends
        start = ("bisect", "start", "--no-checkout", bad, good, "--", *folders)
        said = revisions.git(clone, *start).decode("utf-8", "replace")
        while not (found := _FIRST.search(said)):
            commit = revisions.git(clone, "rev-parse", "BISECT_HEAD").decode().strip()
            try:
                said = revisions.git(clone, "bisect", verdict(commit)).decode(
                    "utf-8", "replace"
                )
            except CannotMeasure:
                # git ends with an error when it has nothing left to ask about.
                return None
        return found[1]


def _ends(request: BisectRequest) -> tuple[str, str]:
    if not request.good or not request.bad:
        raise UsageError("bisect takes --good REV and --bad REV")
    if request.figure not in counts.PER_PACKET:
        known = ", ".join(counts.PER_PACKET)
        raise UsageError(f"--figure {shortened(request.figure)}: is none of {known}")
    return (
        revisions.commit_of(request.tree, "--good", request.good),
        revisions.commit_of(request.tree, "--bad", request.bad),
    )


def run(request: BisectRequest) -> int:
    """Finds the commit; 4 when the figure is the same at both ends."""
    good, bad = _ends(request)
    if not request.nics:
        raise UsageError("--nic is missing: ./ringside nics lists them")
    chosen = profiles.choose(request.nics)
    if len(chosen) != 1:
        raise UsageError(f"--nic {shortened(request.nics)}: a bisection is of one NIC")
    meter = _Meter(request, chosen[0], kernels.find(request.kernel))
    before, after = meter(good), meter(bad)
    _tell(f"good {_subject(request.tree, good)}: {request.figure} {before:.2f}")
    _tell(f"bad  {_subject(request.tree, bad)}: {request.figure} {after:.2f}")
    if abs(after - before) < _EQUAL:
        _tell("the figure is the same at both ends: nothing to find")
        return EXIT_SKIP

    def verdict(commit: str) -> str:
        try:
            value = meter(commit)
        except Unmeasured as error:
            _tell(f"skip {_subject(request.tree, commit)}: {visible(str(error))}")
            return "skip"
        word = "good" if abs(value - before) < _EQUAL else "bad"
        _tell(
            f"{word:4} {_subject(request.tree, commit)}: {request.figure} {value:.2f}"
        )
        return word

    first = search(request.tree, (good, bad), revisions.folders_of(chosen[0]), verdict)
    if first is None:
        _tell("only commits that could not be measured are left")
        return EXIT_CANNOT_MEASURE
    _tell(f"first with another {request.figure}: {_subject(request.tree, first)}")
    return EXIT_GOOD
