# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's selftests say, read into cases: no failure may look like a skip."""

from typing import Any

from hypothesis import given, strategies

import programs

tool: Any = programs.load("tools/peers/peers.py")

_LOG = """== ping.py
TAP version 13
1..3
ok 1 ping.test_v4
# Exception| Traceback (most recent call last):
# Exception| net.lib.py.utils.CmdExitFailure: Command failed
not ok 2 ping.test_v6
ok 3 ping.test_tcp # SKIP Test requires command: socat
== status 1
== hw/csum.py
KTAP version 1
# Exception| AttributeError: 'NetDrvEpEnv' object has no attribute 'remote_ifname'
not ok 1 csum.ipv4_tx
ok 2 stats.check_pause # XFAIL pause not supported by the device
== status 1
== shaper.py
Traceback (most recent call last):
ModuleNotFoundError: No module named 'yaml'
== status 1
"""


def test_each_case_has_its_outcome_and_reason() -> None:
    """Pass, fail, skip, xfail, a known cause, and a program that said nothing."""
    cases = [(c.program, c.name, c.outcome, c.why) for c in tool.read_results(_LOG)]
    assert cases == [
        ("ping.py", "ping.test_v4", "pass", ""),
        (
            *("ping.py", "ping.test_v6", "fail"),
            "net.lib.py.utils.CmdExitFailure: Command failed",
        ),
        ("ping.py", "ping.test_tcp", "skip", "Test requires command: socat"),
        (
            *("hw/csum.py", "csum.ipv4_tx", "skip"),
            "6.12's csum.py wants a name that its netns peer lacks",
        ),
        (
            *("hw/csum.py", "stats.check_pause", "xfail"),
            "pause not supported by the device",
        ),
        (
            *("shaper.py", "all", "fail"),
            "status 1: ModuleNotFoundError: No module named 'yaml'",
        ),
    ]


def test_the_table_shows_chips_side_by_side() -> None:
    """A case that one chip lacks is left blank there."""
    case = tool.Case
    columns = [
        [case("a.py", "x", "pass", ""), case("a.py", "y", "fail", "a|b")],
        [case("a.py", "x", "skip", "no: /home/me/.cache/csum -i 1/2")],
    ]
    lines = tool.table(["one", "two"], columns).splitlines()
    assert lines[2:] == [
        "| a.py | x | pass | skip | no: csum -i 1/2 |",
        "| a.py | y | fail |  | a\\|b |",
    ]


@given(strategies.text())
def test_any_output_is_read(text: str) -> None:
    """Nothing that a test prints stops the reader."""
    assert isinstance(tool.read_results(f"== x.py\n{text}\n== status 1\n"), list)
