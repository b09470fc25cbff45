# SPDX-License-Identifier: GPL-2.0-only
"""From a checked command line to tables, files and an exit status, without a guest."""

# The parts are worth testing by themselves.
# pylint: disable=protected-access

import copy
import errno
import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fakes
from ringside import bench, commands, profiles, session
from ringside.bench import Task
from ringside.commands import BenchRequest
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import guest, kernel as kernels, qemu
from ringside.lab.kernel import LabKernel
from ringside.report import schema

STORED = Path(__file__).parent / "data/results/rx_sweep.json"

Measure = Callable[[LabKernel, Task, Callable[[float], None]], dict[str, Any]]


@pytest.fixture(name="request_", autouse=True)
def _request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BenchRequest]:
    """A bench of two NICs, with a fake kernel and a fake QEMU."""
    fakes.kernel_folder(tmp_path / "kernel", {"e1000": "", "8139cp": "", "igb": ""})
    fakes.qemu(tmp_path / "qemu", "e1000 rtl8139")
    monkeypatch.setenv("RINGSIDE_QEMU", str(tmp_path / "qemu"))
    qemu.find.cache_clear()
    qemu.has_device.cache_clear()
    yield BenchRequest(
        command=["./ringside", "bench"],
        kernel=str(tmp_path / "kernel"),
        nics="8139cp,e1000",
        rates_pps=[20000],
        sizes=[60],
        count=2000,
        direction="rx",
        repeats=1,
        cache_model={},
        json=tmp_path / "result.json",
        html=None,
        budget=None,
        update_budget=None,
    )
    guest.CANCEL.clear()
    qemu.find.cache_clear()
    qemu.has_device.cache_clear()


def entry_of(task: Task, **changed: Any) -> dict[str, Any]:
    """A stored entry under the task's name and load."""
    entry = copy.deepcopy(json.loads(STORED.read_text(encoding="utf-8"))["runs"][0])
    load = task.load
    entry |= {
        "nic": task.profile.name,
        "driver": task.profile.driver,
        "rate_pps": load.rate_pps,
        "size": load.size,
    }
    return dict(entry | changed)


def measuring(monkeypatch: pytest.MonkeyPatch, measure: Measure | None = None) -> None:
    """Measures by this instead of a guest."""
    monkeypatch.setattr(
        bench, "measure", measure or (lambda _, task, __: entry_of(task))
    )


def written(request: BenchRequest) -> dict[str, Any]:
    """The result that was written, which must be valid."""
    assert request.json
    document = schema.load(request.json)
    assert isinstance(document, dict)
    return document


# The order and the files


def test_a_bench_writes_shows_and_is_good(
    request_: BenchRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A row each on the terminal, a valid document in the file."""
    measuring(monkeypatch)
    assert commands.bench(request_) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert "8139cp" in output.out and "e1000" in output.out
    document = written(request_)
    assert [run["nic"] for run in document["runs"]] == ["8139cp", "e1000"]
    environment = document["environment"]
    assert environment["kernel_release"] == fakes.RELEASE
    assert environment["qemu_version"].startswith("10.0.2")
    assert environment["command"] == ["./ringside", "bench"]
    assert environment["debug_options"] == ["CONFIG_KASAN"]
    assert environment["cache_model"]["llc"] == {
        "size_bytes": 8388608,
        "ways": 16,
        "line_bytes": 64,
    }


def test_entries_are_in_the_order_asked_for(
    request_: BenchRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NIC, then size, then rate, although the first takes longest."""
    later = threading.Event()

    def measure(
        _: LabKernel, task: Task, __: Callable[[float], None]
    ) -> dict[str, Any]:
        load = task.load
        if (task.profile.name, load.size, load.rate_pps) == ("8139cp", 60, 1000):
            assert later.wait(10)
        later.set()
        return entry_of(task)

    measuring(monkeypatch, measure)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert (
        commands.bench(replace(request_, rates_pps=[1000, 500], sizes=[60, 100])) == 0
    )
    runs = written(request_)["runs"]
    assert [(run["nic"], run["size"], run["rate_pps"]) for run in runs] == [
        (nic, size, rate)
        for nic in ("8139cp", "e1000")
        for size in (60, 100)
        for rate in (1000, 500)
    ]


def test_the_report_is_written(
    request_: BenchRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where asked for."""
    measuring(monkeypatch)
    assert commands.bench(replace(request_, html=tmp_path / "r.html", json=None)) == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!")
    assert not (tmp_path / "result.json").exists()


def test_a_result_on_standard_output_stands_alone(
    request_: BenchRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that a tool can read it; the table goes to the other stream."""
    measuring(monkeypatch)
    assert commands.bench(replace(request_, json=Path("/proc/self/fd/1"))) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["schema"] == "ringside/1"
    assert "8139cp" in output.err


class NoReader(io.TextIOWrapper):
    """Standard output whose reader has left."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())

    def write(self, _: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


@pytest.mark.parametrize("entry, status", [("pass", 0), ("fail", 1)])
def test_files_do_not_depend_on_who_reads_the_table(
    request_: BenchRequest, monkeypatch: pytest.MonkeyPatch, entry: str, status: int
) -> None:
    """./ringside bench --json f | head -0: written, and the status is the result's."""
    measuring(monkeypatch, lambda _, task, __: entry_of(task, status=entry))
    monkeypatch.setattr("sys.stdout", NoReader())
    assert commands.bench(request_) == status
    assert len(written(request_)["runs"]) == 2


def test_tasks_carry_the_whole_request(request_: BenchRequest) -> None:
    """A named level replaces the default one only."""
    chosen = profiles.choose("e1000")
    changed = replace(request_, cache_model={"l2": "524288:8:64"}, repeats=3)
    (task,) = commands._tasks(changed, chosen)
    assert task.repeats == 3
    assert task.load == bench.Load(20000, 60, 2000, "rx")
    assert task.cache_model == bench.DEFAULT_CACHE | {"l2": "524288:8:64"}


def test_debug_options_are_found(tmp_path: Path) -> None:
    """Those that are on, under their whole name."""
    kernel = kernels.from_folder(tmp_path / "kernel")
    kernel.config.write_text(
        "CONFIG_PROVE_LOCKING=y\nCONFIG_KASAN_EXTRA=y\n# CONFIG_UBSAN is not set\n"
        "XCONFIG_LOCKDEP=y\nCONFIG_DEBUG_LIST=y\nCONFIG_KCSAN=m\n",
        encoding="ascii",
    )
    assert session.debug_options(kernel) == [
        "CONFIG_DEBUG_LIST",
        "CONFIG_PROVE_LOCKING",
    ]


# Bad ends


def test_a_nic_that_cannot_be_here_does_not_end_the_others(
    request_: BenchRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named, it is an error; among all of them, it is passed over."""
    measuring(monkeypatch)
    assert commands.bench(replace(request_, nics="tulip,igb,e1000")) == 3
    runs = {run["nic"]: run for run in written(request_)["runs"]}
    assert runs["e1000"]["status"] == "pass"
    assert runs["tulip"]["error"] == "kernel 6.12.0-fake has no module tulip"
    assert runs["igb"]["error"] == "QEMU 10.0.2 has no device igb"
    assert commands.bench(replace(request_, nics="all")) == 0
    assert len(written(request_)["runs"]) == len(profiles.choose("all"))


@pytest.mark.parametrize("missing", ["headers", "nothing", "compiler"])
def test_a_quirk_without_headers_is_passed_over(
    request_: BenchRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
) -> None:
    """By "all" only; a module that does not build is left to the measurement."""

    def refuse(*_: object) -> Path:
        raise CannotMeasure("no headers of kernel x: no package")

    def nothing(*_: object) -> Path:
        return tmp_path

    modules = tmp_path / f"kernel/lib/modules/{fakes.RELEASE}/kernel/drivers"
    (modules / "8139too.ko").write_bytes(fakes.module())
    monkeypatch.setattr(kernels, "_INDEXES", {})
    build = nothing if missing == "nothing" else refuse
    monkeypatch.setattr("ringside.lab.image.built_module", build)
    found = refuse if missing == "headers" else nothing
    for module in ("image", "kernel"):
        monkeypatch.setattr(f"ringside.lab.{module}.headers", found)
    measuring(monkeypatch)
    assert commands.bench(replace(request_, nics="all")) == 0
    runs = {run["nic"]: run for run in written(request_)["runs"]}
    expected = "error" if missing == "headers" else "pass"
    assert runs["8139too"]["status"] == expected
    named = commands.bench(replace(request_, nics="8139too,e1000"))
    assert named == (3 if missing == "headers" else 0)


def entries(*pairs: str) -> list[dict[str, Any]]:
    """Entries by "NIC:status"."""
    words = [pair.split(":") for pair in pairs]
    return [{"nic": nic, "status": status} for nic, status in words]


@pytest.mark.parametrize(
    "runs, passed_over, status",
    [
        (entries("a:pass", "b:pass"), set(), 0),
        (entries("a:pass", "b:fail"), set(), 1),
        (entries("a:error", "b:fail"), set(), 1),
        (entries("a:pass", "b:error"), set(), 3),
        (entries("a:pass", "b:error"), {"b"}, 0),
        (entries("a:pass", "b:error", "c:error"), {"b"}, 3),
        (entries("a:error"), {"a"}, 3),
        (entries("a:fail", "b:error"), {"b"}, 1),
    ],
)
def test_the_status_is_that_of_the_worst(
    runs: list[dict[str, Any]], passed_over: set[str], status: int
) -> None:
    """The driver's fault before the lab's; what was passed over is neither."""
    assert session.status(runs, passed_over) == status


@pytest.mark.parametrize("error", [UsageError("rate"), KeyboardInterrupt(), OSError(5)])
def test_an_error_ends_every_guest_and_is_passed_on(
    request_: BenchRequest, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """The others see it at their next look, and nothing is written."""

    def measure(
        _: LabKernel, task: Task, __: Callable[[float], None]
    ) -> dict[str, Any]:
        if task.profile.name == "e1000":
            raise error
        seen.append(guest.CANCEL.wait(10))
        return entry_of(task)

    seen: list[bool] = []
    measuring(monkeypatch, measure)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with pytest.raises(type(error)):
        commands.bench(request_)
    assert seen == [True]
    assert request_.json and not request_.json.exists()


def test_a_result_that_breaks_the_schema_is_not_written(
    request_: BenchRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather no result than one that no tool can read."""
    measuring(monkeypatch, lambda _, task, __: entry_of(task, sent="many"))
    with pytest.raises(CannotMeasure, match=r"runs\[0\].sent"):
        commands.bench(request_)
    assert request_.json and not request_.json.exists()


def test_progress_is_shown_only_to_a_person(
    request_: BenchRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A log file gets none; a terminal gets the bar, which ends at the whole."""

    def measure(
        _: LabKernel, task: Task, told: Callable[[float], None]
    ) -> dict[str, Any]:
        told(0.5)
        return entry_of(task)

    measuring(monkeypatch, measure)
    commands.bench(request_)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    commands.bench(request_)
    assert "measuring" in capsys.readouterr().err
