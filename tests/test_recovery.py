# SPDX-License-Identifier: GPL-2.0-only
"""Recovery: what it asks of the kernel is asked right, and one chip recovers."""

from pathlib import Path
from typing import Any

import pytest

import programs
from lib import ports, registers
from ringside import profiles
from ringside.lab import kernel, userland

tool: Any = programs.load("tools/soak/soak.py")
program: Any = programs.load("selftests/recovery.py")


def test_a_command_that_hangs_is_refused() -> None:
    """A driver that hangs holds ethtool for ever."""
    with pytest.raises(ports.Refused, match="sleep 60: no end after 0.1 s"):
        ports.call("sleep", "60", limit_s=0.1)


def test_a_command_that_fails_is_told() -> None:
    """With what it said."""
    with pytest.raises(ports.Refused, match="false: status 1"):
        ports.call("false")


def _port(folder: Path, monkeypatch: pytest.MonkeyPatch, bar: bytes) -> ports.Port:
    """A port whose device is a folder of files: an 8139 with that memory BAR."""
    for name, text in (
        ("vendor", "0x10ec\n"),
        ("device", "0x8139\n"),
        ("resource", "0x0 0x0 0x0\n0xfeb00000 0xfeb000ff 0x40200\n"),
    ):
        (folder / name).write_text(text, encoding="ascii")
    (folder / "resource1").write_bytes(bar)
    monkeypatch.setattr(ports.Port, "device", folder)
    return ports.Port("x")


def test_one_bit_of_the_register_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only Transmitter Enable goes."""
    bar = bytearray(b"\xff" * 256)
    bar[0x37] = 0x0C
    port = _port(tmp_path, monkeypatch, bytes(bar))
    switch = registers.transmit_switch(port)
    assert switch
    registers.turn_off(port, switch)
    bar[0x37] = 0x08
    assert (tmp_path / "resource1").read_bytes() == bytes(bar)
    with pytest.raises(ports.Refused, match="its transmitter is not on"):
        registers.turn_off(port, switch)


def test_each_case_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Good, bad and not to be asked."""

    def bad() -> None:
        raise program.Refused("broken")

    def skip() -> None:
        raise program.Skip("no such chip")

    cases = [program.Case(n, f) for n, f in (("a", list), ("b", bad), ("c", skip))]
    assert program.run(cases) == 1
    said = capsys.readouterr().out
    assert [line.split(" ", 2)[:2] for line in said.splitlines()] == [
        ["1..3"],
        ["ok", "1"],
        ["#", "b:"],
        ["not", "ok"],
        ["ok", "3"],
    ]
    found = tool.read_tap("x", "recovery", said)
    assert [(f.good, f.detail) for f in found] == [
        (True, ""),
        (False, "broken"),
        (True, ""),
    ]


def test_a_chip_recovers_on_the_stock_kernel() -> None:
    """From a stuck transmitter; the stock kernel cannot fail allocations by caller."""
    machine = userland.Machine(kernel.find(None), profiles.choose("ringside-8139cp"))
    findings = tool.recover(machine)
    assert not [finding for finding in findings if not finding.good]
    assert sum("# SKIP" not in finding.name for finding in findings) >= 3
