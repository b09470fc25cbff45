# SPDX-License-Identifier: GPL-2.0-only
"""The ledger on metal, rehearsed: a guest plays the machine, with a kernel as installed.

It runs in real time and proves that a driver is replaced, counted and put back.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ringside import builds, cache, profiles, sites
from ringside.lab import counted, kernel, source, splats, userland
from ringside.report import schema

_STATE = (
    "readlink /sys/class/net/port0/device/driver/module; lsmod | cut -d' ' -f1 | sort;"
    " ip -br link show port0; ip -d address show port0 | grep -E 'qlen|link/|inet ' |"
    " sed 's/^[0-9]*: //'; ip -br link show gen0; ip route; ip route show table 100;"
    " mount | grep -c debugfs; pgrep -c sender"
)
_LOAD = "--rate 100 --count 200 --nic port0 --generator gen0"


def _unloads(built: kernel.LabKernel) -> list[str]:
    """Reads the counts while the counted driver goes, ten times, and after it."""
    driver, counter = (built.replaced[name] for name in ("8139cp", counted.COUNTER))
    listing = "/sys/kernel/debug/iotally/sites"
    return [
        f"rmmod 8139cp; insmod {counter}",
        f"for i in 0 1 2 3 4 5 6 7 8 9; do insmod {driver};"
        f" (cat {listing} {listing} {listing} > during.$i) & rmmod 8139cp; wait; done",
        f"cat {listing} > unloaded; rmmod {counted.COUNTER}; echo $? >> statuses",
    ]


def _script(lab: kernel.LabKernel, built: kernel.LabKernel) -> str:
    """Makes the guest a machine that has installed its kernel, then runs the command."""
    release = lab.release
    installed = f"/lib/modules/{release}"
    lines = [
        f"export RINGSIDE_CACHE={cache.root()}",
        f"ln -s {lab.image} {lab.config} /boot/",
    ]
    for name in ("8139cp", "mii", "e1000"):
        file = lab.module_file(name)
        assert file
        place = f"{installed}/{file.relative_to(lab.modules)}"
        lines += [f"mkdir -p $(dirname {place})", f"cp {file} {place}"]
    command = shlex.quote(str(builds.TREE / "ringside"))
    ledger = f"{command} ledger --lab metal {_LOAD}"
    lines += [
        f"ln -s {kernel.headers(lab)} {installed}/build",
        f"depmod {release}",
        "ip address add 192.0.2.7/24 broadcast 192.0.2.200 label port0:x dev port0",
        "ip address add 203.0.113.1 peer 203.0.113.2/32 dev port0",
        "ip link set port0 address 52:54:00:00:00:99 txqueuelen 500 mtu 1400 up",
        "ip route add 198.51.100.0/24 via 192.0.2.9 src 192.0.2.7 mtu 1300 dev port0",
        "ip route add 198.51.101.0/24 scope link table 100 metric 9 dev port0",
        f"cd {userland.SHARED}",
        f"({_STATE}) > before 2>&1",
        # A machine without debugfs, to see that none is left.
        f"{ledger} --json result.json > table 2>&1; echo $? > statuses",
        f"({_STATE}) > after 2>&1",
        "ip route add default via 192.0.2.9",
        f"{ledger} > refused 2>&1; echo $? >> statuses",
        "ip route del default",
        f"{ledger} --count 1000000 > ended 2>&1 & job=$!",
        "while kill -0 $job && ! pgrep -x sender > /dev/null; do sleep 0.2; done",
        "sleep 1; kill -TERM $job; wait $job; echo $? >> statuses",
        f"({_STATE}) > ended-after 2>&1",
        *_unloads(built),
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture(name="shared", scope="module")
def fixture_shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the rehearsal left."""
    lab = kernel.find(None)
    machine = userland.Machine(lab, profiles.choose("8139cp"))
    # So that the guest, which is slow, need not build.
    recipe = counted.Recipe(source.find(lab, None))
    built = counted.build(lab, profiles.choose("8139cp")[0], recipe)
    builds.sender()
    with cache.scratch_folder() as folder:
        job = userland.Job(_script(lab, built))
        result = userland.run(machine, job, folder, 600.0)
        assert not splats.find(result.console)
        kept = tmp_path_factory.mktemp("metal") / "shared"
        (folder / "shared").rename(kept)
    return kept


def _text(shared: Path, name: str) -> str:
    return (shared / name).read_text(encoding="utf-8")


def test_the_ledger_is_that_of_the_vm_lab(shared: Path) -> None:
    """8139cp makes four reads and four writes an interrupt there too."""
    statuses = _text(shared, "statuses").split()
    assert statuses[:1] == ["0"], _text(shared, "table")
    document: dict[str, Any] = json.loads(_text(shared, "result.json"))
    schema.validate(document)
    (run,) = document["runs"]
    # In real time two frames may share an interrupt, so the figure is of interrupts.
    for direction in ("read", "write"):
        chosen = [s["per_irq"] for s in run["sites"] if s["direction"] == direction]
        assert sum(chosen) == 4.0
    assert 0 < run["per_packet"]["mmio_reads"] <= 4.0
    assert run["sent"] == run["delivered"] == 200
    assert all(site["ns_median"] > 0 for site in run["sites"])
    assert document["lab"] == "metal"
    table = _text(shared, "table")
    assert "8139cp.c:586" in table and "ns_per_packet" in table


def test_the_machine_is_as_before(shared: Path) -> None:
    """Driver, modules, link, addresses, routes; nothing runs and nothing is mounted."""
    assert _text(shared, "after") == _text(shared, "before")
    before = _text(shared, "before")
    for word in (
        *("brd 192.0.2.200", "port0:x", "peer 203.0.113.2/32", "52:54:00:00:00:99"),
        *("qlen 500", "mtu 1300", "src 192.0.2.7", "198.51.101.0/24"),
    ):
        assert word in before


def test_a_port_with_the_default_route_is_refused(shared: Path) -> None:
    """With one line, before anything is touched."""
    assert _text(shared, "statuses").split()[1:2] == ["3"]
    said = _text(shared, "refused").strip()
    assert "port0 carries the default route" in said and "\n" not in said


def test_a_signal_ends_it_and_all_is_put_back(shared: Path) -> None:
    """In the middle of the load."""
    assert _text(shared, "statuses").split()[2:3] == ["3"], _text(shared, "ended")
    assert "ended by SIGTERM" in _text(shared, "ended")
    assert _text(shared, "ended-after") == _text(shared, "before")


def test_counts_are_read_while_the_driver_is_unloaded(shared: Path) -> None:
    """Whole each time, and kept when it is gone; then the counter goes too."""
    assert _text(shared, "statuses").split()[3:] == ["0"]
    first = "# iotally 1\n"
    for number in range(10):
        texts = _text(shared, f"during.{number}").split(first)
        assert texts[0] == "" and len(texts) == 4
        for text in texts[1:]:
            sites.parse(first + text, [])
    kept = sites.parse(_text(shared, "unloaded"), []).counts
    probes = [count for site, count in kept.items() if site.module == "8139cp"]
    assert sum(probes) > 0
