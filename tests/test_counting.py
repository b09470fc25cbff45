# SPDX-License-Identifier: GPL-2.0-only
"""Counting an access is cheap, its tracepoint complete, and no count is lost."""

from dataclasses import replace
from typing import Any

import pytest

import programs
from ringside.errors import CannotMeasure

tool = programs.load("tools/counting/counting.py")
# Fewer than `make counting` takes, for a guest's boot is long with many.
_PROCESSORS = 8
_OPERATIONS = ("readl", "writel", "inb", "ioread32", "ioread8", "iowrite32")


@pytest.fixture(name="costs", scope="module")
def _costs() -> Any:
    """Measured once."""
    return tool.costs()


def test_counting_adds_few_instructions(costs: Any) -> None:
    """In virtual time, where an instruction is a nanosecond."""
    added = costs.added()
    assert len(added) == len(_OPERATIONS)
    assert all(0 < more <= tool.ADDED_AT_MOST for more in added.values()), added


def test_the_tracepoint_tells_each_access(costs: Any) -> None:
    """Every one of every accessor has its line, and costs more than a count."""
    assert costs.traced == {name: 2 * tool.PASSES for name in _OPERATIONS}
    assert all(by["traced"] > by["counted"] for by in costs.instructions.values())


def test_mmiotrace_sees_the_same_accesses_at_another_price(costs: Any) -> None:
    """Memory only; counting is cheaper by far."""
    memory = [by for (_, space), by in costs.instructions.items() if space == "mmio"]
    assert costs.mmiotraced == 2 * tool.PASSES * len(memory)
    assert all(by["with mmiotrace"] > 20 * by["counted"] for by in memory)


def test_many_sites_on_many_processors_count_right() -> None:
    """No access is lost, and no two processors write to one cache line."""
    crowd = tool.crowd(_PROCESSORS)
    assert (crowd.sites, crowd.processors) == (2500, _PROCESSORS)
    assert crowd.good(), (set(crowd.counts), crowd.bytes_apart)


_MADE = "".join(
    f"{column}: cost {operation} {space} {number}\n"
    for number, column in enumerate(
        ("as it is", "counted", "traced", "with mmiotrace"), start=2
    )
    for operation, space in (("readl", "mmio"), ("inb", "port"))
)
_COUNTS = "   1000 traced inb\n   1000 traced readl\nmmiotraced 1000\n"


def test_the_table_says_what_was_measured() -> None:
    """mmiotrace cannot see a port."""
    costs = tool.read_costs(_MADE + _COUNTS)
    assert costs.traced == {"inb": 1000, "readl": 1000} and costs.mmiotraced == 1000
    text = tool.cost_table(costs)
    assert "| `readl`, mmio | 2 | 3 | 4 | 5 |\n" in text
    assert "| `inb`, port | 2 | 3 | 4 | not seen |\n" in text
    assert "Counting adds 1 to 1 instructions." in text
    assert "adds 3 to a `readl` where counting adds 1: 3 times as much" in text


@pytest.mark.parametrize("text", [_MADE, _COUNTS, _MADE[40:] + _COUNTS, "oops\n"])
def test_a_guest_that_says_too_little_is_no_result(text: str) -> None:
    """A column, or the lines of the tracers, are missing."""
    with pytest.raises(CannotMeasure, match="measured too little"):
        tool.read_costs(text)


def test_a_lost_count_or_a_shared_line_is_seen() -> None:
    """One access too few, one site too few, counts side by side."""
    text = "crowd: crowd 2 4 5\ncrowd: apart 64\ncount 20\ncount 20\n"
    crowd = tool.read_crowd(text)
    assert crowd.good()
    assert "2 sites in one module, met 5 times each by 4 processors" in (
        tool.crowd_text(crowd)
    )
    assert not replace(crowd, counts=[20, 19]).good()
    assert not replace(crowd, counts=[20]).good()
    assert not replace(crowd, bytes_apart=8).good()
    with pytest.raises(CannotMeasure, match="measured too little"):
        tool.read_crowd("crowd: crowd 2 4 5\n")
