# SPDX-License-Identifier: GPL-2.0-only
"""./ringside kunit --module: what the guest is told to do, and what its log must show.

The whole run takes the debug kernel, which takes minutes to build: it is not made here.
"""

from argparse import Namespace
from pathlib import Path

import pytest

from ringside import cli, kunit_module
from ringside.errors import EXIT_GOOD, EXIT_NOT_GOOD, CannotMeasure, UsageError
from ringside.lab import debug_kernel, kernel, userland

_LOG = """[    5.0] KTAP version 1
[    5.0] 1..1
[    5.0]     KTAP version 1
[    5.0]     # Subtest: ring
[    5.0]     1..1
[    5.0]     {result} 1 ring_sizes
[    5.0] {result} 1 ring
"""


def _lab(folder: Path) -> kernel.LabKernel:
    return kernel.LabKernel("6.12.0", folder, folder, folder, "k", replaced={})


def test_named_suites_are_loaded_one_by_one(tmp_path: Path) -> None:
    """KUnit's filter is a parameter of its module."""
    (tmp_path / "kunit.ko").touch()
    lab = _lab(tmp_path)
    text = kunit_module.script(lab, Path("/x.ko"), ["ring", "tx"])
    assert text.count("insmod /x.ko") == 2
    assert "enable=1 filter_glob=ring\n" in text and "filter_glob=tx\n" in text
    text = kunit_module.script(lab, Path("/x.ko"), [])
    assert text.count("insmod /x.ko") == 1 and "filter_glob" not in text


def test_a_kernel_without_kunit_is_told(tmp_path: Path) -> None:
    """Nothing was tested then."""
    with pytest.raises(CannotMeasure, match="kernel 6.12.0 has no module kunit"):
        kunit_module.script(_lab(tmp_path), Path("/x.ko"), [])


def _options(name: str = "suite", value: str | None = None) -> Namespace:
    """Those of `ringside kunit --module`, and one of the user's."""
    options = Namespace(suite=None, arch="um", tree=None, mutants=None, module=True)
    setattr(options, name, value)
    return options


@pytest.mark.parametrize(
    ("name", "value"), [("arch", "x86_64"), ("tree", "/"), ("mutants", "all")]
)
def test_options_of_other_runs_are_refused(name: str, value: str) -> None:
    """They would be ignored."""
    with pytest.raises(UsageError, match=f"--{name} does not go with --module"):
        kunit_module.run(_options(name, value))


def test_a_suite_that_is_none_is_told() -> None:
    """Before anything is built."""
    with pytest.raises(UsageError, match="no suite nosuch"):
        kunit_module.run(_options("suite", "nosuch"))


def _guest(
    result: userland.Result, log: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab whose guest leaves that result, and a log if there is a text for it."""
    (folder / "kunit.ko").touch()

    def run(
        _machine: userland.Machine, _job: userland.Job, scratch: Path, _limit_s: float
    ) -> userland.Result:
        (scratch / "shared").mkdir()
        if log:
            (scratch / "shared/log").write_text(log, encoding="utf-8")
        return result

    monkeypatch.setattr(debug_kernel, "find", lambda: _lab(folder))
    monkeypatch.setattr(kunit_module, "built_suites", lambda lab: Path("/x.ko"))
    monkeypatch.setattr(userland, "run", run)


@pytest.mark.parametrize(
    ("log", "console", "status"),
    [
        (_LOG.format(result="ok"), "", EXIT_GOOD),
        (_LOG.format(result="not ok"), "", EXIT_NOT_GOOD),
        ("[    5.0] nothing\n", "", EXIT_NOT_GOOD),
        (_LOG.format(result="ok"), "[ 6.0] BUG: KASAN: use", EXIT_NOT_GOOD),
        (
            _LOG.format(result="ok") + "[ 6.0] WARNING: CPU: 0\n",
            "",
            EXIT_NOT_GOOD,
        ),
    ],
    ids=["good", "failed", "nothing ran", "splat on the console", "splat in the log"],
)
def test_the_verdict_comes_from_suites_and_log(
    log: str, console: str, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All must be good."""
    result = userland.Result(0, "", [console] if console else [])
    _guest(result, log, tmp_path, monkeypatch)
    assert kunit_module.run(_options()) == status


def test_a_guest_that_could_not_load_them_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With its last words, from the command line on."""
    result = userland.Result(1, "insmod: ERROR: no memory\n", [])
    _guest(result, "", tmp_path, monkeypatch)
    with pytest.raises(CannotMeasure, match="did not run: insmod: ERROR: no memory"):
        kunit_module.run(_options())
    assert cli.main(["kunit", "--module", "--arch", "x86_64"]) == 2
