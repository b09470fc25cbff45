# SPDX-License-Identifier: GPL-2.0-only
"""From counts of runs to figures per packet, with a recorded window and made-up ones."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from recorded import KEPT, PROFILE, outcome
from ringside import counts, groups
from ringside.counts import Counts, Region
from ringside.lab.run import Outcome
from ringside.lab.snapshot import BarRange


@pytest.fixture(name="window")
def _window() -> dict[str, Any]:
    window = outcome().window
    assert window
    return window


@pytest.fixture(name="counted")
def _counted(window: dict[str, Any]) -> Counts:
    return counts.count(KEPT, PROFILE, outcome(window=window))


def test_a_recorded_run_gives_its_figures(counted: Counts) -> None:
    """8139cp: four reads and four writes a frame, an interrupt and a poll."""
    figures = counts.per_packet(counted, 3)
    assert {key: figures[key] for key in counts.PER_PACKET[:6]} == {
        "mmio_reads": 4.0,
        "mmio_writes": 4.0,
        "port_reads": 0.0,
        "port_writes": 0.0,
        "irqs": 1.0,
        "polls": 1.0,
    }
    assert set(figures) == set(counts.PER_PACKET)


def test_a_poll_of_the_generator_is_not_counted(counted: Counts) -> None:
    """Its NAPI instance is another one."""
    assert counted.polls == 3
    assert counts.poll_histogram(counted) == [{"packets": 1, "polls": 3}]


def test_user_mode_is_no_function(counted: Counts) -> None:
    """The plugin cannot count instructions there."""
    assert ("", "[user]") not in counted.functions
    assert counted.total("instructions") == sum(
        columns["instructions"] for columns in counted.functions.values()
    )


def test_functions_of_one_name_are_added(window: dict[str, Any]) -> None:
    """Static functions of several files share it; a miss that was not modelled is 0."""
    plain = {"name": "init", "module": None, "l2_misses": None, "llc_misses": 1}
    window["functions"] = [
        plain | {"instructions": 5, "l1d_misses": 2},
        plain | {"instructions": 7, "l1d_misses": None},
    ]
    counted = counts.count(KEPT, PROFILE, outcome(window=window))
    assert counted.functions == {
        ("", "init"): Counter(instructions=12, l1d_misses=2, l2_misses=0, llc_misses=2)
    }


# BARs


def mmio(*pages: tuple[int, int, int]) -> dict[str, Any]:
    """A window that saw reads and writes on pages, and nothing else."""
    seen = [{"phys": hex(p), "reads": r, "writes": w} for p, r, w in pages]
    return {"mmio": seen, "polls": [], "functions": [], "irqs": []}


@pytest.mark.parametrize(
    "page, inside",
    [
        (0xFEBDF000, False),
        (0xFEBE0000, True),
        (0xFEBE1000, True),
        (0xFEBE2000, False),
    ],
)
def test_pages_of_a_bar_are_its_own(page: int, inside: bool) -> None:
    """First and last page, and their neighbours."""
    bar = BarRange("port0", 1, "mmio", 0xFEBE0000, 0x2000)
    assert counts.plugin_mmio(mmio((page, 3, 4)), bar) == ((3, 4) if inside else (0, 0))


def test_a_bar_smaller_than_a_page_has_its_page() -> None:
    """Also when it does not begin with it."""
    bar = BarRange("port0", 1, "mmio", 0xFEBE0100, 0x100)
    assert counts.plugin_mmio(mmio((0xFEBE0000, 3, 4)), bar) == (3, 4)


def aliased(reads: int, writes: int) -> dict[Region, Counter[str]]:
    """Regions of an 8139 of whose 12 accesses each so many came through memory."""
    run = Outcome(0, "", mmio((0xFEBE0000, reads, writes)), outcome().regions)
    return counts.count(KEPT, PROFILE, run).regions


PORT_BAR = Region("rtl8139", "port", 0)
MEMORY_BAR = Region("rtl8139", "mmio", 1)


def test_aliased_bars_are_told_apart() -> None:
    """The trace names BAR 0 for both; the CPU's accesses to memory decide."""
    assert aliased(12, 12) == {MEMORY_BAR: Counter(reads=12, writes=12)}
    assert aliased(0, 0) == {PORT_BAR: Counter(reads=12, writes=12)}
    assert aliased(5, 12) == {
        PORT_BAR: Counter(reads=7, writes=0),
        MEMORY_BAR: Counter(reads=5, writes=12),
    }


def test_only_the_port_under_test_is_counted() -> None:
    """The generator's registers are another chip's."""
    assert {region.name for region in aliased(12, 12)} == {"rtl8139"}


def test_a_bar_that_the_guest_did_not_place_is_left_out() -> None:
    """A profile may name one that this machine does not have."""
    kept = replace(KEPT, bars=KEPT.bars[:3])
    run = Outcome(0, "", mmio((0xFEBE0000, 12, 12)), outcome().regions)
    assert counts.count(kept, PROFILE, run).regions == {
        PORT_BAR: Counter(reads=12, writes=12)
    }


# Interrupts and polls


def test_interrupts_of_all_vectors_are_counted() -> None:
    """MSI-X has several; a line is no part of another's name."""
    output = (
        "irq=24:5:PCI-MSIX-0000:00:03.0   0-edge      port0-rx\n"
        "irq=25:7:PCI-MSIX-0000:00:03.0   1-edge      port0-tx\n"
        "irq=2:100:XT-PIC cascade\nirq=LOC:4:Local timer interrupts\n"
    )
    run = Outcome(0, output, None, [])
    assert counts.port_interrupts(run, frozenset({"24", "25"})) == 12
    assert counts.port_interrupts(run, frozenset()) == 0


def test_polls_of_several_queues_are_added(window: dict[str, Any]) -> None:
    """Two NAPI instances of one port; one unknown is nobody's."""
    window["polls"] = [
        {"napi": "0x10", "polls": 3, "packets": [[0, 1], [1, 2]]},
        {"napi": "0x20", "polls": 4, "packets": [[1, 3], [64, 1]]},
        {"napi": None, "polls": 9, "packets": [[1, 9]]},
        {"napi": "0x30", "polls": 9, "packets": [[1, 9]]},
    ]
    kept = replace(KEPT, napi={0x10: "port0", 0x20: "port0"})
    counted = counts.count(kept, PROFILE, outcome(window=window))
    assert counted.polls == 7
    assert counts.poll_histogram(counted) == [
        {"packets": 0, "polls": 1},
        {"packets": 1, "polls": 5},
        {"packets": 64, "polls": 1},
    ]


# Arithmetic


def made(**changed: Any) -> Counts:
    """Counts of a window, some figures changed."""
    plain: dict[str, Any] = {
        "regions": {MEMORY_BAR: Counter(reads=10, writes=20)},
        "irqs": 5,
        "polls": 4,
        "packets_per_poll": Counter({1: 2, 2: 2}),
        "functions": {
            ("8139cp", "cp_rx_poll"): Counter(instructions=100, l1d_misses=3)
        },
    }
    return Counts(**plain | changed)


def test_minus_takes_each_figure_from_its_like() -> None:
    """What only one side has counts whole."""
    other = Region("other", "port", 2)
    less = made(
        regions={MEMORY_BAR: Counter(reads=1), other: Counter(writes=6)},
        irqs=1,
        polls=6,
        packets_per_poll=Counter({1: 2}),
        functions={("", "memcpy"): Counter(instructions=7)},
    )
    result = counts.minus(made(), less)
    assert result.regions == {
        MEMORY_BAR: Counter(reads=9, writes=20),
        other: Counter(writes=-6),
    }
    assert (result.irqs, result.polls) == (4, -2)
    assert counts.poll_histogram(result) == [{"packets": 2, "polls": 2}]
    assert result.total("instructions") == 93
    assert result.total("l1d_misses") == 3


def test_minus_leaves_its_arguments_alone() -> None:
    """Counters are changed in place by their own subtract."""
    left, right = made(), made()
    counts.minus(left, right)
    assert left == right == made()


def test_a_run_without_itself_is_nothing() -> None:
    """Every figure is 0, and no -0.0 is shown."""
    figures = counts.per_packet(counts.minus(made(), made()), 7)
    assert [str(value) for value in figures.values()] == ["0.0"] * len(figures)
    assert str(counts.per_packet(Counts(irqs=-1), 10**7)["irqs"]) == "0.0"


def test_figures_are_divided_and_rounded() -> None:
    """To a millionth, so that equal runs print equal text."""
    figures = counts.per_packet(made(), 3)
    assert figures["mmio_reads"] == 3.333333
    assert figures["mmio_writes"] == 6.666667
    assert figures["port_reads"] == 0
    assert figures["irqs"] == 1.666667
    assert figures["instructions"] == 33.333333
    assert figures["l1d_misses"] == 1
    assert figures["l2_misses"] == 0


# Tables


def test_functions_are_grouped_and_sorted() -> None:
    """The dearest first; equal ones by name; those without a count left out."""
    counted = made(
        functions={
            ("8139cp", "cp_rx_poll"): Counter(instructions=100, l1d_misses=3),
            ("vmlinux", "memcpy"): Counter(instructions=200),
            ("vmlinux", "b"): Counter(instructions=100),
            ("", "gone"): Counter(instructions=0),
            ("", "less"): Counter(instructions=-50),
        }
    )
    rows = counts.functions_table(counted, 10, frozenset({"8139cp"}))
    assert [(row["name"], row["group"], row["instructions"]) for row in rows] == [
        ("memcpy", "copy", 20.0),
        ("b", "other", 10.0),
        ("cp_rx_poll", "driver", 10.0),
        ("less", "other", -5.0),
    ]
    assert rows[2]["module"] == "8139cp" and rows[3]["module"] is None
    assert rows[2]["l1d_misses"] == 0.3


def test_groups_are_the_sums_of_their_functions(counted: Counts) -> None:
    """No instruction is lost between the tables; every group has its row."""
    rows = counts.functions_table(counted, 3, frozenset({"8139cp"}))
    table = counts.groups_table(rows)
    assert [row["name"] for row in table] == list(groups.GROUPS)
    total = sum(row["instructions"] for row in table)
    assert total == pytest.approx(
        counts.per_packet(counted, 3)["instructions"], abs=1e-4
    )
    driver = {row["name"]: row["instructions"] for row in table}["driver"]
    assert driver == (231 + 567) / 3


def test_regions_show_total_and_share() -> None:
    """As the schema names them."""
    assert counts.regions_table(made(), 4) == [
        {"name": "rtl8139", "space": "mmio", "bar": 1, "reads": 10, "writes": 20}
        | {"reads_per_packet": 2.5, "writes_per_packet": 5.0}
    ]
