# SPDX-License-Identifier: GPL-2.0-only
"""The soak: what it says is read right, and a short one on the stock kernel passes."""

from typing import Any

import pytest

import programs
from ringside import profiles
from ringside.lab import debug_kernel, kernel, splats, userland

tool: Any = programs.load("tools/soak/soak.py")
program: Any = programs.load("selftests/soak.py")

_TAP = """TAP version 13
1..2
# live changes lose no frame: ['mtu'] at 100 pps: Sent(...), 0 counted
# metric frames=8 unit=1
not ok 1 soak.live changes lose no frame
ok 2 soak.the link comes back
"""


def test_a_failed_case_is_found_with_its_reason() -> None:
    """Case by case."""
    bad, good = tool.read_tap("x", "soak", _TAP)
    assert not bad.good and "mtu" in bad.detail and good.good
    assert tool.metrics(_TAP) == {"frames": 8}


@pytest.mark.parametrize(
    "text", ["", "TAP version 13\n1..2\nok 1 soak.a\n", "Traceback"]
)
def test_a_soak_that_did_not_end_is_bad(text: str) -> None:
    """Silence is no success."""
    (finding,) = tool.read_tap("x", "soak", text)
    assert not finding.good


def test_checks_that_stop_early_are_bad() -> None:
    """The last line must be there."""
    begun = ["[    1.0] check link after the soak: good "]
    assert [f.good for f in tool.read_checks(begun)] == [True, False]
    ended = [*begun, "[    2.0] check DMA debug: bad 3 errors", "check end: good "]
    assert [f.good for f in tool.read_checks(ended)] == [True, False, True]


@pytest.mark.parametrize(
    "line",
    [
        "[ 1.0] WARNING: CPU: 1 PID: 7 at net/core/dev.c:1 f+0x1/0x2",
        "[ 1.0] BUG: KASAN: use-after-free in f",
        "[ 1.0] DMA-API: ringside 0000:00:03.0: device driver frees DMA memory",
        "[ 1.0] kmemleak: 3 new suspected memory leaks",
        "[ 1.0] irq 19: nobody cared (try booting with the irqpoll option)",
        "[ 1.0] NETDEV WATCHDOG: port0 (ringside): transmit queue 0 timed out",
    ],
)
def test_a_kernel_in_trouble_is_noticed(line: str) -> None:
    """Unless it was provoked."""
    assert splats.find([line]) == [line]
    assert not splats.find([line], (line[6:],))


def test_a_lost_frame_is_noticed() -> None:
    """Sent is delivered, or dropped and counted."""
    soak = program.Soak(program.Port("a"), program.Port("b"), "sender", None)
    check = program.CHECKS[0]
    line = "delivered=9:duplicated=0:corrupted=0:stack_drops=0:refused=0"
    found = program.streams(f"stream=0:sent=10:{line}\nstream=1:sent=9:{line}\n")
    none, one = program.Drops(0, 0, 0), program.Drops(1, 0, 5)
    program.balance(soak, check, found, none, one)
    assert not soak.wrong[check]
    program.balance(soak, check, found, none, none)
    assert len(soak.wrong[check]) == 1
    # A frame counted as dropped that was delivered is wrong too.
    program.balance(soak, check, found, none, program.Drops(1, 1, 0))
    assert len(soak.wrong[check]) == 2


def test_an_option_that_the_source_does_not_take_is_named() -> None:
    """A debug kernel without one of its checkers would find nothing."""
    wanted = "# why\nCONFIG_KASAN=y\nCONFIG_SMP=y\n"
    configured = "CONFIG_SMP=y\n# CONFIG_KASAN is not set\n"
    assert debug_kernel.missing_options(wanted, configured) == ["CONFIG_KASAN=y"]
    text = debug_kernel.CONFIG.read_text(encoding="utf-8")
    for option in ("DMA_API_DEBUG", "KASAN", "PROVE_LOCKING", "DEBUG_KMEMLEAK"):
        assert f"CONFIG_{option}=y" in text


def test_a_short_soak_on_the_stock_kernel() -> None:
    """One chip, twenty seconds, then suspend and unload."""
    machine = userland.Machine(kernel.find(None), profiles.choose("ringside-8139cp"))
    taps, findings = tool.soak(machine, 20.0, 1, False)
    assert not [finding for finding in findings if not finding.good]
    assert tool.metrics(taps["ringside-8139cp"])["frames"] > 1000
