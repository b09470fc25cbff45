# SPDX-License-Identifier: GPL-2.0-only
"""The tables of the reference driver's settings: which there are, which is best, where to."""

from typing import Any

import programs
from ringside import builds, profiles

tool: Any = programs.load("tools/settings/settings.py")


def row(name: str, accesses: float, instructions: float) -> Any:
    """A measured setting; half of the accesses go by port."""
    figures = {
        "mmio_reads": accesses / 4,
        "mmio_writes": accesses / 4,
        "port_reads": accesses / 4,
        "port_writes": accesses / 4,
        "irqs": 1.0,
        "polls": 1.0,
        "instructions": instructions,
    }
    return tool.Row(name, {"per_packet": figures, "sent": 9, "delivered": 9})


def test_every_chip_has_profiles_and_marks() -> None:
    """The in-tree driver's, ours, and a place in the page."""
    page = (builds.TREE / "docs/reference-driver.md").read_text(encoding="utf-8")
    for chip, ours in tool._CHIPS.items():  # pylint: disable=protected-access
        in_tree, out_of_tree = profiles.choose(f"{chip},{ours}")
        assert in_tree.pci_ids == out_of_tree.pci_ids and out_of_tree.out_of_tree
        assert page.count(f"<!-- settings {chip}: ") == 2


def test_a_chip_has_only_the_settings_that_it_can() -> None:
    """Port I/O, mitigation and messages that mask."""
    assert "napi, port I/O" in tool.wanted("tulip", [])
    assert not any("mitigation" in name for name in tool.wanted("tulip", []))
    assert "napi, port I/O" not in tool.wanted("e1000", [])
    assert not any("page pool" in name for name in tool.wanted("8139too", []))
    assert "napi, copy, no GRO" in tool.wanted("8139too", [])
    assert "napi, copy, no GRO" not in tool.wanted("tulip", [])
    assert not any("auto-mask" in name for name in tool.wanted("e1000", []))
    assert list(tool.wanted("e1000e", ["irq, auto-mask"])) == ["irq, auto-mask"]


def test_the_best_row_costs_no_more_in_anything() -> None:
    """Fewer instructions do not make up for an access."""
    rows = [row("in-tree", 4, 100), row("a", 4, 90), row("b", 5, 50), row("c", 1, 95)]
    assert tool.best_of(rows).name == "a"
    assert tool.best_of([rows[0], rows[2]]) is None
    text = tool.table(rows)
    assert text.count("**") == 2 and "| **a** | 2.00 | 2.00 |" in text
