# SPDX-License-Identifier: GPL-2.0-only
"""Measured text goes between its marks and nowhere else."""

from pathlib import Path

import pytest

from ringside.errors import CannotMeasure
from ringside.report import pages


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    """Nothing is written over."""
    page = tmp_path / "page.md"
    page.write_text("# A page\n", encoding="ascii")
    with pytest.raises(CannotMeasure, match="no marks of tulip"):
        pages.write(page, "tulip", "TABLE")
    assert page.read_text(encoding="ascii") == "# A page\n"


def test_writing_twice_replaces() -> None:
    """What stands around the marks stays."""
    page = "a\n<!-- soak: begin -->\nold\n<!-- soak: end -->\nb\n"
    once = pages.put_between_marks(page, "soak", "new\n")
    assert "old" not in once and once.startswith("a\n") and once.endswith("\nb\n")
    assert pages.put_between_marks(once, "soak", "new\n") == once
