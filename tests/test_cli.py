# SPDX-License-Identifier: GPL-2.0-only
"""The command line: wrong use and what is missing end in one line, and leave nothing."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fakes
from ringside import builds, cache, cli
from ringside.errors import CannotMeasure, NotGood
from ringside.lab import guest, qemu


@pytest.fixture(name="place", autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an own cache and TMPDIR, a fake kernel and a fake QEMU."""
    fakes.kernel_folder(tmp_path / "kernel", {"e1000": "", "8139cp": "", "igb": ""})
    fakes.qemu(tmp_path / "qemu", "e1000 rtl8139")
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RINGSIDE_QEMU", str(tmp_path / "qemu"))
    monkeypatch.setenv("RINGSIDE_OFFLINE", "1")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dangling").symlink_to("nothing/there")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "old").touch()
    (tmp_path / "link").symlink_to("old")
    yield tmp_path
    guest.CANCEL.clear()
    qemu.find.cache_clear()
    qemu.has_device.cache_clear()


@pytest.fixture(name="no_lab", autouse=True)
def _no_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here may boot a guest or ask the set-up for packages."""
    monkeypatch.setattr(builds, "TREE", Path("/nowhere"))
    qemu.find.cache_clear()
    qemu.has_device.cache_clear()


def left(place: Path) -> list[str]:
    """What a command left behind, without locks."""
    found = [*(place / "tmp").rglob("*"), *(place / "cache").rglob("*")]
    return [str(path) for path in found if path.is_file() and path.suffix != ".lock"]


def refused(capsys: pytest.CaptureFixture[str], place: Path, *words: str) -> str:
    """The one line of a command that fails; its status is in front."""
    status = cli.main(words)
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("ringside: ") and output.err.endswith("\n")
    assert output.err.count("\n") == 1, output.err
    assert left(place) == []
    return f"{status}: {output.err.removeprefix('ringside: ').rstrip()}"


WRONG_USE = {
    "nothing": ([], "COMMAND"),
    "unknown_command": (["ledgers"], "invalid choice: 'ledgers'"),
    "unknown_option": (["bench", "--nics", "e1000"], "--nics"),
    "extra_word": (["bench", "e1000"], "unrecognized arguments: e1000"),
    "option_without_value": (["bench", "--rate"], "expected one argument"),
    "direction": (["bench", "--direction", "up"], "invalid choice: 'up'"),
    "lab": (["bench", "--lab", "metal"], "invalid choice: 'metal'"),
    "newline": (["bench", "a\nb"], "unrecognized arguments: a b"),
    "unknown_nic": (["bench", "--nic", "e2000"], "unknown NIC 'e2000'"),
    "one_unknown_nic": (["bench", "--nic", "e1000,x"], "unknown NIC 'x'"),
    "long_nic": (["bench", "--nic", "x" * 5000], "unknown NIC 'xxx"),
    "long_direction": (["bench", "--direction", "x" * 5000], "invalid choice: 'xxx"),
    "long_words": (["bench", "x " * 5000], "unrecognized arguments: x x"),
    "all_and_one": (["bench", "--nic", "all,e1000"], "'all' stands alone"),
    "nics_of_no_name": (["nics", ""], "unknown NIC ''"),
    "no_nic": (["bench", "--nic", ""], "unknown NIC ''"),
    "nic_newline": (["bench", "--nic", "a\nb"], "unknown NIC 'a b'"),
    "nics_of_nothing": (["nics", "e2000"], "unknown NIC 'e2000'"),
    "rate_0": (["bench", "--rate", "0"], "--rate 0: must be from 1"),
    "rate_negative": (["bench", "--rate", "-5"], "--rate -5: must be from 1"),
    "rate_dashes": (["bench", "--rate=--5"], "'--5' is not a number"),
    "rate_end_of_options": (["bench", "--rate=--"], "--rate takes no '--'"),
    "json_end_of_options": (["bench", "--json=--"], "--json takes no '--'"),
    "suites_end_of_options": (["kunit", "--suite=--"], "--suite takes no '--'"),
    "rate_huge": (["bench", "--rate", "1000000001"], "must be from 1 to 1000000000"),
    "rate_digits": (["bench", "--rate", "9" * 5000], "--rate"),
    "rate_fraction": (["bench", "--rate", "1.5"], "'1.5' is not a number"),
    "rate_superscript": (["bench", "--rate", "\u00b2"], "is not a number"),
    "rate_word": (["bench", "--rate", "fast"], "'fast' is not a number"),
    "rate_empty": (["bench", "--rate", ""], "'' is not a number"),
    "rate_list_hole": (["bench", "--rate", "1,,2"], "'' is not a number"),
    "rate_one_bad": (["bench", "--rate", "20000,0"], "--rate 0: must be"),
    "size_small": (["bench", "--size", "59"], "--size 59: must be from 60 to 1514"),
    "size_large": (["bench", "--size", "1515"], "--size 1515: must be from 60 to 1514"),
    "count_0": (["bench", "--count", "0"], "--count 0: must be from 1"),
    "count_huge": (["bench", "--count", "10000001"], "--count 10000001: must be"),
    "count_list": (["bench", "--count", "1,2"], "takes one number"),
    "repeat_0": (["bench", "--repeat", "0"], "--repeat 0: must be from 1"),
    "repeat_huge": (["bench", "--repeat", "1001"], "--repeat 1001: must be"),
    "cache_form": (["bench", "--l1d", "32k"], "--l1d 32k: is not SIZE:WAYS:LINE"),
    "cache_0": (["bench", "--l2", "0:0:0"], "--l2 0:0:0: is not SIZE:WAYS:LINE"),
    "cache_superscript": (["bench", "--l2", "\u00b2:1:1"], "is not SIZE:WAYS:LINE"),
    "cache_sets": (["bench", "--llc", "3072:8:64"], "* LINE * a power of two"),
    "cache_line": (["bench", "--llc", "768:1:48"], "LINE must be a power of two"),
    "cache_rest": (["bench", "--l1d", "32769:8:64"], "* LINE * a power of two"),
    "cache_tiny": (["bench", "--l1d", "3:3:1"], "a power of two from 16 to 4096"),
    "cache_lines": (["bench", "--l1d", "32768:8:32"], "LINE must be the same for l1d"),
    "cache_ways": (["bench", "--l2", "8320:65:64"], "WAYS must be from 1 to 64"),
    "cache_large": (["bench", "--llc", f"{1 << 31}:16:64"], "at most 1 GiB"),
    "cache_digits": (["bench", "--llc", "9" * 5000], "is not SIZE:WAYS:LINE"),
    "json_folder": (["bench", "--json", "/nowhere/x"], "cannot write /nowhere/x"),
    "json_is_folder": (["bench", "--json", "/tmp"], "cannot write /tmp"),
    "html_folder": (["bench", "--html", "/nowhere/x"], "cannot write /nowhere/x"),
    "json_no_name": (["bench", "--json", ""], "cannot write .: Is a directory"),
    "json_long_name": (["bench", "--json", "x" * 300], "...: File name too long"),
    "json_in_proc": (["bench", "--json", "/proc/x"], "cannot write /proc/x: "),
    "json_in_sys": (["bench", "--json", "/sys/x"], "cannot write /sys/x: "),
    "json_dangling": (["bench", "--json", "dangling"], "dangling: a link to nothing"),
    "json_loop": (["bench", "--json", "loop"], "loop: Too many levels"),
    "two_reports": (["bench", "--json", "x", "--html", "tmp/../x"], "two reports"),
    "two_linked": (["bench", "--json", "old", "--html", "link"], "two reports to link"),
    "two_outputs": (["bench", "--json", "-", "--html", "/dev/stdout"], "two reports"),
    "ledger_of_nothing": (["ledger"], "--nic is missing"),
    "ledger_nic": (["ledger", "--nic", "e2000"], "unknown NIC 'e2000'"),
    "ledger_nics": (["ledger", "--nic", "e1000,igb"], "a ledger is of one NIC"),
    "ledger_bus": (
        ["ledger", "--nic", "e1000", "--bus", "isa"],
        "--bus isa: is none of",
    ),
    "ledger_rate": (["ledger", "--nic", "e1000", "--rate", "0"], "--rate 0: must be"),
    "ledger_json": (
        ["ledger", "--nic", "e1000", "--json", "/tmp"],
        "cannot write /tmp",
    ),
    "ledger_module": (["ledger", "--module", "x.ko"], "--module is for --static"),
    "ledger_module_and_nic": (
        ["ledger", "--static", "--module", "x.ko", "--nic", "e1000"],
        "--module stands alone",
    ),
    "no_kernel": (["bench", "--kernel", "/nowhere"], "no such folder or package"),
    "empty_kernel": (["bench", "--kernel", "tmp"], "holds 0 kernel images"),
}


@pytest.fixture(name="profiled", autouse=True)
def _profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiles of the tree, although TREE is elsewhere."""
    monkeypatch.setattr("ringside.profiles._FOLDER", REAL_TREE / "drivers/profiles")


REAL_TREE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("words, told", WRONG_USE.values(), ids=WRONG_USE)
def test_wrong_use_is_refused(
    capsys: pytest.CaptureFixture[str], place: Path, words: list[str], told: str
) -> None:
    """Status 2, one line, before anything is done."""
    before = sorted(place.iterdir())
    line = refused(capsys, place, *words)
    assert line.startswith("2: ") and told in line
    assert len(line) < 400
    assert sorted(place.iterdir()) == before


def kernel_of(place: Path) -> list[str]:
    """The words that choose the fake kernel."""
    return ["--kernel", str(place / "kernel")]


def test_no_qemu_is_told(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that is named nor any installed."""
    monkeypatch.setenv("RINGSIDE_QEMU", "/nowhere/qemu")
    line = refused(capsys, place, "bench", *kernel_of(place))
    assert line.startswith("3: cannot run QEMU /nowhere/qemu: ")
    monkeypatch.delenv("RINGSIDE_QEMU")
    monkeypatch.setenv("PATH", str(place))
    line = refused(capsys, place, "bench", *kernel_of(place))
    assert line == "3: qemu-system-x86_64 is not installed: run make setup"


@pytest.mark.parametrize(
    "text, told",
    [("exit 1", "cannot run QEMU"), ("echo hello", "does not say that it is QEMU")],
)
def test_what_is_no_qemu_is_told(
    capsys: pytest.CaptureFixture[str], place: Path, text: str, told: str
) -> None:
    """A program of that name."""
    fakes.script(place / "qemu", text)
    line = refused(capsys, place, "bench", *kernel_of(place))
    assert line.startswith("3: ") and told in line


@pytest.mark.parametrize(
    "nic, reason",
    [
        ("igb", "QEMU 10.0.2 has no device igb"),
        ("vmxnet3", "kernel 6.12.0-fake has no module vmxnet3"),
    ],
)
def test_a_nic_that_cannot_be_here_is_shown_with_its_reason(
    capsys: pytest.CaptureFixture[str], place: Path, nic: str, reason: str
) -> None:
    """Status 3; the table has the row."""
    status = cli.main(["bench", "--nic", nic, *kernel_of(place)])
    output = capsys.readouterr()
    assert status == 3 and output.err == ""
    assert reason in " ".join(output.out.split())
    assert left(place) == []


@pytest.mark.parametrize(
    "version, driver, told",
    [
        ("SUBLEVEL = 1", True, "2: --tree tree is Linux 6.12.1, the lab kernel"),
        (
            "SUBLEVEL = 0",
            False,
            "2: --tree tree has no drivers/net/ethernet/intel/e1000",
        ),
        ("SUBLEVEL = 0", True, "3: no headers of kernel 6.12.0-fake: not here"),
        (None, True, "3: no source of kernel 6.12.0-fake: it is none of Debian's"),
    ],
)
def test_a_ledger_without_source_or_headers_is_refused(
    capsys: pytest.CaptureFixture[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str | None,
    driver: bool,
    told: str,
) -> None:
    """One line, and nothing is left; a tree that does not fit is the user's."""
    # pylint: disable=too-many-arguments

    def set_up(_: list[str], what: str) -> Path:
        raise CannotMeasure(f"{what}: not here")

    monkeypatch.setattr("ringside.lab.kernel.set_up", set_up)
    words = ["ledger", "--nic", "e1000", *kernel_of(place)]
    if version:
        source = (
            place / "tree/drivers/net/ethernet/intel" / ("e1000" if driver else "x")
        )
        source.mkdir(parents=True)
        (source / "e1000_main.c").touch()
        text = f"VERSION = 6\nPATCHLEVEL = 12\n{version}\nEXTRAVERSION =\n"
        (place / "tree/Makefile").write_text(text)
        words += ["--tree", "tree"]
    assert refused(capsys, place, *words).startswith(told)


def test_a_damaged_package_is_told(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    """Status 3; nothing of it is kept."""
    (place / "linux.deb").write_bytes(b"!<arch>\njunk")
    line = refused(capsys, place, "bench", "--kernel", "linux.deb")
    assert line.startswith("3: damaged kernel package ")


def test_a_cache_that_cannot_be_is_told(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file stands in its place."""
    (place / "file").touch()
    monkeypatch.setenv("RINGSIDE_CACHE", str(place / "file"))
    (place / "linux.deb").touch()
    line = refused(capsys, place, "bench", "--kernel", "linux.deb")
    assert line.startswith("3: cannot write ") and "RINGSIDE_CACHE" in line


def test_nics_tells_which_are_usable_and_why_not(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    """A line each."""
    assert cli.main(["nics", *kernel_of(place)]) == 0
    lines = capsys.readouterr().out.splitlines()
    state = {line.split()[0]: line for line in lines}
    assert len(state) == len(lines) >= 11
    assert state["e1000"].endswith(" usable")
    assert state["8139cp"].endswith(" usable")
    assert state["igb"].endswith("not here: QEMU 10.0.2 has no device igb")
    assert "not here: kernel 6.12.0-fake has no module tulip" in state["tulip"]


def test_nics_tells_all_of_one(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """Device, ids, BARs, quirk, parameters."""
    assert cli.main(["nics", "8139too", *kernel_of(place)]) == 0
    text = capsys.readouterr().out
    for part in ("rtl8139", "10ec:8139", "BAR 1", "shows BAR 0's region", "use_io"):
        assert part in text
    assert "pci_revision" in text and "e1000" not in text


@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["--version"]])
def test_help_and_version_are_good(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Status 0, on standard output."""
    assert cli.main(words) == 0
    output = capsys.readouterr()
    assert output.err == "" and "ringside" in output.out


ENDS = {
    "1: a": NotGood("a"),
    "3: a b": CannotMeasure("a\nb"),
    "3: interrupted, nothing was left behind": KeyboardInterrupt(),
    "3: [Errno 5] Input/output error: '/x'": OSError(5, "Input/output error", "/x"),
}


@pytest.mark.parametrize("told, error", ENDS.items())
def test_every_end_has_its_status_and_line(
    capsys: pytest.CaptureFixture[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    told: str,
    error: BaseException,
) -> None:
    """Also what the system refuses: no traceback."""

    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr("ringside.commands.nics", fail)
    assert refused(capsys, place, "nics") == told


# Whole processes


def command(place: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    """Words and environment of a real command with the fakes."""
    environment = {**os.environ, "TMPDIR": str(place / "tmp")}
    return [str(REAL_TREE / "ringside"), *words, *kernel_of(place)], environment


def test_a_reader_that_has_enough_is_no_error(place: Path) -> None:
    """./ringside nics | head -0"""
    words, environment = command(place, "nics")
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("wrong, status", [([], 3), (["e2000"], 2)])
def test_a_full_disk_behind_a_stream_is_told(
    place: Path, wrong: list[str], status: int
) -> None:
    """On standard error, if that takes it; a limit stands for the disk."""
    words, environment = command(place, "nics", *wrong)
    redirected = "2>file" if wrong else ">file"
    result = subprocess.run(
        ["sh", "-c", f'ulimit -f 0; exec "$@" {redirected}', "sh", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "" if wrong else "ringside: cannot write the output: File too large\n"
    assert (result.returncode, result.stdout, result.stderr) == (status, "", told)


def test_closed_streams_are_no_error(place: Path) -> None:
    """./ringside nics >&- 2>&-"""
    words, environment = command(place, "nics")
    shell = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *words]
    assert subprocess.run(shell, env=environment, check=False).returncode == 0


def test_a_signal_while_modules_load_is_told(place: Path) -> None:
    """The handler stands before the first of them, which sends the signal here."""
    (place / "early").mkdir()
    (place / "early/argparse.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n", encoding="ascii"
    )
    words, environment = command(place, "nics")
    result = subprocess.run(
        words,
        env=environment | {"PYTHONPATH": str(place / "early")},
        capture_output=True,
        text=True,
        check=False,
    )
    told = "ringside: interrupted, nothing was left behind\n"
    assert (result.returncode, result.stdout, result.stderr) == (3, "", told)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_boot_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    """No process, no scratch folder, no half snapshot; one line."""
    pid = place / "pid"
    fakes.qemu(place / "qemu", "e1000", f"echo $$ > {pid}; exec sleep 60")
    monkeypatch.delenv("RINGSIDE_CACHE")
    built = cache.root() / "builds"
    (place / "cache").mkdir()
    if built.is_dir():
        (place / "cache/builds").symlink_to(built)
    monkeypatch.setenv("RINGSIDE_CACHE", str(place / "cache"))
    words, environment = command(place, "bench", "--nic", "e1000")
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not pid.exists() or not pid.read_text():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        number = int(pid.read_text())
        process.send_signal(how)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 3 and output == ""
    assert errors == "ringside: interrupted, nothing was left behind\n"
    assert not Path(f"/proc/{number}").exists()
    assert not list((place / "tmp").iterdir())
    names = [path.name for path in (place / "cache/snapshots").iterdir()]
    assert all(name.endswith(".lock") for name in names)
