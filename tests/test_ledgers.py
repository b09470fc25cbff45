# SPDX-License-Identifier: GPL-2.0-only
"""`make ledgers`: a difference between ledger and device shows, and nothing hides it."""

from pathlib import Path
from typing import Any

import pytest

import programs
from ringside import profiles
from ringside.lab.kernel import LabKernel

tool: Any = programs.load("tools/ledgers/ledgers.py")
_KERNEL = LabKernel("6.12.9", Path(), Path(), Path(), "k")


def _entry(**more: Any) -> dict[str, Any]:
    rows = [
        {"direction": "read", "ledger": 8000, "device": 8000},
        {"direction": "read", "ledger": 1, "device": 1},
        {"direction": "write", "ledger": 7, "device": 7},
    ]
    plain: dict[str, Any] = {
        "status": "pass",
        "error": None,
        "cross_check": rows,
        "checks": [],
    }
    return plain | more


def test_what_both_counted_is_shown_by_direction() -> None:
    """Over all BARs."""
    assert tool.cell(_entry()) == "8001 + 7"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {
                "status": "fail",
                "cross_check": [{"direction": "read", "ledger": 9, "device": 10}],
            },
            "DIFFERS: 9, device 10",
        ),
        ({"status": "error", "error": "no link"}, "not measured: no link"),
        (
            {
                "status": "fail",
                "checks": [{"name": "conservation", "result": "fail"}],
            },
            "8001 + 7 (failed: conservation)",
        ),
    ],
    ids=["difference", "not measured", "another check"],
)
def test_what_is_wrong_stands_in_the_cell_and_fails(
    more: dict[str, Any], text: str
) -> None:
    """And the sentence below counts it."""
    assert tool.cell(_entry(**more)) == text
    entries = [_entry(), _entry(**more), _entry(), _entry()]
    table, good = tool.agreement({"x": (_KERNEL, entries)})
    assert not good
    assert f"| x | 6.12.9 | 8001 + 7 | {text} | 8001 + 7 | 8001 + 7 |" in table
    assert "3 of 4 loads" in table


def test_all_loads_that_agree_are_good() -> None:
    """The loads are those that the issue names."""
    table, good = tool.agreement({"x": (_KERNEL, [_entry()] * 4)})
    assert good and "4 of 4 loads" in table
    heads = "| 20 kpps, 60 B | 20 kpps, 1514 B | 100 kpps, 60 B | 100 kpps, 1514 B |"
    assert heads in table


def test_a_kernel_that_has_it_as_a_module_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """virtio_net's registers are virtio_pci's, which Debian's 6.12 has built in."""
    other = LabKernel("6.1.9", Path(), Path(), Path(), "o")
    monkeypatch.setattr(
        tool.kernel, "find", lambda name: other if name == "6.1" else _KERNEL
    )
    monkeypatch.setattr(
        tool.counted,
        "built_in_helpers",
        lambda kernel, profile: ["virtio_pci"] if profile.counted else [],
    )
    virtio, plain = profiles.choose("virtio_net,8139cp")
    assert tool.kernel_for(virtio) is other
    assert tool.kernel_for(plain) is _KERNEL
