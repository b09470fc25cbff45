# SPDX-License-Identifier: GPL-2.0-only
"""Smoke bench in the vm lab: exact figures, and what happens when a guest dies."""

# A guest is booted once more than the bench would.
# pylint: disable=protected-access

import dataclasses
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ringside import bench, builds, cache, profiles
from ringside.lab import guest, kernel, run, snapshot

# Accesses of one received 60-byte frame at 20 kpps under Debian's 6.12.
_EXACT = {
    "8139cp": {"mmio_reads": 4, "mmio_writes": 4, "port_reads": 0, "port_writes": 0},
    "tulip": {"mmio_reads": 0, "mmio_writes": 0, "port_reads": 5, "port_writes": 4},
    "ne2k-pci": {
        "mmio_reads": 0,
        "mmio_writes": 0,
        "port_reads": 22,
        "port_writes": 22,
    },
}


def _ringside(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(builds.TREE / "ringside"), *words],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture(name="smoke", scope="module")
def smoke_fixture(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The entries of the smoke bench, by NIC."""
    path = tmp_path_factory.mktemp("smoke") / "result.json"
    result = _ringside(
        *("bench", "--nic", ",".join(_EXACT), "--repeat", "2", "--json", str(path))
    )
    assert result.returncode == 0, result.stderr + result.stdout
    document = json.loads(path.read_text(encoding="utf-8"))
    return {entry["nic"]: entry for entry in document["runs"]}


@pytest.mark.parametrize("nic", _EXACT)
def test_accesses_per_packet_are_exact(smoke: dict[str, Any], nic: str) -> None:
    """Not nearly four: four."""
    figures = smoke[nic]["per_packet"]
    assert {key: figures[key] for key in _EXACT[nic]} == _EXACT[nic]
    assert figures["irqs"] == 1.0


@pytest.mark.parametrize("nic", _EXACT)
def test_every_check_passes(smoke: dict[str, Any], nic: str) -> None:
    """Conservation, both planes, two identical runs, a clean log."""
    assert [c for c in smoke[nic]["checks"] if c["result"] != "pass"] == []
    assert smoke[nic]["sent"] == smoke[nic]["delivered"] == 2000


def test_a_driver_without_napi_has_null_polls(smoke: dict[str, Any]) -> None:
    """Null with a reason, never 0."""
    assert smoke["ne2k-pci"]["per_packet"]["polls"] is None
    assert "no NAPI" in smoke["ne2k-pci"]["reasons"]["polls"]


@pytest.mark.parametrize("nic", _EXACT)
def test_groups_add_up_to_the_instructions(smoke: dict[str, Any], nic: str) -> None:
    """No instruction is in two groups or in none."""
    total = sum(group["instructions"] for group in smoke[nic]["groups"])
    assert total == pytest.approx(smoke[nic]["per_packet"]["instructions"], abs=0.01)


@pytest.fixture(name="kept", scope="module")
def kept_fixture() -> snapshot.Snapshot:
    """The kept guest of the smoke bench's first NIC."""
    return snapshot.get(kernel.find(None), profiles.choose("8139cp")[0])


def test_a_guest_booted_anew_gives_the_same(
    kept: snapshot.Snapshot, tmp_path: Path
) -> None:
    """To the last instruction and the last modelled miss."""
    lab_kernel, nic = kernel.find(None), profiles.choose("8139cp")[0]
    snapshot._make(lab_kernel, nic, tmp_path)
    fresh = dataclasses.replace(
        kept,
        folder=tmp_path,
        machine=snapshot._machine(lab_kernel, nic, tmp_path),
    )
    command = bench.commands(kept, bench.Load(20000, 60, 500, "rx"))[0]
    outcomes = [
        run.execute(which, command, bench.DEFAULT_CACHE) for which in (kept, fresh)
    ]
    assert outcomes[0].window and outcomes[0] == outcomes[1]


def test_a_panic_is_told_with_its_log(kept: snapshot.Snapshot) -> None:
    """cp's own name begins with the letter that makes the kernel crash itself."""
    with pytest.raises(guest.GuestDied, match="guest panic: Kernel panic") as caught:
        run.execute(kept, "cp /proc/self/comm /proc/sysrq-trigger", None)
    assert any("sysrq" in line for line in caught.value.log)


def test_a_hang_is_told(
    kept: snapshot.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """yes fills the agent's buffer and then waits for ever."""
    monkeypatch.setattr(guest, "WATCHDOG_S", 2.0)
    with pytest.raises(guest.GuestDied, match="no sign of life"):
        run.execute(kept, "yes", None)


def test_a_frame_to_nobody_does_not_reach_the_port(kept: snapshot.Snapshot) -> None:
    """The run that is taken off has no interrupt and no access of the port."""
    load = bench.Load(20000, 60, 200, "rx")
    rest = bench.commands(kept, load)[2]
    outcome = run.execute(kept, rest, None)
    assert [r for r in outcome.regions if r["port"] == "port0"] == []
    before, after = (
        outcome.statistics[f"port0.{when}"] for when in ("before", "after")
    )
    # The chip itself counts what its filter drops (8139cp's rx_err); the driver must not.
    for name in ("rx_packets", "rx_bytes", "tx_packets"):
        assert before[name] == after[name]


def _children_of(pid: int) -> list[str]:
    result = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(pid)],
        check=False,
        capture_output=True,
        text=True,
    )
    return result.stdout.splitlines()


def _scratch_folders(parent: Path) -> list[Path]:
    return sorted(parent.glob("ringside-*"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_bench_leaves_no_process(
    how: signal.Signals, tmp_path: Path
) -> None:
    """Also killed outright: only then may its scratch folder stay."""
    command = [
        str(builds.TREE / "ringside"),
        "bench",
        "--nic",
        "8139cp",
        "--count",
        "200000",
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not any("qemu" in line for line in _children_of(process.pid)):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        process.send_signal(how)
        _, errors = process.communicate(timeout=30)
    alive = subprocess.run(
        ["pgrep", "-f", str(tmp_path)], check=False, capture_output=True, text=True
    )
    assert alive.stdout == ""
    if how != signal.SIGKILL:
        assert process.returncode == 3
        assert errors.splitlines() == ["ringside: interrupted, nothing was left behind"]
        assert _scratch_folders(tmp_path) == []


def test_two_benches_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Both give the same figures."""
    words = ["bench", "--nic", "8139cp", "--count", "500"]
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    processes = [
        subprocess.Popen(  # pylint: disable=consider-using-with
            [str(builds.TREE / "ringside"), *words, "--json", str(file)],
            stdout=subprocess.DEVNULL,
        )
        for file in files
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    one, two = (json.loads(file.read_text(encoding="utf-8"))["runs"] for file in files)
    assert one == two


def test_a_snapshot_with_a_hole_is_told(
    kept: snapshot.Snapshot, tmp_path: Path
) -> None:
    """A damaged state is an error of the lab in one line, not a figure."""
    broken = dataclasses.replace(kept, folder=tmp_path)
    for path in kept.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    state = tmp_path / "state.qcow2"
    state.write_bytes(state.read_bytes()[: 1 << 20])
    with pytest.raises(guest.GuestDied, match="ended early"):
        run.execute(broken, "true", None)


def test_the_cache_folder_is_outside_the_tree() -> None:
    """What is built never lies in the user's checkout."""
    assert builds.TREE not in cache.root().parents
