# SPDX-License-Identifier: GPL-2.0-only
"""The metal lab: ports of this machine are read right, and what is needed is spared."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ringside import cli, sites
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import counted
from ringside.lab.kernel import LabKernel
from ringside.lab.snapshot import BarRange
from ringside.lab.source import Source
from ringside.metal import interfaces, ledger, running, swap

_RESOURCE = """0x000000000000c000 0x000000000000c0ff 0x0000000000040101
0x00000000feb00000 0x00000000feb000ff 0x0000000000040200
0x0000000000000000 0x0000000000000000 0x0000000000000000
"""
_ROUTES = [{"dst": "default", "dev": "lan0"}]
_ADDRESSES = [
    {"ifname": "wan0", "addr_info": [{"local": "192.0.2.5"}]},
    {"ifname": "lan0", "addr_info": [{"local": "2001:db8::5"}]},
]


def _interface(root: Path, name: str, pci: str, driver: str) -> None:
    """A port in a made sysfs."""
    device = root / "devices" / pci
    module = root / "module" / driver
    module.mkdir(parents=True, exist_ok=True)
    drivers = root / "bus/pci/drivers" / driver
    drivers.mkdir(parents=True, exist_ok=True)
    if not (drivers / "module").is_symlink():
        (drivers / "module").symlink_to(module)
    (device / "net" / name / "statistics").mkdir(parents=True)
    (device / "net" / name / "statistics/rx_packets").write_text("7\n")
    (device / "net" / name / "device").symlink_to(device)
    (device / "driver").symlink_to(drivers)
    (device / "subsystem").symlink_to(root / "bus/pci")
    (device / "resource").write_text(_RESOURCE)
    (device / "irq").write_text("11\n")
    (root / "bus/pci/devices").mkdir(exist_ok=True)
    (root / "bus/pci/devices" / pci).symlink_to(device)
    (root / "class/net" / name).symlink_to(device / "net" / name)


@pytest.fixture(name="machine", autouse=True)
def fixture_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with four ports of three drivers."""
    root = tmp_path / "sys"
    (root / "class/net").mkdir(parents=True)
    _interface(root, "lan0", "0000:00:02.0", "e1000")
    _interface(root, "port0", "0000:00:03.0", "8139cp")
    _interface(root, "igb0", "0000:00:04.0", "igb")
    _interface(root, "igb1", "0000:00:05.0", "igb")
    (root / "class/net/lo").mkdir()

    def ip(*words: str) -> str:
        if "route" in words:
            return json.dumps(_ROUTES if "-4" in words else [])
        return json.dumps(_ADDRESSES)

    monkeypatch.setattr(interfaces, "SYS", root)
    monkeypatch.setattr(interfaces, "ip", ip)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return root


def test_a_port_is_found_with_its_driver_and_registers() -> None:
    """As sysfs has them."""
    port = interfaces.find("port0", "--nic")
    assert (port.pci, port.driver, port.module) == ("0000:00:03.0", "8139cp", "8139cp")
    assert port.statistics() == {"rx_packets": 7}
    assert port.bars() == [
        BarRange("port0", 0, "port", 0xC000, 0x100),
        BarRange("port0", 1, "mmio", 0xFEB00000, 0x100),
    ]
    assert port.lines() == {"11"}


def test_messages_are_the_interrupts_where_there_are_some(machine: Path) -> None:
    """irq is the line then, which is not used."""
    folder = machine / "devices/0000:00:03.0/msi_irqs"
    folder.mkdir()
    (folder / "40").touch()
    assert interfaces.find("port0", "--nic").lines() == {"40"}


@pytest.mark.parametrize(
    ("nic", "generator", "why"),
    [
        (None, "lan0", "takes --nic IF and --generator IF"),
        ("port0", None, "takes --nic IF and --generator IF"),
        ("port0", "port0", "another interface than --nic"),
        ("nosuch", "port0", "--nic nosuch: no such interface here; there are igb0"),
        ("..", "port0", "--nic ..: no such interface"),
        ("port0", "no/such", "--generator no/such: no such interface"),
        ("lo", "port0", "--nic lo: not a PCI device's"),
        ("igb0", "igb1", "--generator igb1: has the driver of igb0"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    nic: str | None, generator: str | None, why: str
) -> None:
    """By name, with what to do."""
    with pytest.raises(UsageError, match=why):
        ledger.choose(nic, generator, False)


def _master(machine: Path) -> None:
    (machine / "class/net/br0").mkdir()
    link = machine / "devices/0000:00:03.0/net/port0/master"
    link.symlink_to(machine / "class/net/br0")


def _vlan(machine: Path) -> None:
    (machine / "devices/0000:00:03.0/net/port0/upper_port0.7").touch()


@pytest.mark.parametrize(
    ("nic", "generator", "change", "why"),
    [
        ("lan0", "port0", None, "lan0 carries the default route"),
        ("port0", "lan0", None, "lan0 carries the default route"),
        ("port0", "igb0", _master, "port0 belongs to br0"),
        ("port0", "igb0", _vlan, "port0.7 lies on port0"),
        ("igb0", "port0", None, "igb also serves igb1, which would go down"),
    ],
)
def test_a_port_that_is_needed_is_spared(
    nic: str,
    generator: str,
    change: Callable[[Path], None] | None,
    why: str,
    machine: Path,
) -> None:
    """Unless the user insists."""
    if change:
        change(machine)
    with pytest.raises(CannotMeasure, match=f"{why}.*--force"):
        ledger.choose(nic, generator, False)
    assert ledger.choose(nic, generator, True).port.name == nic


def test_the_port_of_the_session_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """sshd tells where the connection came in; IPv6 may be written in many ways."""
    monkeypatch.setattr(interfaces, "_with_default_route", set)
    monkeypatch.setenv("SSH_CONNECTION", "2001:db8::9 22000 2001:0db8::0005 22")
    with pytest.raises(CannotMeasure, match="lan0 carries this ssh session"):
        ledger.choose("lan0", "port0", False)
    monkeypatch.setenv("SSH_CONNECTION", "nonsense")
    assert ledger.choose("lan0", "port0", False)


def test_a_driver_that_is_built_in_is_told(machine: Path) -> None:
    """It cannot be replaced."""
    (machine / "bus/pci/drivers/8139cp/module").unlink()
    with pytest.raises(CannotMeasure, match="its driver 8139cp is built into"):
        interfaces.find("port0", "--nic")


@pytest.mark.parametrize(
    ("missing", "package"),
    [
        ("lib/modules/RELEASE", "linux-image-RELEASE"),
        ("boot/vmlinuz-RELEASE", "linux-image-RELEASE"),
        ("boot/config-RELEASE", "linux-image-RELEASE"),
        ("lib/modules/RELEASE/build", "linux-headers-RELEASE"),
    ],
)
def test_what_is_missing_of_the_kernel_is_told_with_its_package(
    missing: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first thing that is not there."""
    release = os.uname().release
    monkeypatch.setattr(running, "_ROOT", tmp_path)
    for name in ("boot", f"lib/modules/{release}/build"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("vmlinuz", "config"):
        (tmp_path / f"boot/{name}-{release}").touch()
    assert running.find().headers == tmp_path / f"lib/modules/{release}/build"
    gone = tmp_path / missing.replace("RELEASE", release)
    gone.rename(tmp_path / "gone")
    with pytest.raises(CannotMeasure, match=package.replace("RELEASE", release)):
        running.find()


def test_a_kernel_that_loads_signed_modules_only_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is built."""
    lockdown, enforced = tmp_path / "lockdown", tmp_path / "enforced"
    monkeypatch.setattr(running, "_LOCKDOWN", lockdown)
    monkeypatch.setattr(running, "_ENFORCED", enforced)
    assert running.refuses_modules() is None
    lockdown.write_text("[none] integrity confidentiality\n", encoding="ascii")
    enforced.write_text("N\n", encoding="ascii")
    assert running.refuses_modules() is None
    enforced.write_text("Y\n", encoding="ascii")
    assert "signed modules only" in str(running.refuses_modules())
    lockdown.write_text("none [integrity] confidentiality\n", encoding="ascii")
    assert "locked down" in str(running.refuses_modules())


def test_the_source_of_a_port_is_found_without_a_profile(tmp_path: Path) -> None:
    """One file, or the folder of several; a profile's driver is its profile's."""
    kernel = LabKernel("6.12", tmp_path, tmp_path / "modules", tmp_path, "k")
    for name in ("one/alone.ko", "many/parts.ko.xz", "realtek/8139cp.ko"):
        path = tmp_path / "modules/kernel/drivers/net" / name
        path.parent.mkdir(parents=True)
        path.touch()
    for name, text in (("one/alone.c", ""), ("many/parts.c", "")):
        path = tmp_path / "tree/drivers/net" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    makefile = tmp_path / "tree/drivers/net/many/Makefile"
    makefile.write_text("parts-objs := a.o b.o\n")
    source = Source(tmp_path / "tree", "a tree")
    port = interfaces.find("port0", "--nic")

    def of(module: str) -> tuple[str, str]:
        found = ledger.profile_of(replace(port, module=module), kernel, source)
        return found.driver, found.source

    assert of("alone") == ("alone", "drivers/net/one/alone.c")
    assert of("parts") == ("parts", "drivers/net/many")
    assert of("8139cp")[1].endswith("realtek/8139cp.c")
    with pytest.raises(CannotMeasure, match="none of the running kernel's own modules"):
        of("ringside")


class _Changes:
    """What a swap did, in order; a word makes the call fail."""

    def __init__(self, fails: str = "") -> None:
        self.done: list[str] = []
        self._fails = fails

    def call(self, *words: str) -> None:
        """Stands for a program."""
        line = " ".join(Path(word).name for word in words)
        self.done.append(line)
        if line == self._fails:
            raise CannotMeasure(f"{line}: no")


def _swapped(
    machine: Path, monkeypatch: pytest.MonkeyPatch, changes: _Changes
) -> tuple[ledger.Ports, LabKernel]:
    """Ports and a kernel with a counted driver, on a machine that only notes."""
    ports = ledger.choose("port0", "igb0", True)
    replaced = {"8139cp": Path("/b/8139cp.ko"), counted.COUNTER: Path("/b/iotally.ko")}
    kernel = LabKernel("6.12", machine, machine, machine, "k", replaced=replaced)
    (machine / "module/iotally").mkdir()
    monkeypatch.setattr(swap, "_call", changes.call)
    monkeypatch.setattr(
        swap, "ip", lambda *words: changes.done.append(f"ip {words[-2]} {words[-1]}")
    )
    monkeypatch.setattr(swap, "_mount_debugfs", lambda undo: None)
    plain = swap.Settings(False, ("mtu", "1500"))
    monkeypatch.setattr(swap, "settings_of", lambda port: plain)
    for name in ("wait_for", "wait_for_carrier"):
        monkeypatch.setattr(swap, name, lambda port: None)
    return ports, kernel


_LISTED: dict[str, Any] = {
    "address": "52:54:00:00:00:99",
    "permaddr": "52:54:00:12:03:01",
    "mtu": 1400,
    "txqlen": 500,
    "addr_info": [
        {
            "family": "inet",
            "local": "192.0.2.7",
            "prefixlen": 24,
            "broadcast": "192.0.2.200",
            "label": "port0:x",
            "scope": "global",
            "metric": 7,
            "noprefixroute": True,
        },
        {
            "family": "inet",
            "local": "192.0.2.1",
            "address": "192.0.2.2",
            "prefixlen": 32,
            "scope": "link",
        },
        {"family": "inet", "local": "192.0.2.3", "prefixlen": 24, "dynamic": True},
        {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"},
        {"family": "inet6", "local": "2001:db8::1", "prefixlen": 64, "scope": "global"},
    ],
}
_ROUTE_LINES = {
    "-4": "192.0.2.0/24 proto kernel scope link src 192.0.2.7 linkdown\n"
    "198.51.100.0/24 via 192.0.2.9 proto static src 192.0.2.7 mtu 1300 linkdown\n"
    "203.0.113.0/24 table 100 scope link metric 9\n",
    "-6": "2001:db8:1::/48 via fe80::9 proto ra metric 1024\n"
    "2001:db8:2::/48 metric 1024 pref medium\n",
}


def test_all_settings_of_an_interface_are_kept(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But those that come again: the kernel's own, leases, advertised ones."""
    (machine / "class/net/port0/flags").write_text("0x1003\n", "ascii")
    said: list[tuple[str, ...]] = []

    def ip(*words: str) -> str:
        said.append(words)
        listing = (
            json.dumps([_LISTED]) if words[0] == "-j" else _ROUTE_LINES.get(words[0])
        )
        return listing or ""

    monkeypatch.setattr(swap, "ip", ip)
    port = interfaces.Interface("port0", "0000:00:03.0", "8139cp", "8139cp")
    found = swap.settings_of(port)
    assert found.link == (
        *("address", "52:54:00:00:00:99"),
        *("txqueuelen", "500", "mtu", "1400"),
    )
    assert [" ".join(words) for words in found.addresses] == [
        "192.0.2.7/24 broadcast 192.0.2.200 label port0:x scope global metric 7"
        " noprefixroute",
        "192.0.2.1 peer 192.0.2.2/32 scope link",
        "2001:db8::1/64 scope global",
    ]
    assert [" ".join(words) for words in found.routes] == [
        "-4 route replace 198.51.100.0/24 via 192.0.2.9 proto static src 192.0.2.7"
        " mtu 1300",
        "-4 route replace 203.0.113.0/24 table 100 scope link metric 9",
        "-6 route replace 2001:db8:2::/48 metric 1024 pref medium",
    ]
    said.clear()
    swap.restore(port, found)
    assert said[0][:4] == ("link", "set", "dev", "port0")
    assert all(words[-2:] == ("dev", "port0") for words in said[2:])


_BACK = [
    *("rmmod 8139cp", "rmmod iotally", "modprobe 8139cp"),
    *("ip mtu 1500", "ip port0 down", "ip mtu 1500", "ip igb0 down"),
]


def test_a_driver_is_replaced_and_put_back(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counter outlives the counted driver, the system's driver comes last."""
    changes = _Changes()
    ports, kernel = _swapped(machine, monkeypatch, changes)
    with swap.counted(ports.port, ports.generator, kernel):
        changes.done.append("load")
    first = ["ip igb0 up", "ip port0 down", "rmmod 8139cp"]
    there = ["insmod iotally.ko", "insmod 8139cp.ko", "ip port0 up", "load"]
    assert changes.done == [*first, *there, *_BACK]


@pytest.mark.parametrize(
    "fails", ["rmmod 8139cp", "insmod iotally.ko", "insmod 8139cp.ko"]
)
def test_a_step_that_fails_leaves_all_as_it_was(
    fails: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when unloading the counted driver fails as loading it did."""
    changes = _Changes(fails)
    ports, kernel = _swapped(machine, monkeypatch, changes)
    with pytest.raises(CannotMeasure, match=fails):
        with swap.counted(ports.port, ports.generator, kernel):
            changes.done.append("load")
    assert "load" not in changes.done
    after = changes.done[changes.done.index(fails) + 1 :]
    assert after[-5:] == _BACK[-5:]


def test_a_signal_puts_all_back(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told by its name; the old handlers are back too."""
    changes = _Changes()
    ports, kernel = _swapped(machine, monkeypatch, changes)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(swap.Interrupted, match="ended by SIGTERM"):
        with swap.counted(ports.port, ports.generator, kernel):
            signal.raise_signal(signal.SIGTERM)
    assert changes.done[-len(_BACK) :] == _BACK
    assert signal.getsignal(signal.SIGTERM) is before


_TIMES = (
    "# iotally-histograms 1\n"
    "# module\tfile\tline\tfunction\toperation\tdirection\tregister\tcalls\tmedian_ns\tcycles\n"
    "m\ta.c\t7\tf\treadl\tread\tREG\\t1\t9\t420\t512:9\n"
    "m\ta.c\t8\tf\treadl\tread\tREG\t0\t-\t-\n"
)


def test_times_are_read_by_place() -> None:
    """A place without a call has none."""
    assert sites.parse_times(_TIMES) == {
        ("m", "a.c", 7, "f", "readl", "read", "REG\t1"): 420.0
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [("histograms 1", "histograms 2"), ("\t9\t420", "\tx\t420"), ("512:9\n", "512:9")],
)
def test_times_that_are_damaged_are_refused(old: str, new: str) -> None:
    """With the line."""
    with pytest.raises(CannotMeasure, match="damaged: line"):
        sites.parse_times(_TIMES.replace(old, new).rstrip(" "))


@pytest.mark.parametrize(
    "words",
    [
        ["--lab", "metal", "--nic", "port0", "--generator", "igb0", "--bus", "pci33"],
        ["--lab", "metal", "--nic", "port0", "--generator", "igb0", "--ddio"],
        ["--lab", "metal", "--nic", "port0", "--generator", "igb0", "--static"],
        ["--nic", "8139cp", "--generator", "igb0"],
        ["--nic", "8139cp", "--force"],
    ],
)
def test_options_of_the_other_lab_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They would mean nothing."""
    assert cli.main(["ledger", *words]) == 2
    assert "metal" in capsys.readouterr().err


def test_rows_carry_the_time_of_their_place() -> None:
    """And what has none is null."""
    site = sites.Site("irq", "m", "a.c", 7, "f", "readl", "REG\t1", "mmio", "read", 1)
    other = replace(site, line=8)
    times = sites.parse_times(_TIMES)
    rows: list[dict[str, Any]] = sites.result_rows(
        {site: 8, other: 4}, {site: 4}, sites.Per(4, 2), times
    )
    assert [(r["per_packet"], r["per_irq"], r["ns_median"]) for r in rows] == [
        (1.0, 2.0, 420.0),
        (1.0, 2.0, None),
    ]
