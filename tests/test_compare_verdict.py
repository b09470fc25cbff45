# SPDX-License-Identifier: GPL-2.0-only
"""Compare: what is better, worse or the same, and the lines that say why."""

from typing import Any

import pytest
from hypothesis import given, strategies

from ringside import counts
from ringside.compare import verdict
from ringside.compare.verdict import BETTER, SAME, UNKNOWN, WORSE


def _entry(driver: float = 500.0, **figures: float | None) -> dict[str, Any]:
    plain = dict.fromkeys(counts.PER_PACKET, 4.0) | {"instructions": 3000.0}
    return {
        "per_packet": plain | figures,
        "groups": [{"name": "driver", "instructions": driver}],
        "functions": [],
        "sites": [],
    }


def _verdicts(base: dict[str, Any], head: dict[str, Any]) -> dict[str, str]:
    return {m.name: m.verdict for m in verdict.metrics(base, head)}


def test_equal_entries_are_the_same() -> None:
    """Every metric."""
    assert set(_verdicts(_entry(), _entry()).values()) == {SAME}


@pytest.mark.parametrize(
    "name",
    ["mmio_reads", "mmio_writes", "port_reads", "port_writes", "irqs", "polls"],
)
def test_one_access_in_two_thousand_packets_is_seen(name: str) -> None:
    """Counts are exact."""
    found = _verdicts(_entry(), _entry(**{name: 4.0005}))
    assert found.pop(name) == WORSE and set(found.values()) == {SAME}
    assert _verdicts(_entry(**{name: 4.0005}), _entry())[name] == BETTER


@pytest.mark.parametrize(
    ("base", "head", "name", "said"),
    [
        (_entry(500.0), _entry(510.0, instructions=3010.0), verdict.DRIVER, WORSE),
        (_entry(500.0), _entry(500.4, instructions=3000.4), verdict.DRIVER, SAME),
        (_entry(), _entry(instructions=3012.0), verdict.REST, SAME),
        (_entry(), _entry(instructions=3013.0), verdict.REST, WORSE),
        (_entry(l1d_misses=20.0), _entry(l1d_misses=24.0), "l1d_misses", SAME),
        (_entry(l1d_misses=20.0), _entry(l1d_misses=26.0), "l1d_misses", WORSE),
        (_entry(llc_misses=0.1), _entry(llc_misses=1.0), "llc_misses", SAME),
        (_entry(polls=None), _entry(polls=None), "polls", SAME),
        (_entry(polls=None), _entry(), "polls", UNKNOWN),
    ],
)
def test_the_smallest_effect(
    base: dict[str, Any], head: dict[str, Any], name: str, said: str
) -> None:
    """What moves with the place of code and data needs one."""
    assert _verdicts(base, head)[name] == said


def test_worse_anywhere_is_worse() -> None:
    """Then what is not known, then better."""
    assert verdict.overall([BETTER, SAME, UNKNOWN, WORSE]) == WORSE
    assert verdict.overall([BETTER, SAME, UNKNOWN]) == UNKNOWN
    assert verdict.overall([BETTER, SAME]) == BETTER
    assert verdict.overall([SAME]) == SAME


def _function(name: str, instructions: float, group: str = "driver") -> dict[str, Any]:
    return {"name": name, "group": group, "instructions": instructions}


def test_functions_that_changed_are_named() -> None:
    """The driver's only, the largest change first."""
    base = {"functions": [_function("poll", 300.0), _function("old", 5.0)]}
    head = {
        "functions": [
            _function("poll", 310.0),
            _function("irq", 0.04),
            _function("memcpy", 99.0, "copy"),
        ]
    }
    found = verdict.functions(base, head)
    assert [(c.what, c.kind, c.verdict()) for c in found] == [
        ("poll", "hotter", WORSE),
        ("old", "gone", BETTER),
    ]


def _site(line: int, per_packet: float = 1.0, **more: Any) -> dict[str, Any]:
    plain = {
        "context": "poll",
        "file": "a.c",
        "line": line,
        "function": "f",
        "op": "readw",
        "register": "r + X",
        "direction": "read",
        "per_packet": per_packet,
    }
    return plain | more


def _lines(
    base: list[dict[str, Any]],
    head: list[dict[str, Any]],
    moved: dict[tuple[str, int], int | None],
) -> list[tuple[str, int, bool]]:
    found = verdict.lines({"sites": base}, {"sites": head}, moved)
    return [(change.kind, line.number, line.of_head) for change, line in found]


def test_a_read_before_an_equal_one_is_the_new_one() -> None:
    """Lines are followed by their text, not by their number."""
    moved: dict[tuple[str, int], int | None] = {("a.c", 10): 11}
    assert _lines([_site(10)], [_site(10), _site(11)], moved) == [("new", 10, True)]
    assert _lines([_site(10)], [_site(10), _site(11)], {("a.c", 10): 10}) == [
        ("new", 11, True)
    ]


def test_lines_that_only_moved_are_no_change() -> None:
    """Comments above them, for example."""
    assert not _lines([_site(10)], [_site(17)], {("a.c", 10): 17})


def test_a_line_that_was_rewritten_is_no_change() -> None:
    """It costs what it did."""
    assert not _lines([_site(10)], [_site(10)], {("a.c", 10): None})


def test_a_line_that_is_gone_or_costs_more() -> None:
    """In base's numbers, and in head's."""
    moved: dict[tuple[str, int], int | None] = {("a.c", 10): None, ("a.c", 20): 19}
    found = _lines([_site(10, op="inb"), _site(20)], [_site(19, 3.0)], moved)
    assert found == [("hotter", 19, True), ("gone", 10, False)]


@given(
    strategies.lists(
        strategies.tuples(strategies.integers(1, 9), strategies.floats(0.1, 9)),
        max_size=8,
    )
)
def test_a_version_equals_itself(places: list[tuple[int, float]]) -> None:
    """Whatever its sites are."""
    sites = [_site(line, cost) for line, cost in places]
    assert not _lines(sites, sites, {})
